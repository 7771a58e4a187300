// Package mesh starts several routers as processes, with proxies between them,
// and checks what a network of routers must show to its clients: that it behaves
// as one router, that a slow receiver behind a trunk harms only those who send to
// it, and that routers and trunks may die.
//
// Sizes are reduced unless SLUICE_FULL is set. Lines that begin with FIGURE are
// measurements.
package mesh
