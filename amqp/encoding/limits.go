package encoding

// Limits bounds what a Decoder accepts. A zero field means the value of DefaultLimits.
type Limits struct {
	Depth    int // compounds, arrays and descriptors inside each other; more is a decode-error
	Elements int // elements of one list, map or array; more is a decode-error
	Bytes    int // encoded bytes of one variable-width or compound value; more is a decode-error
}

// DefaultLimits are the limits of NewDecoder; read them, do not set them. They are wide enough for anything the standard defines and for management answers, which are the largest
// compound values seen. Recursion costs about 200 bytes of stack per level. Elements of lists, maps and most arrays take
// at least a byte each, so the frame size already bounds them; the limit matters for decoders over larger inputs.
var DefaultLimits = Limits{
	Depth:    defaultDepth,
	Elements: defaultElements,
	Bytes:    defaultBytes,
}

const (
	defaultDepth    = 64      // levels
	defaultElements = 1 << 20 // elements
	defaultBytes    = 1 << 28 // bytes

	// maxZeroWidth is the most elements of an array whose elements take no bytes (null, true, false, uint0, ulong0, list0).
	// Such arrays are legal and cost a peer nothing, so their count is the only bound; they are never materialised.
	maxZeroWidth = 65536 // elements
)
