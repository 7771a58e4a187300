package management

import "time"

const (
	// maxRequest is the size of the largest request in bytes. The links announce
	// it; a larger one ends its sender's link.
	maxRequest = 256 << 10
	// requestCredit is how many requests on one link may be with the agent and not
	// answered: several times what one of its clients may send unanswered.
	requestCredit = 1000

	// maxReply is the size of the largest reply in bytes: about a hundred
	// thousand rows of links. More must be asked for in parts.
	maxReply = 32 << 20
	// maxWaiting is how many bytes of replies may wait for those who asked, in
	// all. Beyond it replies to those who have not read for longest are given up.
	maxWaiting = 64 << 20
	// fewReplies and fewBytes are how many replies, and bytes of them, may be on
	// their way to one address when another request from there is answered. Until
	// there are fewer, its requests wait, and cost their sender credit.
	fewReplies = 16
	fewBytes   = 1 << 20
	// maxParked and maxParkedBytes are how many requests may wait so, and how large
	// they may be, in all. Beyond it those are refused whose sender has the most.
	maxParked      = requestCredit * 3 / 4
	maxParkedBytes = 8 << 20
	// maxOutlets is how many addresses replies may be on their way to. Each has a
	// link and a session; those that have not been read from for longest go first.
	maxOutlets = 200
	// outletIdle is how long the link to an address is kept for the next reply.
	outletIdle = 2 * time.Second
	// replyPatience is how long a reply waits for its reader's credit.
	replyPatience = 30 * time.Second
	// answerPatience is how long the router may take to answer an attach.
	answerPatience = 10 * time.Second
	// tidyInterval is how often idle links and replies that nobody reads are
	// looked for.
	tidyInterval = time.Second

	// firstPause and lastPause are between attempts to connect to the router.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second

	// maxVersions is how many answers to queries are known well enough to tell what
	// has changed since, and maxVersionRows how many rows they have, in all: about
	// 100 bytes each.
	maxVersions    = 64
	maxVersionRows = 200_000

	// maxMade is how many entities of one type there may be that management has made.
	// Each costs a few KiB, and a listener a socket.
	maxMade = 10_000

	// maxLogLines is how many lines GET-LOG returns at most.
	maxLogLines = 1000
	// maxFailureLines is how many requests that fail are logged as errors in a
	// second.
	maxFailureLines = 20
	// quoteLimit is how much of a request's text is repeated in an answer, in
	// bytes.
	quoteLimit = 128
)
