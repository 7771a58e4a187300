package messaging

// Properties is the properties section (§3.2.4).
type Properties struct {
	MessageID          any // uint64, encoding.UUID, []byte or string; nil when absent
	UserID             []byte
	To                 string
	HasTo              bool
	Subject            string
	HasSubject         bool
	ReplyTo            string
	HasReplyTo         bool
	CorrelationID      any
	ContentType        string
	ContentEncoding    string
	AbsoluteExpiryTime int64 // milliseconds since the Unix epoch; 0 when absent
	CreationTime       int64
	GroupID            string
	HasGroupID         bool
	GroupSequence      uint32
	HasGroupSequence   bool
	ReplyToGroupID     string
}

// Append appends p as a section.
func (p *Properties) Append(b []byte) []byte { return b }

// DecodeProperties reads a properties section.
func DecodeProperties(section []byte) (*Properties, error) { return nil, nil }
