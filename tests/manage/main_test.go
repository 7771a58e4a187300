package manage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) {
	code := m.Run()
	harness.Cleanup()
	os.Exit(code)
}

const prefix = "org.apache.qpid.dispatch."

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// An agent is a management agent as its client sees it.
type agent struct {
	t    testing.TB
	conn *goamqp.Conn
	to   *goamqp.Sender
	from *goamqp.Receiver
	next uint64
}

// dial returns the agent at an address of the router that listens at url.
func dial(t testing.TB, url, address string) *agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	conn, err := goamqp.Dial(ctx, url, nil)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	s, err := conn.NewSession(ctx, nil)
	must(t, err)
	a := &agent{t: t, conn: conn}
	a.from, err = s.NewReceiver(ctx, "", &goamqp.ReceiverOptions{DynamicAddress: true, Credit: 100})
	must(t, err)
	a.to, err = s.NewSender(ctx, address, nil)
	must(t, err)
	return a
}

// A status is a reply that is an error.
type status struct {
	code int32
	text string
}

func (s *status) Error() string { return fmt.Sprintf("%d %s", s.code, s.text) }

func (a *agent) send(ap map[string]any, body any) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	a.next++
	reply := a.from.Address()
	m := &goamqp.Message{Properties: &goamqp.MessageProperties{ReplyTo: &reply, CorrelationID: a.next}, ApplicationProperties: ap, Value: body}
	must(a.t, a.to.Send(ctx, m, nil))
}

func (a *agent) receive() (any, error) {
	a.t.Helper()
	m, err := a.receiveMessage()
	return m.Value, err
}

func (a *agent) receiveMessage() (*goamqp.Message, error) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	m, err := a.from.Receive(ctx, nil)
	must(a.t, err)
	must(a.t, a.from.AcceptMessage(ctx, m))
	if code := m.ApplicationProperties["statusCode"].(int32); code/100 != 2 {
		return m, &status{code, m.ApplicationProperties["statusDescription"].(string)}
	}
	return m, nil
}

// do sends a request, whose properties are "name=value, name=value", and returns
// the body of the reply.
func (a *agent) do(ap string, body any) (any, error) {
	a.t.Helper()
	m := map[string]any{}
	for _, item := range strings.Split(ap, ", ") {
		k, v, _ := strings.Cut(item, "=")
		m[k] = strings.ReplaceAll(v, "...", prefix)
	}
	a.send(m, body)
	return a.receive()
}

func (a *agent) must(ap string, body any) any {
	a.t.Helper()
	v, err := a.do(ap, body)
	if err != nil {
		a.t.Fatalf("%s %v: %v", ap, body, err)
	}
	return v
}

// fails sends a request that must fail so.
func (a *agent) fails(ap string, body any, code int32, text string) {
	a.t.Helper()
	_, err := a.do(ap, body)
	var s *status
	if !errors.As(err, &s) || s.code != code || !strings.Contains(s.text, text) {
		a.t.Errorf("%s %v: got %v, want %d %s", ap, body, err, code, text)
	}
}

// query returns all entities of a type, in pages, as maps.
func (a *agent) query(typ string, names ...string) (list []map[string]any) {
	a.t.Helper()
	attributes := make([]any, len(names))
	for i, n := range names {
		attributes[i] = n
	}
	const page = 500
	for {
		a.send(map[string]any{"operation": "QUERY", "entityType": prefix + typ, "offset": int32(len(list)), "count": int32(page)}, map[string]any{"attributeNames": attributes})
		body, err := a.receive()
		must(a.t, err)
		m := body.(map[string]any)
		columns, rows := m["attributeNames"].([]any), m["results"].([]any)
		for _, r := range rows {
			e := map[string]any{}
			for i, v := range r.([]any) {
				e[columns[i].(string)] = v
			}
			list = append(list, e)
		}
		if len(rows) < page {
			return list
		}
	}
}

// find returns the entities of a type in which an attribute has a value.
func (a *agent) find(typ, attribute string, value any) (list []map[string]any) {
	a.t.Helper()
	for _, e := range a.query(typ) {
		if e[attribute] == value {
			list = append(list, e)
		}
	}
	return list
}

// wait waits until f is true.
func wait(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(harness.Patience); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

func report(t testing.TB, format string, args ...any) {
	t.Helper()
	t.Logf("FIGURE "+format, args...)
}
