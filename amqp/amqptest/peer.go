package amqptest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"sluice/amqp"
	"sluice/amqp/frames"
)

// A Peer is the other side of a connection, under the control of a test. What
// it reads it reads only when asked to, and after everybody else in the bubble
// waits for something.
type Peer struct {
	T   testing.TB
	End *End

	unread   []byte
	frames   []Frame
	eof      bool
	trace    []string // what was said, for failures
	raw      bool     // headers are expected
	most     uint32   // max-frame-size that was offered; 0 for none yet
	sessions map[uint16]*session
	channels map[uint16]uint16 // the other side's channels to ours
}

// session is what a Peer knows about one of its sessions, by its own channel.
type session struct {
	nextIncoming amqp.TransferNumber
	nextOutgoing amqp.TransferNumber
	window       uint32
	floating     bool  // the window moves with what is read
	remote       int64 // frames that the other side takes now
}

// NewPeer returns a peer that speaks through end.
func NewPeer(t testing.TB, end *End) *Peer {
	return &Peer{T: t, End: end, sessions: make(map[uint16]*session), channels: make(map[uint16]uint16)}
}

func (p *Peer) session(channel uint16) *session {
	s := p.sessions[channel]
	if s == nil {
		s = &session{window: DefaultWindow, floating: true}
		p.sessions[channel] = s
	}
	return s
}

// Write writes items as one piece: performatives (on channel 0), Frames, and
// bytes as they are.
func (p *Peer) Write(items ...any) {
	p.T.Helper()
	b := p.encode(items)
	for len(b) > 0 {
		// The other side may wait for us to read before it reads: read then.
		n := min(len(b), max(p.End.out.room(), 0))
		if n == 0 {
			synctest.Wait()
			if n = min(len(b), p.End.out.room()); n <= 0 {
				if p.fill() == 0 {
					p.T.Fatalf("the other side does not read\n%s", p.Trace())
				}
				continue
			}
		}
		if _, err := p.End.Write(b[:n]); err != nil {
			p.T.Fatalf("write: %v\n%s", err, p.Trace())
		}
		b = b[n:]
	}
}

func (p *Peer) encode(items []any) (b []byte) {
	for _, item := range items {
		switch item := item.(type) {
		case []byte:
			b = append(b, item...)
			p.log("-> % x", item)
		case Frame:
			b = p.append(b, item)
		case Performative:
			b = p.append(b, Frame{Body: item})
		default:
			panic(fmt.Sprintf("cannot write a %T", item))
		}
	}
	return b
}

// Wire returns what a peer that has just connected would write.
func Wire(items ...any) []byte { return NewPeer(nil, nil).encode(items) }

func (h *half) room() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken || h.ended {
		return 1 << 30 // the write will tell
	}
	return h.limit - len(h.buf)
}

func (p *Peer) append(b []byte, f Frame) []byte {
	s := p.session(f.Channel)
	switch x := f.Body.(type) {
	case *frames.Open:
		p.most = max(x.MaxFrameSize, frames.MinMaxFrameSize)
	case *frames.Begin:
		s.nextOutgoing, s.window = x.NextOutgoingID, x.IncomingWindow
		s.floating = x.IncomingWindow == DefaultWindow
	case *frames.Transfer:
		s.nextOutgoing++
		s.remote--
	case *frames.Flow:
		y := *x
		if !y.HasNextIncomingID {
			y.NextIncomingID, y.HasNextIncomingID = s.nextIncoming, true
		}
		if y.IncomingWindow == 0 && s.floating {
			y.IncomingWindow = s.window
		}
		if y.NextOutgoingID == 0 {
			y.NextOutgoingID = s.nextOutgoing
		}
		if y.OutgoingWindow == 0 {
			y.OutgoingWindow = DefaultWindow
		}
		f.Body = &y
	}
	at := len(b)
	b = f.append(b)
	p.log("-> %s", frames.Format(f.Channel, b[at+frames.HeaderSize:]))
	return b
}

