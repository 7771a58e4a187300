package links

// Limits are what a connection's configuration says about its links. All bytes
// are payload bytes.
type Limits struct {
	// Capacity is the most deliveries of one incoming link that may be granted,
	// undelivered or unsettled at a time.
	Capacity uint32
	// LinkBytes is the byte budget of one incoming link: credit is granted
	// only as far as messages of the recent size fit into it.
	LinkBytes int64
	// UnboundBytes is what a delivery without a destination may hold.
	UnboundBytes int64
	// OutgoingHigh and OutgoingLow are the marks of an outgoing link: bytes
	// handed to it and not yet written. The high mark is soft by one frame.
	OutgoingHigh, OutgoingLow int64
	// MaxMessageSize is the largest message taken, 0 for any size.
	MaxMessageSize uint64
	// StripIn disregards annotations of routers that the peer sends; otherwise it
	// may choose the address by them. TrustIn believes the rest of them, too: the
	// peer is a router.
	StripIn, TrustIn bool
	// Annotate says which annotations of routers the peer gets, and Router is
	// the name of this one in them, "0/ID".
	Annotate Annotate
	Router   string
	// Transit gives an incoming link its credit back when a message has been
	// pulled, whatever becomes of it: the peer is a router, and its senders have
	// credit where they are.
	Transit bool
	// Side is what lies behind the connection, if messages that came from there
	// may not go back; nil where they may.
	Side *Side
	// Streams leads to the peer for messages that are not complete, so that they
	// keep nothing else waiting; nil where it takes them on no other links.
	Streams *Hop
	// ByNeed grants an incoming link no more than the receivers of its address
	// ask for (Forwarder.Need): what they do not take stays where it is.
	ByNeed bool
	// Private keeps links from being told to other routers.
	Private bool
	// SettleLate says that the peer forgets the settlement of a message of which
	// it has not sent all. It gets the outcome at once, and the settlement behind
	// the end of the message.
	SettleLate bool
	// Sure says that the peer, a router, knows messages whose outcome does not
	// matter (see Delivery).
	Sure bool
}

// A Side is what lies behind an edge connection, seen from either end: messages
// that came from it do not go back.
type Side struct {
	// Reach, if not nil, hears of each incoming link of the side whether its
	// address has a destination that is elsewhere: when it is attached, and of
	// each change. It is called under the lock of the address.
	Reach func(r *Receiver, has bool)
}

// maxUnsent is the most messages that may be bound to an outgoing link and not
// written: messages cost memory even if they have few bytes or none. Fewer than
// half of it is the low mark.
const maxUnsent = 4096

// maxEnvelope is the most bytes of a message that are looked at for the
// sections in front of its body, which must be complete before it is forwarded.
const maxEnvelope = 64 << 10

// envelope is that for messages of a link: what passed one router must pass the
// next, with all that those on the way have to say.
func (l *Limits) envelope() int {
	if l.TrustIn || l.Side != nil {
		return 2 * maxEnvelope
	}
	return maxEnvelope
}
