package amqptest

import (
	"testing/synctest"

	"sluice/amqp/frames"
)

// Header returns a protocol header as bytes to write.
func Header(id frames.ProtoID) []byte {
	h := frames.ProtocolHeader(id)
	return h[:]
}

// Handshake exchanges AMQP headers and opens.
func (p *Peer) Handshake(open *frames.Open) *frames.Open {
	p.T.Helper()
	p.Write(Header(frames.ProtoAMQP), open)
	p.WantHeader("§2.2: a header is answered by a header", frames.ProtoAMQP)
	var remote frames.Open
	p.Want("§2.4.1: each peer sends open", "open").Decode(&remote)
	return &remote
}

// BeginSession begins a session on a channel.
func (p *Peer) BeginSession(channel uint16, begin *frames.Begin) *frames.Begin {
	p.T.Helper()
	p.Write(On(channel, begin))
	var remote frames.Begin
	p.Want("§2.5.1: begin is answered by begin", "begin").Decode(&remote)
	return &remote
}

// Connect does all up to the first session.
func (p *Peer) Connect(container string) *Peer {
	p.T.Helper()
	p.Handshake(Open(container))
	p.BeginSession(0, Begin())
	return p
}

// Attach attaches a link on channel 0 and returns the answer.
func (p *Peer) Attach(a *frames.Attach) *frames.Attach {
	p.T.Helper()
	p.Write(a)
	var remote frames.Attach
	p.Want("§2.6.3: attach is answered by attach", "attach").Decode(&remote)
	return &remote
}

// Drop closes the socket without a word.
func (p *Peer) Drop() {
	p.End.Close()
	synctest.Wait()
}

// Goodbye closes the connection in good order.
func (p *Peer) Goodbye() {
	p.T.Helper()
	p.Write(&frames.Close{})
	p.Until("§2.4.3: close is answered by close", "close")
	p.WantEnd("§2.4.3: nothing follows a close")
	p.Drop()
}

// Window is the number of transfer frames that the other side takes now on a
// session, as far as its flows tell.
func (p *Peer) Window(channel uint16) int64 {
	synctest.Wait()
	p.fill()
	return p.session(channel).remote
}

// Stream sends a delivery of several frames on channel 0, of at most size bytes
// of payload each, as far as the window of the session lets it. It returns the
// number of frames sent.
func (p *Peer) Stream(first *frames.Transfer, payload []byte, size int) (sent int) {
	p.T.Helper()
	for t := first; ; t = Next(first.Handle) {
		if p.session(0).remote <= 0 && p.Window(0) <= 0 {
			p.T.Fatalf("the window stays closed after %d frames\n%s", sent, p.Trace())
		}
		n := min(size, len(payload))
		t.More = n < len(payload)
		p.Write(With(t, payload[:n]))
		payload = payload[n:]
		sent++
		if !t.More {
			return sent
		}
	}
}

// Message reads a whole delivery, and forgets flows and dispositions on the way.
func (p *Peer) Message(why string) (first frames.Transfer, payload []byte, count int) {
	p.T.Helper()
	for {
		f := p.Until(why, "transfer")
		var t frames.Transfer
		part := f.Decode(&t)
		if count == 0 {
			first = t
		}
		payload = append(payload, part...)
		count++
		if t.Aborted {
			p.T.Fatalf("%s: the delivery was aborted\n%s", why, p.Trace())
		}
		if !t.More {
			return first, payload, count
		}
	}
}
