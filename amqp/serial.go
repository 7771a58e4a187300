package amqp

// The three numbers below are RFC 1982 serial numbers (§2.8.10): they wrap, any initial value is legal, and only
// distances below 2^31 are meaningful. Comparing them with < is always a mistake; use Less and Sub. Ordinary addition
// and subtraction of a uint32 wraps as it should.

// SequenceNo counts deliveries on a link: delivery-count (§2.6.7).
type SequenceNo uint32

// Less reports whether s comes before o.
func (s SequenceNo) Less(o SequenceNo) bool { return int32(s-o) < 0 }

// Sub returns the signed distance from o to s.
func (s SequenceNo) Sub(o SequenceNo) int32 { return int32(s - o) }

// DeliveryNumber identifies a delivery within one direction of a session: delivery-id (§2.8.8).
type DeliveryNumber uint32

// Less reports whether n comes before o.
func (n DeliveryNumber) Less(o DeliveryNumber) bool { return int32(n-o) < 0 }

// Sub returns the signed distance from o to n.
func (n DeliveryNumber) Sub(o DeliveryNumber) int32 { return int32(n - o) }

// TransferNumber counts transfer frames within one direction of a session: transfer-id (§2.8.9).
type TransferNumber uint32

// Less reports whether n comes before o.
func (n TransferNumber) Less(o TransferNumber) bool { return int32(n-o) < 0 }

// Sub returns the signed distance from o to n.
func (n TransferNumber) Sub(o TransferNumber) int32 { return int32(n - o) }
