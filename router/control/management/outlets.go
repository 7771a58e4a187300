package management

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/router/control/service"
)

// outlets are the ways for replies. Each address that replies go to has a link of
// its own, which has credit as far as there is somebody who reads; so whoever
// does not read keeps only his own replies waiting, and then his requests.
type outlets struct {
	ctx   context.Context
	c     *service.Client
	agent *Agent
	all   map[string]*outlet

	bytes  atomic.Int64  // of replies that wait, in all
	parked int           // requests that wait, in all
	size   int           // bytes of those
	wake   chan struct{} // replies have left
}

// An outlet is the way to one address.
type outlet struct {
	to      string
	s       *service.Sender // nil until the first reply
	parked  []parked
	used    time.Time    // when the last request came
	waiting atomic.Int32 // replies that have not left
	bytes   atomic.Int64 // of those
	moved   atomic.Int64 // when the last one left, or the first began to wait; UnixNano
}

// parked is a request that waits for earlier replies to leave.
type parked struct {
	q *request
	m service.Message
}

func newOutlets(ctx context.Context, c *service.Client, a *Agent) *outlets {
	return &outlets{ctx: ctx, c: c, agent: a, all: make(map[string]*outlet), wake: make(chan struct{}, 1)}
}

// take answers a request, or lets it wait until replies to the same address have
// left.
func (o *outlets) take(q *request, m service.Message) {
	out := o.outlet(q.replyTo)
	out.used = time.Now()
	if len(out.parked) == 0 && out.ready() {
		o.serve(out, q, m)
		return
	}
	out.parked = append(out.parked, parked{q, m})
	o.parked++
	o.size += len(m.Bytes)
	for o.parked > maxParked || o.size > maxParkedBytes {
		o.refuse(o.longest())
	}
}

// ready tells whether so few replies wait that another request may be answered.
func (out *outlet) ready() bool {
	return out.waiting.Load() < fewReplies && out.bytes.Load() < fewBytes
}

// serve answers a request. It is accepted before its reply exists: what comes of
// it is in the reply.
func (o *outlets) serve(out *outlet, q *request, m service.Message) {
	m.Done(messaging.Accepted)
	o.send(out, o.agent.answer(q))
}

// outlet returns the way to an address.
func (o *outlets) outlet(to string) *outlet {
	if out := o.all[to]; out != nil {
		return out
	}
	if len(o.all) >= maxOutlets {
		o.drop(o.stalest(nil), "too many others wait")
	}
	out := &outlet{to: to}
	o.all[to] = out
	return out
}

func (o *outlets) send(out *outlet, reply []byte) {
	if out.s == nil && !o.attach(out) {
		return
	}
	n := int64(len(reply))
	if out.waiting.Add(1) == 1 {
		out.moved.Store(time.Now().UnixNano())
	}
	out.bytes.Add(n)
	o.bytes.Add(n)
	left := func(s messaging.DeliveryState) {
		if s.Kind == messaging.StateAccepted { // the router has it
			o.agent.replies.Add(1)
		}
		out.bytes.Add(-n)
		o.bytes.Add(-n)
		out.moved.Store(time.Now().UnixNano())
		out.waiting.Add(-1)
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	if err := out.s.Send(reply, true, left); err != nil {
		left(messaging.DeliveryState{})
		o.drop(out, err.Error())
		return
	}
	for o.bytes.Load() > o.agent.maxWaiting {
		stale := o.stalest(func(x *outlet) bool { return x != out && x.bytes.Load() > 0 })
		if stale == nil {
			return
		}
		o.drop(stale, "too many bytes wait for readers")
	}
}

// attach makes the link of an outlet.
func (o *outlets) attach(out *outlet) bool {
	ctx, cancel := context.WithTimeout(o.ctx, answerPatience)
	defer cancel()
	s, err := o.c.SenderApart(ctx, out.to, maxWaiting+maxReply)
	if err != nil {
		o.drop(out, err.Error())
		return false
	}
	out.s = s
	return true
}

// resume answers requests that have waited.
func (o *outlets) resume() {
	if o.parked == 0 {
		return
	}
	for _, out := range o.all {
		o.unpark(out)
	}
}

func (o *outlets) unpark(out *outlet) {
	for len(out.parked) > 0 && out.ready() && o.all[out.to] == out {
		p := out.parked[0]
		out.parked[0] = parked{}
		out.parked = out.parked[1:]
		o.parked--
		o.size -= len(p.m.Bytes)
		o.serve(out, p.q, p.m)
	}
}

var errNotRead = amqp.Errorf(amqp.CondResourceLimitExceeded, "replies to earlier requests have not been read")

// refuse refuses the last request that waits at an outlet.
func (o *outlets) refuse(out *outlet) {
	last := len(out.parked) - 1
	o.size -= len(out.parked[last].m.Bytes)
	out.parked[last].m.Done(messaging.Rejected(errNotRead))
	out.parked[last] = parked{}
	out.parked = out.parked[:last]
	o.parked--
}

// longest is the outlet with the most requests that wait.
func (o *outlets) longest() (most *outlet) {
	for _, out := range o.all {
		if most == nil || len(out.parked) > len(most.parked) {
			most = out
		}
	}
	return most
}

// stalest is the outlet, of those that may be it, from which nothing has left for
// longest; one that is idle before all others.
func (o *outlets) stalest(may func(*outlet) bool) (stale *outlet) {
	age := func(out *outlet) int64 {
		if out.waiting.Load() == 0 && len(out.parked) == 0 {
			return out.used.UnixNano() - int64(time.Hour)
		}
		return out.moved.Load()
	}
	for _, out := range o.all {
		if may != nil && !may(out) {
			continue
		}
		if stale == nil || age(out) < age(stale) {
			stale = out
		}
	}
	return stale
}

// drop gives up an outlet with all that waits there.
func (o *outlets) drop(out *outlet, why string) {
	delete(o.all, out.to)
	if n := out.waiting.Load(); n > 0 || why != "" {
		o.agent.log.Debug().Str("replyTo", out.to).Int32("replies", n).Str("because", why).Msg("replies of management are not sent")
	}
	for len(out.parked) > 0 {
		o.refuse(out)
	}
	if out.s != nil {
		out.s.Close()
	}
}

// tidy ends outlets that are not used any more, or whose readers do not read.
func (o *outlets) tidy(now time.Time) {
	for _, out := range o.all {
		waits := out.waiting.Load() > 0
		switch {
		case out.s != nil && closed(out.s.Done()):
			o.drop(out, out.s.Err().Error())
		case waits && now.UnixNano()-out.moved.Load() > int64(replyPatience):
			o.drop(out, "nobody reads them")
		case !waits && len(out.parked) == 0 && now.Sub(out.used) > outletIdle:
			o.drop(out, "")
		default:
			o.unpark(out)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
