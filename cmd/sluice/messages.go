package main

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	goamqp "github.com/Azure/go-amqp"
	"github.com/urfave/cli/v2"

	"sluice/router/control/schema"
)

// maxBody is the longest body that send makes or reads, in bytes. It is held in
// memory once.
const maxBody = 1 << 30

// template is what the messages of a send have in common.
type template struct {
	bodies []any // text (string) or bytes ([]byte), used in turn
	header *goamqp.MessageHeader
	to     *string
	props  map[string]any
	subj   *string
}

// template reads what the flags and the texts of a command line say.
func newTemplate(c *cli.Context, texts []string) (*template, error) {
	t := &template{}
	file, size := c.String("file"), c.String("size")
	given := 0
	for _, is := range []bool{len(texts) > 0, file != "", size != ""} {
		if is {
			given++
		}
	}
	switch {
	case c.Bool("lines") && file == "":
		return nil, usagef("--lines needs --file FILE, or --file - for standard input")
	case given == 0:
		return nil, usagef("nothing to send; give a TEXT, --file FILE or --size BYTES")
	case given > 1:
		return nil, usagef("TEXT, --file and --size exclude each other")
	case file != "":
		body, err := readBody(file)
		if err != nil {
			return nil, err
		}
		t.bodies = []any{body}
		if c.Bool("lines") {
			t.bodies = nil
			for line := range strings.Lines(string(body)) {
				t.bodies = append(t.bodies, strings.TrimRight(line, "\r\n"))
			}
			if t.bodies == nil {
				return nil, usagef("--file %s has no line to send", file)
			}
		}
	case size != "":
		n, err := schema.ParseBytes(size)
		if err != nil || n < 0 || n > maxBody {
			return nil, usagef("--size %s: expected bytes up to %s, such as 100 or 64Ki", size, schema.FormatBytes(maxBody))
		}
		t.bodies = []any{pattern(int(n))}
	default:
		for _, text := range texts {
			t.bodies = append(t.bodies, text)
		}
	}
	return t, t.envelope(c)
}

func (t *template) envelope(c *cli.Context) error {
	priority := c.Int("priority")
	if priority < -1 || priority > 255 {
		return usagef("--priority must be from 0 to 255")
	}
	if c.Duration("ttl") < 0 {
		return usagef("--ttl must not be negative")
	}
	if c.Bool("durable") || priority >= 0 || c.Duration("ttl") > 0 {
		t.header = &goamqp.MessageHeader{Durable: c.Bool("durable"), Priority: 4, TTL: c.Duration("ttl")}
		if priority >= 0 {
			t.header.Priority = uint8(priority)
		}
	}
	if to := c.String("to"); to != "" {
		t.to = &to
	}
	if s := c.String("subject"); s != "" {
		t.subj = &s
	}
	for _, p := range c.StringSlice("property") {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return usagef("--property %s: expected NAME=VALUE", p)
		}
		if t.props == nil {
			t.props = map[string]any{}
		}
		t.props[name] = value
	}
	return nil
}

// message returns the n-th message and the size of its body.
func (t *template) message(n int, now time.Time) (*goamqp.Message, int) {
	m := &goamqp.Message{
		Header: t.header, ApplicationProperties: t.props,
		Properties: &goamqp.MessageProperties{To: t.to, Subject: t.subj, CreationTime: &now},
	}
	switch body := t.bodies[n%len(t.bodies)].(type) {
	case string:
		m.Value = body
		return m, len(body)
	case []byte:
		m.Data = [][]byte{body}
		return m, len(body)
	}
	panic("BUG: a body of no known type")
}

func readBody(file string) ([]byte, error) {
	in := io.Reader(os.Stdin)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("--file: %w", err)
		}
		defer f.Close()
		in = f
	}
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	if err != nil {
		return nil, usagef("--file: %w", err)
	}
	if len(body) > maxBody {
		return nil, usagef("--file %s: longer than %s", file, schema.FormatBytes(maxBody))
	}
	return body, nil
}

// pattern returns n printable bytes, so that a message is easy to look at.
func pattern(n int) []byte {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[i%len(letters)]
	}
	return b
}

// bodySize returns how many bytes of body m has, as far as that is cheap.
func bodySize(m *goamqp.Message) int {
	n := 0
	for _, d := range m.Data {
		n += len(d)
	}
	switch v := m.Value.(type) {
	case string:
		n += len(v)
	case []byte:
		n += len(v)
	}
	return n
}

// bodyText returns the body of m as it is printed.
func bodyText(m *goamqp.Message) string {
	switch {
	case len(m.Data) > 0:
		var b strings.Builder
		for _, d := range m.Data {
			b.Write(d)
		}
		return b.String()
	case len(m.Sequence) > 0:
		return fmt.Sprint(m.Sequence)
	}
	switch v := m.Value.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// jsonMessage is how receive --json prints a message.
type jsonMessage struct {
	Type       string         `json:"type"`
	Body       string         `json:"body"`
	Encoding   string         `json:"encoding,omitempty"` // base64 if the body is not text
	Size       int            `json:"size"`
	Durable    bool           `json:"durable,omitempty"`
	Priority   *uint8         `json:"priority,omitempty"`
	TTL        float64        `json:"ttl_seconds,omitempty"`
	Deliveries uint32         `json:"delivery_count,omitempty"`
	ID         string         `json:"message_id,omitempty"`
	To         *string        `json:"to,omitempty"`
	Subject    *string        `json:"subject,omitempty"`
	ReplyTo    *string        `json:"reply_to,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
}

func toJSON(m *goamqp.Message) jsonMessage {
	j := jsonMessage{Type: "message", Body: bodyText(m), Size: bodySize(m)}
	if !utf8.ValidString(j.Body) {
		j.Body, j.Encoding = base64.StdEncoding.EncodeToString([]byte(j.Body)), "base64"
	}
	if h := m.Header; h != nil {
		j.Durable, j.Priority, j.TTL, j.Deliveries = h.Durable, &h.Priority, h.TTL.Seconds(), h.DeliveryCount
	}
	if p := m.Properties; p != nil {
		j.To, j.Subject, j.ReplyTo = p.To, p.Subject, p.ReplyTo
		if p.MessageID != nil {
			j.ID = plainText(p.MessageID)
		}
	}
	for name, v := range m.ApplicationProperties {
		if j.Properties == nil {
			j.Properties = map[string]any{}
		}
		switch v.(type) {
		case string, bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64, nil:
			j.Properties[name] = v
		default:
			j.Properties[name] = plainText(v)
		}
	}
	return j
}

func plainText(v any) string {
	if b, ok := v.([]byte); ok {
		return hex.EncodeToString(b)
	}
	return fmt.Sprint(v)
}
