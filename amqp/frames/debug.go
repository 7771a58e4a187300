package frames

import "fmt"

// Format returns a frame body as one printable line, for traces.
func Format(channel uint16, body []byte) string {
	code, _, err := PeekPerformative(body)
	if err != nil {
		return fmt.Sprintf("[%d] %v", channel, err)
	}
	return fmt.Sprintf("[%d] @%v", channel, code)
}
