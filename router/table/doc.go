// Package table finds addresses by name.
//
// An address exists while a link uses it: the first that attaches makes it, and
// the last that leaves removes it. Looking one up takes the lock of one shard,
// and happens when a link attaches and for messages of anonymous terminuses,
// not for every message.
package table
