package edge

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/links"
	"sluice/router/address"
	"sluice/router/control/service"
	"sluice/router/table"
	"sluice/router/uplink"
)

const (
	requestCredit = 250
	requestBytes  = 64 << 10 // the largest request
	replyBytes    = 4 << 20  // replies that wait for their askers
	lookupStatus  = "status"

	// dialAgain is when services that have lost their connection to the router
	// make another.
	dialAgain = time.Second
)

// Status of the answer to a lookup, as the routers of the existing family give
// it.
const (
	lookupFound      = 0
	lookupBadVersion = 1
	lookupBadOpcode  = 2
	lookupNotFound   = 3
	lookupInvalid    = 4
)

// Services answer the requests of edge routers of the existing family: whether an
// address is a link route, of which this router has none.
type Services struct {
	Identity address.Identity
	Table    *table.Table
	// Serve serves one end of a connection within the process.
	Serve func(net.Conn)
	Log   zerolog.Logger

	replies atomic.Pointer[service.Sender] // the link for replies, while there is one
}

// NewServices returns services that do not run yet.
func NewServices(id address.Identity, t *table.Table, serve func(net.Conn), log zerolog.Logger) *Services {
	return &Services{Identity: id, Table: t, Serve: serve, Log: log}
}

// Run serves until ctx is done.
func (s *Services) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.run(ctx)
		if ctx.Err() != nil {
			return
		}
		s.Log.Warn().Err(err).Msg("edge: the services for edge routers have lost their connection to the router")
		select {
		case <-ctx.Done():
		case <-time.After(dialAgain):
		}
	}
}

func (s *Services) run(ctx context.Context) error {
	c, err := service.Dial(ctx, s.Identity.ID+".edge", s.Serve)
	if err != nil {
		return err
	}
	defer c.Close()
	replies, err := c.Sender(ctx, "", replyBytes)
	if err != nil {
		return err
	}
	s.replies.Store(replies)
	defer s.replies.Store(nil)
	_, err = c.Receive(ctx, uplink.Lookup, requestCredit, requestBytes, func(m service.Message) {
		s.answer(m, s.lookup(m.Bytes))
	})
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-c.Done():
		return c.Err()
	}
}

// answer sends a reply, if there is one, and is done with the request.
func (s *Services) answer(m links.ControlMessage, reply []byte) {
	m.Done(messaging.Accepted)
	if reply == nil {
		return
	}
	// Without the link, or with too much on it, nobody gets a reply: the asker
	// gives up after a while.
	if to := s.replies.Load(); to != nil {
		to.Send(reply, true, nil)
	}
}

// request takes a request apart: whom to answer, and what is asked.
func request(b []byte) (r *messaging.Message, reply *messaging.Message) {
	r, err := messaging.DecodeMessage(b)
	if err != nil || r.Properties == nil || r.Properties.ReplyTo == "" {
		return nil, nil
	}
	return r, &messaging.Message{Properties: &messaging.Properties{
		To: r.Properties.ReplyTo, HasTo: true, CorrelationID: r.Properties.CorrelationID,
	}}
}

// lookup answers whether an address is a link route, which it never is, and
// whether it has destinations. What cannot be read gets the status that says so.
func (s *Services) lookup(b []byte) []byte {
	r, reply := request(b)
	if r == nil {
		return nil
	}
	status, has := uint32(lookupInvalid), false
	list, _ := r.Body.([]any)
	switch {
	case number(r.ApplicationProperties, "version") != 1:
		status = lookupBadVersion
	case number(r.ApplicationProperties, "opcode") != 1:
		status = lookupBadOpcode
	case len(list) >= 2:
		text, isText := list[0].(string)
		if _, isBool := list[1].(bool); !isText || !isBool {
			break
		}
		status = lookupNotFound
		if a := s.Table.Find(address.Parse(text, s.Identity)); a != nil {
			status, has = lookupFound, a.Gate() != links.GateClosed
		}
	}
	reply.ApplicationProperties = encoding.Map{
		{Key: "version", Value: uint32(1)}, {Key: "opcode", Value: uint32(1)}, {Key: lookupStatus, Value: status},
	}
	reply.Body = []any{false, has}
	return s.encode(reply)
}

func (s *Services) encode(m *messaging.Message) []byte {
	b, err := m.Append(nil)
	if err != nil {
		panic(fmt.Sprintf("BUG: a reply that cannot be encoded: %v", err))
	}
	return b
}

// number returns an unsigned or signed integer of a map; -1 for anything else.
func number(m encoding.Map, key string) int64 {
	for _, e := range m {
		if k, ok := e.Key.(string); !ok || k != key {
			continue
		}
		switch v := e.Value.(type) {
		case uint32:
			return int64(v)
		case int32:
			return int64(v)
		case uint64:
			return int64(min(v, 1<<62))
		case int64:
			return v
		case uint8:
			return int64(v)
		case uint16:
			return int64(v)
		}
	}
	return -1
}
