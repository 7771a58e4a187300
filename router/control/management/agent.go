package management

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp"
	"sluice/amqp/messaging"
	"sluice/router/control/service"
)

// An Agent brings requests to a Desk and replies back. They arrive at $management
// from clients of this router, and at the same name inside of it, which is what
// others reach by _topo/0/ID/$management and _edge/ID/$management.
type Agent struct {
	desk  *Desk
	serve func(net.Conn)
	log   zerolog.Logger

	failed   time.Time // when the failures were begun to be counted
	failures int

	requests, replies atomic.Uint64

	maxWaiting int64 // as the constant of that name; tests need less

	// Throttle bounds the log lines about requests that cannot be answered; nil
	// for no bound.
	Throttle zerolog.Sampler
}

// NewAgent returns an agent for a router, whose end of the agent's connection
// serve runs.
func NewAgent(r Router, serve func(net.Conn), log zerolog.Logger) *Agent {
	return &Agent{desk: NewDesk(r), serve: serve, log: log, maxWaiting: maxWaiting}
}

// Run serves until ctx is done. A connection to the router that ends is made
// again.
func (a *Agent) Run(ctx context.Context) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		began := time.Now()
		err := a.attend(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > lastPause {
			pause = firstPause
		}
		a.log.Error().Err(err).Dur("retry", pause).Msg("management has lost the router")
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// attend serves on one connection until it has ended.
func (a *Agent) attend(ctx context.Context) error {
	dialled, cancel := context.WithTimeout(ctx, answerPatience)
	c, err := service.Dial(dialled, "$management", a.serve)
	cancel()
	if err != nil {
		return err
	}
	defer c.Close()
	// There is room for all that the credit allows, so that nobody waits.
	requests := make(chan service.Message, 2*requestCredit)
	take := func(m service.Message) { requests <- m }
	attached, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	clients, err := c.Receive(attached, "$management", requestCredit, maxRequest, take)
	if err != nil {
		return err
	}
	routers, err := c.Receive(attached, "_local/$management", requestCredit, maxRequest, take)
	if err != nil {
		return err
	}
	o := newOutlets(ctx, c, a)
	tidy := time.NewTicker(tidyInterval)
	defer tidy.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.Done():
			return c.Err()
		case <-clients.Done():
			return clients.Err()
		case <-routers.Done():
			return routers.Err()
		case m := <-requests:
			a.receive(o, m)
		case <-o.wake:
			o.resume()
		case now := <-tidy.C:
			o.tidy(now)
		}
	}
}

// Counts are the messages that the agent has received from the router, and sent
// to it.
func (a *Agent) Counts() (requests, replies uint64) { return a.requests.Load(), a.replies.Load() }

// receive takes a request.
func (a *Agent) receive(o *outlets, m service.Message) {
	a.requests.Add(1)
	q, err := decode(m.Bytes)
	if err != nil {
		log := a.log
		if a.Throttle != nil {
			log = log.Sample(a.Throttle)
		}
		log.Warn().Err(err).Msg("a request to management was dropped")
		m.Done(messaging.Rejected(amqp.Errorf(amqp.CondInvalidField, "%v", err)))
		return
	}
	o.take(q, m)
}

// answer answers a request.
func (a *Agent) answer(q *request) []byte {
	a.log.Debug().Str("operation", brief(q.asked)).Str("type", q.typ).Str("entityType", q.entityType).
		Str("name", q.name).Str("identity", q.identity).Str("replyTo", q.replyTo).Msg("Agent request")
	r := a.desk.answer(q)
	if r.status >= statusBadRequest {
		a.failure().Int32("status", r.status).Str("replyTo", brief(q.replyTo)).Msgf("Error performing %s: %s", brief(q.operation), r.text)
	}
	return r.message(q)
}

// failure begins a line about a request that failed: an error, but no more than
// a few in a second, since everybody can make them.
func (a *Agent) failure() *zerolog.Event {
	if now := time.Now(); now.Sub(a.failed) >= time.Second {
		a.failed, a.failures = now, 0
	}
	if a.failures++; a.failures <= maxFailureLines {
		return a.log.Error()
	}
	return a.log.Debug()
}
