package links

import "sluice/amqp"

// A Watch is what the control plane hears of a link for messages. Its functions
// are called under the lock of the link's connection and must not block. Each
// may be nil.
type Watch struct {
	// Answered tells that the peer has answered an attach of this end.
	Answered func()
	// Leaving tells once that the link is about to end; it is still a
	// destination, if it was one.
	Leaving func()
	// Ended tells once that it has, and why: the error that the peer, the session
	// or the connection gave; nil for none and if it was this end's own doing.
	Ended func(*amqp.Error)

	err *amqp.Error
}

func (w *Watch) answered() {
	if w != nil && w.Answered != nil {
		w.Answered()
	}
}

func (w *Watch) because(err *amqp.Error) {
	if w != nil {
		w.err = err
	}
}

func (w *Watch) leaving() {
	if w != nil && w.Leaving != nil {
		w.Leaving()
	}
}

func (w *Watch) ended() {
	if w != nil && w.Ended != nil {
		w.Ended(w.err)
	}
}

// Watch has w told of the link, which must not be bound yet.
func (r *Receiver) Watch(w *Watch) { r.watch = w }

// Detached implements transport.Detached.
func (r *Receiver) Detached(err *amqp.Error) { r.watch.because(err) }

// Watch has w told of the link, which must not be bound yet.
func (s *Sender) Watch(w *Watch) { s.watch = w }

// Detached implements transport.Detached.
func (s *Sender) Detached(err *amqp.Error) { s.watch.because(err) }