func (p *Peer) log(format string, args ...any) {
	p.trace = append(p.trace, fmt.Sprintf(format, args...))
}

// Trace is what was said so far; the end of it if it is long.
func (p *Peer) Trace() string {
	t := p.trace
	if len(t) > 25 {
		t = append([]string{fmt.Sprintf("(%d lines)", len(t)-25)}, t[len(t)-25:]...)
	}
	return strings.Join(t, "\n")
}

// fill reads what is there and returns how much that was.
func (p *Peer) fill() int {
	n, err := 0, error(nil)
	for {
		var buf [16 << 10]byte
		var m int
		if m, err = p.End.TryRead(buf[:]); m == 0 {
			break
		}
		p.unread = append(p.unread, buf[:m]...)
		n += m
	}
	if err == io.EOF && !p.eof {
		p.eof = true
		p.log("<- end of stream")
	}
	for len(p.unread) >= frames.HeaderSize && !p.raw {
		if bytes.HasPrefix(p.unread, []byte("AMQP")) {
			return n // a header: WantHeader takes it
		}
		size := int(binary.BigEndian.Uint32(p.unread))
		if len(p.unread) < size {
			break
		}
		h, err := frames.ParseHeader(p.unread)
		if err != nil {
			p.T.Fatalf("read: %v\n%s", err, p.Trace())
		}
		body := bytes.Clone(p.unread[h.BodyOffset():size])
		p.unread = p.unread[size:]
		p.arrived(h, body, size)
	}
	return n
}

// arrived notes a frame that was read.
func (p *Peer) arrived(h frames.Header, body []byte, size int) {
	f := Frame{Type: h.Type, Channel: h.Channel, Raw: body, Text: frames.Format(h.Channel, body)}
	p.log("<- %s", f.Text)
	if strings.Contains(f.Text, "malformed") {
		p.T.Errorf("the other side sent a malformed frame: %s", f.Text)
	}
	code, _, _ := frames.PeekPerformative(body)
	if p.most != 0 && uint32(size) > p.most && code != frames.PerformativeOpen {
		p.T.Errorf("§2.7.1: a frame of %d bytes, and max-frame-size is %d: %.200s", size, p.most, f.Text)
	}
	switch code {
	case frames.PerformativeBegin:
		var b frames.Begin
		b.Decode(body)
		if b.HasRemoteChannel {
			p.channels[h.Channel] = b.RemoteChannel
		}
		s := p.session(p.channels[h.Channel])
		s.nextIncoming, s.remote = b.NextOutgoingID, int64(b.IncomingWindow)
	case frames.PerformativeFlow:
		var f frames.Flow
		f.Decode(body)
		s := p.session(p.channels[h.Channel])
		if f.HasNextIncomingID {
			s.remote = int64(f.IncomingWindow) - int64(s.nextOutgoing.Sub(f.NextIncomingID))
		}
	case frames.PerformativeTransfer:
		var t frames.Transfer
		f.Payload, _ = t.Decode(body)
		s := p.session(p.channels[h.Channel])
		s.nextIncoming++
	}
	p.frames = append(p.frames, f)
}

// next returns the next frame that the other side has sent when it waits.
func (p *Peer) next() (Frame, bool) {
	for len(p.frames) == 0 {
		synctest.Wait()
		if p.fill() == 0 {
			return Frame{}, false
		}
	}
	f := p.frames[0]
	p.frames = p.frames[1:]
	return f, true
}

// Want reads the next frame, which must match. A pattern is the performative,
// if it matters preceded by its channel, followed by fields as a trace shows
// them: each must be there, and each behind a "!" must not.
//
//	"disposition role=receiver first=0 settled state=accepted !last"
func (p *Peer) Want(why, pattern string) Frame {
	p.T.Helper()
	f, ok := p.next()
	if !ok {
		p.T.Fatalf("%s:\nwant %s\nnothing was sent%s\n%s", why, pattern, p.ended(), p.Trace())
	}
	if miss := mismatch(f.Text, pattern); miss != "" {
		p.T.Fatalf("%s:\nwant %s (%s)\ngot  %s\n%s", why, pattern, miss, f.Text, p.Trace())
	}
	return f
}

