package messaging

import "sluice/amqp/encoding"

// DefaultPriority is the priority of a message whose header has none (§3.2.1).
const DefaultPriority = 4

// Header is the header section (§3.2.1).
type Header struct {
	Durable       bool
	Priority      uint8
	HasPriority   bool
	TTL           uint32 // milliseconds
	HasTTL        bool
	FirstAcquirer bool
	DeliveryCount uint32
}

// Append appends h as a section.
func (h *Header) Append(b []byte) []byte {
	w := encoding.BeginComposite(b, encoding.DescHeader)
	w.Flag(h.Durable)
	w.Ubyte(h.Priority, h.HasPriority)
	w.Uint(h.TTL, h.HasTTL)
	w.Flag(h.FirstAcquirer)
	w.Uint(h.DeliveryCount, h.DeliveryCount != 0)
	return w.End()
}

// DecodeHeader reads a header section.
func DecodeHeader(d *encoding.Decoder) (Header, error) {
	f, err := decodeTerminus(d, "header", encoding.DescHeader, 5)
	if err != nil {
		return Header{}, err
	}
	var h Header
	h.Durable = f.Flag("durable")
	h.Priority, h.HasPriority = f.Ubyte("priority")
	h.TTL, h.HasTTL = f.Uint("ttl")
	h.FirstAcquirer = f.Flag("first-acquirer")
	h.DeliveryCount, _ = f.Uint("delivery-count")
	if err := f.Finish(); err != nil {
		return Header{}, err
	}
	return h, nil
}
