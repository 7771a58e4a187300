package transport

import "time"

const (
	// MinMaxFrameSize is the least max-frame-size that a peer may offer (§2.7.1),
	// in bytes, and what holds before open.
	MinMaxFrameSize = 512

	// maxEarlyFrame bounds the SASL frames of a peer, in bytes. The spec says
	// 512 (§5.3.1); tokens of some peers are longer, and leniency up to here
	// costs a connection at most this much before it is authenticated.
	maxEarlyFrame = 8 << 10

	// minWindow is the smallest incoming-window in frames. Below it a session
	// would spend more frames on flow than on transfers.
	minWindow = 8

	// maxWindow is the largest incoming-window in frames; with the smallest
	// frames a budget would otherwise ask for more than anybody can use.
	maxWindow = 1 << 16

	// elasticWindow is the largest incoming-window, in frames, that small frames
	// may lead to beyond what the byte budget holds of the largest. It is enough
	// for the credit of several links.
	elasticWindow = 2048

	// frameOverhead is about what a transfer frame has besides its payload, in
	// bytes.
	frameOverhead = 64

	// outgoingWindow is announced to peers. What the router has to send is
	// bounded by its own thresholds, not by this number.
	outgoingWindow = 1<<31 - 1

	// controlLimit is the number of bytes of control frames that may wait for a
	// peer that does not read them. Beyond it the router stops reading from
	// that peer until they are gone.
	controlLimit = 256 << 10

	// quantum is the number of payload bytes that one link may write before
	// the next link of its session has its turn.
	quantum = 32 << 10

	// outputTarget is the number of bytes that one write is filled up to.
	outputTarget = 256 << 10

	// copyBelow is the payload size in bytes below which copying into the
	// output buffer is cheaper than an entry of its own in the vector.
	copyBelow = 4 << 10

	// maxVector is the number of entries of one vectored write (IOV_MAX is 1024).
	maxVector = 512

	// DefaultCloseTimeout is how long a peer may take to answer a close.
	DefaultCloseTimeout = 2 * time.Second
)
