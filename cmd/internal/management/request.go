package management

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"sluice/amqp/encoding"

	goamqp "github.com/Azure/go-amqp"
)

// self is the type of the agent, which takes the operations that are about no
// entity.
const self = "org.amqp.management"

// A Request is one operation on one entity, or on the router's agent.
type Request struct {
	Operation string // QUERY, READ, CREATE, UPDATE, DELETE, GET-TYPES …
	// Which entity: its type and one of the other two. All empty: the agent.
	Type, Name, Identity string
	Properties           map[string]any // more application properties: entityType, offset, limit …
	Body                 any            // a map, or nil
}

// message encodes the request.
func (r *Request) message(replyTo, correlation string) *goamqp.Message {
	properties := maps.Clone(r.Properties)
	if properties == nil {
		properties = make(map[string]any)
	}
	properties["operation"] = r.Operation
	for name, value := range map[string]string{"type": r.Type, "name": r.Name, "identity": r.Identity} {
		if value != "" {
			properties[name] = value
		}
	}
	if r.Type == "" && r.Name == "" && r.Identity == "" {
		properties["type"], properties["name"] = self, "self"
	}
	body := r.Body
	if body == nil {
		body = map[string]any{}
	}
	return &goamqp.Message{
		// Not every agent returns a correlation-id that is a number.
		Properties:            &goamqp.MessageProperties{ReplyTo: &replyTo, CorrelationID: correlation},
		ApplicationProperties: properties,
		Value:                 body,
	}
}

// A Reply is the answer to a request that has succeeded.
type Reply struct {
	Status   int
	Body     any    // as go-amqp decodes it
	Warnings string // of the router about what was made; mostly none
}

// A StatusError is the answer to a request that has failed.
type StatusError struct {
	Code        int // of HTTP: 400, 404 …
	Description string
}

func (e *StatusError) Error() string {
	words := http.StatusText(e.Code)
	switch {
	case e.Description == "" || e.Description == words:
		return fmt.Sprintf("%d %s", e.Code, words)
	case words == "":
		return fmt.Sprintf("%d %s", e.Code, e.Description)
	}
	return fmt.Sprintf("%d %s: %s", e.Code, words, strings.TrimPrefix(e.Description, words+": "))
}

// reply decodes a reply.
func reply(m *goamqp.Message) (*Reply, error) {
	code, ok := encoding.Integer(m.ApplicationProperties["statusCode"])
	if !ok {
		return nil, errors.New("the reply has no statusCode: who answers there is no management agent")
	}
	if code < 200 || code > 299 {
		text, _ := m.ApplicationProperties["statusDescription"].(string)
		return nil, &StatusError{Code: int(code), Description: Printable(text)}
	}
	warnings, _ := m.ApplicationProperties["warnings"].(string)
	return &Reply{Status: int(code), Body: m.Value, Warnings: Printable(warnings)}, nil
}

func correlationOf(m *goamqp.Message) string {
	if m.Properties == nil {
		return ""
	}
	id, _ := m.Properties.CorrelationID.(string)
	return id
}
