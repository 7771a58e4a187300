package mesh

import "sluice/amqp/encoding"

// What Decode accepts. More of anything is a decode-error, which costs only the sender of the message.
const (
	// maxTrace is the most entries of a trace. A message passes each router once, so it is a limit on routers in a row.
	maxTrace = 4096 // entries

	// maxSeen is the most routers in the seen list of a HELLO, and the most peers of one link state in an LSU.
	maxSeen = 65536 // entries

	// maxKeys is the most keys in one list of a MAU. An absolute MAU names all addresses of a router in one list.
	maxKeys = 1 << 20 // entries

	// maxText is the longest router id, address or key.
	maxText = 65536 // bytes
)

// decoderLimits bound the depth and count of whatever a control message holds, known keys or not. Bytes are bounded by
// the size of the message, which the link limits. The deepest that is known is value → ls → peers.
var decoderLimits = encoding.Limits{Depth: 16, Elements: 2 * maxKeys}
