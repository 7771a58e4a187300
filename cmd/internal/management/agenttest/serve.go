package agenttest

import (
	"context"
	"errors"

	goamqp "github.com/Azure/go-amqp"

	"sluice/cmd/internal/management"
)

// Serve answers the requests that are sent to an address, until the context is
// done. Replies go over an anonymous link. ready is closed when the address has
// its receiver.
func (a *Agent) Serve(ctx context.Context, conn *goamqp.Conn, address string, ready chan<- struct{}) error {
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	requests, err := session.NewReceiver(ctx, address, &goamqp.ReceiverOptions{Credit: 100})
	if err != nil {
		return err
	}
	replies, err := session.NewSender(ctx, "", nil)
	if err != nil {
		return err
	}
	close(ready)
	for {
		m, err := requests.Receive(ctx, nil)
		if err == nil {
			err = requests.AcceptMessage(ctx, m)
		}
		if err == nil && m.Properties != nil && m.Properties.ReplyTo != nil {
			err = replies.Send(ctx, a.reply(ctx, m), nil)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// reply answers a request on the wire.
func (a *Agent) reply(ctx context.Context, m *goamqp.Message) *goamqp.Message {
	r := &management.Request{Properties: map[string]any{}, Body: m.Value}
	for name, v := range m.ApplicationProperties {
		s, _ := v.(string)
		switch name {
		case "operation":
			r.Operation = s
		case "type":
			r.Type = s
		case "name":
			r.Name = s
		case "identity":
			r.Identity = s
		default:
			r.Properties[name] = v
		}
	}
	reply := &goamqp.Message{
		Properties:            &goamqp.MessageProperties{To: m.Properties.ReplyTo, CorrelationID: m.Properties.CorrelationID},
		ApplicationProperties: map[string]any{"statusCode": int32(200), "statusDescription": "OK"},
	}
	answer, err := a.Call(ctx, r)
	var refused *management.StatusError
	switch {
	case errors.As(err, &refused):
		reply.ApplicationProperties["statusCode"] = int32(refused.Code)
		reply.ApplicationProperties["statusDescription"] = refused.Description
		reply.Value = map[string]any{}
	case err != nil:
		reply.ApplicationProperties["statusCode"] = int32(500)
		reply.ApplicationProperties["statusDescription"] = err.Error()
		reply.Value = map[string]any{}
	default:
		reply.Value = answer.Body
	}
	return reply
}
