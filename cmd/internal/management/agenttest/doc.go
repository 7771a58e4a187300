// Package agenttest is a management agent for tests: it answers requests from
// tables, as sluice does or with the ways of Qpid Dispatch. It is a
// [management.Caller] by itself, and can serve an address of a router.
package agenttest
