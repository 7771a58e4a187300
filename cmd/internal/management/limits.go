package management

import "time"

const (
	// DefaultTimeout is how long a router may take to answer one request.
	DefaultTimeout = 5 * time.Second

	// DefaultPage is how many rows are asked for at a time: enough that the way
	// there and back is not what takes the time, and a megabyte at most.
	DefaultPage = 1000

	// replyCredit is how many replies may be on their way: as many as routers
	// are asked at the same time.
	replyCredit = 64

	// maxReply is the size of the largest reply in bytes. Routers that do not
	// know pages send all rows at once.
	maxReply = 256 << 20

	// closeTimeout is how long the links may take to end.
	closeTimeout = time.Second
)
