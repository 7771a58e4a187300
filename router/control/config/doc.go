// Package config turns configuration files into validated, typed entities.
//
//	files ─► syntax (.conf, .json, .yaml) ─► document: sections and values with positions
//	      ─► schema: names, types, defaults ─► checks between entities ─► Config
//
// [Load] reads all files and finds all mistakes in one run; each [Problem]
// carries file, line and column, what was found, what was expected, and the
// nearest valid name. A [Config] that comes with no error may be run: every
// file it names was read, every reference resolved, every default applied.
//
// The package starts nothing and keeps nothing. Whoever runs a Config compares
// a newly loaded one with it to reload.
package config
