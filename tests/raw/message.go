package raw

import (
	"encoding/binary"

	"sluice/amqp/messaging"
)

// trailer is what the body of a numbered message ends with: its number.
const trailer = 8

// Numbered returns a message with a body of size bytes, at least 8, that end
// with a number. Sections before the body are those of m, which may be nil.
func Numbered(m *messaging.Message, size int, n uint64) []byte {
	if m == nil {
		m = &messaging.Message{}
	}
	copied := *m
	body := make([]byte, max(size, trailer))
	binary.BigEndian.PutUint64(body[len(body)-trailer:], n)
	copied.Data = [][]byte{body}
	b, err := copied.Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// Renumber changes the number of a message that Numbered made.
func Renumber(message []byte, n uint64) {
	binary.BigEndian.PutUint64(message[len(message)-trailer:], n)
}

// Number is the number of a message whose last frame has this payload.
func Number(payload []byte) uint64 {
	if len(payload) < trailer {
		return 1<<64 - 1
	}
	return binary.BigEndian.Uint64(payload[len(payload)-trailer:])
}

// To is the section that names the address of a message of an anonymous sender.
func To(address string) *messaging.Message {
	return &messaging.Message{Properties: &messaging.Properties{To: address, HasTo: true}}
}
