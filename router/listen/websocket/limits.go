package websocket

import "time"

const (
	// readBuffer is the size of the buffer that a WebSocket is read into, in
	// bytes: one read of a busy connection. Frames are unmasked in it, so that
	// what is read at a time is no more.
	readBuffer = 16 << 10
	// closeTime is how long a peer may take to answer a close frame, and to read
	// what it was sent before.
	closeTime = 2 * time.Second
)
