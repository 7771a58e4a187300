// Package rig is what the tests have in common that put a router of its own under
// load: its clients, how much of it, and the figures that they print.
package rig
