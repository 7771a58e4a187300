// Package pressure loads a router until each of its three stages is full, and
// checks what must hold then: bounded memory, nothing lost, and harm to nobody
// but those who send to the slow receiver.
//
// Sizes are reduced unless SLUICE_FULL is set ("make pressure"). Lines that
// begin with FIGURE are measurements.
package pressure