func (p *Peer) ended() string {
	if p.eof {
		return " and the stream has ended"
	}
	return ""
}

// Until reads frames, and forgets them, up to the first that matches.
func (p *Peer) Until(why, pattern string) Frame {
	p.T.Helper()
	for {
		f, ok := p.next()
		if !ok {
			p.T.Fatalf("%s:\nwant %s\nnothing more was sent%s\n%s", why, pattern, p.ended(), p.Trace())
		}
		if mismatch(f.Text, pattern) == "" {
			return f
		}
	}
}

// All reads all frames that are there and returns those that match; a pattern
// of "" matches all.
func (p *Peer) All(pattern string) (list []Frame) {
	for {
		f, ok := p.next()
		if !ok {
			return list
		}
		if pattern == "" || mismatch(f.Text, pattern) == "" {
			list = append(list, f)
		}
	}
}

// WantAnything takes note of what is there and forgets it.
func (p *Peer) WantAnything() { p.All("") }

// WantIdle checks that nothing has been sent and the connection is there.
func (p *Peer) WantIdle(why string) {
	p.T.Helper()
	if f, ok := p.next(); ok {
		p.T.Fatalf("%s:\nwant nothing\ngot  %s\n%s", why, f.Text, p.Trace())
	}
	if p.eof || len(p.unread) > 0 {
		p.T.Fatalf("%s:\nwant nothing, %d bytes were sent%s\n%s", why, len(p.unread), p.ended(), p.Trace())
	}
}

// WantEnd checks that nothing more was sent and the stream has ended.
func (p *Peer) WantEnd(why string) {
	p.T.Helper()
	if f, ok := p.next(); ok {
		p.T.Fatalf("%s:\nwant the end\ngot  %s\n%s", why, f.Text, p.Trace())
	}
	if !p.eof || len(p.unread) > 0 {
		p.T.Fatalf("%s:\nwant the end, %d bytes are left\n%s", why, len(p.unread), p.Trace())
	}
}

// WantHeader reads a protocol header.
func (p *Peer) WantHeader(why string, id frames.ProtoID) {
	p.T.Helper()
	for len(p.unread) < frames.ProtocolHeaderSize {
		synctest.Wait()
		if p.raw = true; p.fill() == 0 {
			p.T.Fatalf("%s:\nwant the %v header\nnothing was sent%s\n%s", why, id, p.ended(), p.Trace())
		}
	}
	p.raw = false
	h := frames.ProtocolHeader(id)
	if got := p.unread[:len(h)]; !bytes.Equal(got, h[:]) {
		p.T.Fatalf("%s:\nwant header % x\ngot  % x\n%s", why, h, got, p.Trace())
	}
	p.unread = p.unread[len(h):]
	p.log("<- header %v", id)
	p.fill()
}

// mismatch tells why a line of a trace does not match a pattern.
func mismatch(text, pattern string) string {
	have := fields(text)
	for i, want := range fields(pattern) {
		switch {
		case strings.HasPrefix(want, "!"):
			for _, f := range have {
				if f == want[1:] || strings.HasPrefix(f, want[1:]+"=") {
					return "no " + want[1:]
				}
			}
		case strings.HasPrefix(want, "~"):
			if !strings.Contains(text, want[1:]) {
				return want[1:]
			}
		case i == 0 && !strings.HasPrefix(want, "["):
			if len(have) < 2 || have[1] != want {
				return want
			}
		default:
			found := false
			for _, f := range have {
				found = found || f == want
			}
			if !found {
				return want
			}
		}
	}
	return ""
}

// fields splits at spaces outside of quotes and brackets. Channels, at the
// start, and curly brackets are kept whole.
func fields(s string) (list []string) {
	depth, quoted, start := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		case c == ' ' && depth == 0:
			if i > start {
				list = append(list, s[start:i])
			}
			start = i + 1
		}
	}
	if start < len(s) {
		list = append(list, s[start:])
	}
	return list
}
