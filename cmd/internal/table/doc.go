// Package table prints tables for terminals: columns as wide as what is in them,
// as many as fit, and what does not fit cut off visibly.
//
// A [Writer] looks at the first rows to find the widths, prints them, and from
// then on prints each row as it comes: a table has no end that it must know.
package table
