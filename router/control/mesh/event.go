package mesh

import "sluice/amqp"

// Event is what happens to an Engine: LinkUp, LinkDown, Received, LocalAdd or LocalRemove.
type Event interface{ event() }

// LinkUp says that the pair of control links on a connection can be used.
type LinkUp struct {
	Link uint64 // chosen by the caller, not in use by another link
	Cost int    // of the connection, the same at both ends; from 1
	Slow bool   // the other end calculates paths in steps of a second, as the first implementation does
}

// LinkDown says that it is lost.
type LinkDown struct{ Link uint64 }

// Received is a message that came in on a link.
type Received struct {
	Link    uint64
	Message *Message
}

// Alive says that something has come in on the connection of a link, whatever it was. A neighbour that is busy may be late
// with its HELLO.
type Alive struct{ Link uint64 }

// LocalAdd says that a mobile address has a first local consumer. The same key again is no news.
type LocalAdd struct {
	Key       string // first letter M, C, D, E, F or H
	Treatment int    // one of the Treatment constants
}

// LocalRemove says that it has lost its last.
type LocalRemove struct{ Key string }

func (LinkUp) event()      {}
func (LinkDown) event()    {}
func (Alive) event()       {}
func (Received) event()    {}
func (LocalAdd) event()    {}
func (LocalRemove) event() {}

// Output is what an Engine wants done or known: Send, *Routes, RemoteAdd, RemoteRemove, RouterGone, Refuse or Notice. They
// are to be acted upon in order.
type Output interface{ output() }

// Send asks for a message to be sent on a link, behind those before it. A message that cannot be sent is simply lost.
type Send struct {
	Link    uint64
	Message *Message // not to be changed
}

// RemoteAdd says that an address has consumers at another router, which can be reached.
type RemoteAdd struct {
	Router    string
	Key       string
	Treatment int // TreatmentUnknown if that router did not say
}

// RemoteRemove says that it has none any more, or that the router cannot be reached any more.
type RemoteRemove struct{ Router, Key string }

// RouterGone says that a router is forgotten. All its addresses were removed before. Its number may be given to another.
type RouterGone struct {
	Router string
	Number int
}

// Refuse asks for the connection of a link to be closed with an error. Nothing more is sent on the link, and what still
// comes in is ignored.
type Refuse struct {
	Link  uint64
	Error *amqp.Error
}

func (Send) output()         {}
func (*Routes) output()      {}
func (RemoteAdd) output()    {}
func (RemoteRemove) output() {}
func (RouterGone) output()   {}
func (Refuse) output()       {}
func (Notice) output()       {}
