package management

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// A request is one that can be answered: it says where to.
type request struct {
	replyTo     string
	correlation any // as in messaging.Properties

	asked                string // the operation, as the request has it
	operation            string // in upper case; empty if there is none
	typ, name, identity  string
	hasName, hasIdentity bool
	entityType           string
	offset, count        int    // count 0: all
	since                string // a version, or empty
	hasSince             bool
	properties           encoding.Map
	body                 any
	err                  error // what is wrong with it, for the reply
}

// decode reads a request. An error means that it cannot be answered at all:
// there is no reply-to, or none can be found.
func decode(b []byte) (*request, error) {
	m, err := messaging.DecodeMessage(b)
	if err != nil {
		return undecodable(b, err)
	}
	if m.Properties == nil || m.Properties.ReplyTo == "" {
		return nil, fmt.Errorf("the request has no reply-to")
	}
	r := addressed(m.Properties)
	r.properties, r.body = m.ApplicationProperties, m.Body
	if m.Data != nil || m.Sequences != nil {
		r.fail(badRequest("Body of request must be an amqp-value"))
	}
	for _, e := range r.properties {
		key, ok := text(e.Key)
		if !ok {
			r.fail(badRequest("Keys of application properties must be strings"))
			continue
		}
		switch key {
		case "operation":
			r.asked = r.text(key, e.Value)
			r.operation = strings.ToUpper(r.asked)
		case "type":
			r.typ = r.text(key, e.Value)
		case "entityType":
			r.entityType = r.text(key, e.Value)
		case "name":
			r.name, r.hasName = r.text(key, e.Value), e.Value != nil
		case "identity":
			r.identity, r.hasIdentity = r.text(key, e.Value), e.Value != nil
		case "offset":
			r.offset = r.number(key, e.Value)
		case "count":
			r.count = r.number(key, e.Value)
		case "since":
			r.since, r.hasSince = r.text(key, e.Value), e.Value != nil
		}
	}
	if r.operation == "" {
		r.fail(badRequest("No 'operation' property"))
	}
	return r, nil
}

// addressed begins a request with what its reply needs.
func addressed(p *messaging.Properties) *request {
	r := &request{replyTo: p.ReplyTo, correlation: p.CorrelationID}
	if r.correlation == nil {
		r.correlation = p.MessageID
	}
	return r
}

// undecodable makes a request of a message that is wrong somewhere, as far as
// its properties tell who wants to know that.
func undecodable(b []byte, wrong error) (*request, error) {
	env, _ := messaging.Scan(b, messaging.SectionProperties)
	if env.Properties.Len() > 0 {
		d := encoding.NewDecoder(env.Properties.Of(b))
		if p, err := messaging.DecodeProperties(&d); err == nil && p.ReplyTo != "" {
			r := addressed(p)
			r.fail(badRequest("The request cannot be decoded: %v", wrong))
			return r, nil
		}
	}
	return nil, fmt.Errorf("the request cannot be decoded: %w", wrong)
}

// fail notes the first thing that is wrong.
func (r *request) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func text(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case amqp.Symbol:
		return string(v), true
	}
	return "", false
}

// text returns a property that is text. Null is as none.
func (r *request) text(key string, v any) string {
	s, ok := text(v)
	if n, isNumber := encoding.Integer(v); isNumber {
		return strconv.FormatInt(n, 10) // an identity, from a client that likes numbers
	}
	if !ok && v != nil {
		r.fail(badRequest("'%s' must be a string", key))
	}
	return s
}

// number returns a property that is a count. Those that are negative mean none.
func (r *request) number(key string, v any) int {
	n, ok := encoding.Integer(v)
	if s, isText := text(v); isText {
		parsed, err := strconv.ParseInt(s, 10, 64)
		n, ok = parsed, err == nil
	}
	if !ok && v != nil {
		r.fail(badRequest("'%s' must be an integer", key))
	}
	return int(min(max(n, 0), math.MaxInt32))
}

// property returns an application property of the request.
func (r *request) property(key string) any {
	for _, e := range r.properties {
		if k, _ := text(e.Key); k == key {
			return e.Value
		}
	}
	return nil
}

// bodyMap returns the body of a request that wants a map; null is an empty one.
func (r *request) bodyMap() (encoding.Map, error) {
	switch v := r.body.(type) {
	case nil:
		return nil, nil
	case encoding.Map:
		return v, nil
	}
	return nil, badRequest("Body of request must be a map")
}
