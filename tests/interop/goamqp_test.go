package interop

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	goamqp "github.com/Azure/go-amqp"

	"sluice/amqp"
	"sluice/tests/harness"
	"sluice/tests/raw"
)

// goClient is a go-amqp connection with one session.
type goClient struct {
	t       testing.TB
	conn    *goamqp.Conn
	session *goamqp.Session
}

func dialGo(t testing.TB, url string, o *goamqp.ConnOptions) *goClient {
	t.Helper()
	conn, err := goamqp.Dial(ctx(t), url, o)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	s, err := conn.NewSession(ctx(t), nil)
	must(t, err)
	return &goClient{t, conn, s}
}

func (c *goClient) sender(address string, o *goamqp.SenderOptions) *goamqp.Sender {
	c.t.Helper()
	s, err := c.session.NewSender(ctx(c.t), address, o)
	must(c.t, err)
	return s
}

func (c *goClient) receiver(address string, o *goamqp.ReceiverOptions) *goamqp.Receiver {
	c.t.Helper()
	r, err := c.session.NewReceiver(ctx(c.t), address, o)
	must(c.t, err)
	return r
}

// send sends a message and returns its outcome by the time that it is known.
func (c *goClient) send(s *goamqp.Sender, m *goamqp.Message) <-chan goamqp.DeliveryState {
	c.t.Helper()
	receipt, err := s.SendWithReceipt(ctx(c.t), m, nil)
	must(c.t, err)
	out := make(chan goamqp.DeliveryState, 1)
	go func() {
		defer close(out)
		if state, err := receipt.Wait(context.Background()); err == nil {
			out <- state
		}
	}()
	return out
}

func (c *goClient) receive(r *goamqp.Receiver) *goamqp.Message {
	c.t.Helper()
	m, err := r.Receive(ctx(c.t), nil)
	must(c.t, err)
	return m
}

// accept receives and accepts.
func (c *goClient) accept(r *goamqp.Receiver) *goamqp.Message {
	c.t.Helper()
	m := c.receive(r)
	must(c.t, r.AcceptMessage(ctx(c.t), m))
	return m
}

func text(s string) *goamqp.Message { return goamqp.NewMessage([]byte(s)) }

func to(address, s string) *goamqp.Message {
	m := text(s)
	m.Properties = &goamqp.MessageProperties{To: &address}
	return m
}

func (c *goClient) wantAccepted(outcome <-chan goamqp.DeliveryState) {
	c.t.Helper()
	if state := <-outcome; !reflect.DeepEqual(state, &goamqp.StateAccepted{}) {
		c.t.Errorf("outcome %T %+v, want accepted", state, state)
	}
}

func TestGoAMQP(t *testing.T) {
	s := newSecrets(t)
	b := harness.Start(t, s.config())
	for name, f := range map[string]func(*goClient){
		"send_receive": goSendReceive, "anonymous": goAnonymous, "request_response": goRequestResponse,
		"drain": goDrain, "presettled": goPresettled, "large": goLarge, "outcomes": goOutcomes,
	} {
		t.Run(name, func(t *testing.T) { f(dialGo(t, b.URL(), nil)) })
	}
	t.Run("transactions", func(t *testing.T) {
		// go-amqp knows no transactions.
		c, err := raw.Dial(b.AMQP[open], raw.Options{})
		must(t, err)
		defer c.Abort()
		_, err = c.MustSession().Sender("", raw.SenderOptions{Name: "txn", Coordinator: true})
		var d *raw.DetachError
		if !errors.As(err, &d) || d.Err == nil || d.Err.Condition != amqp.CondNotImplemented {
			t.Errorf("the coordinator was answered with %v", err)
		}
	})
	t.Run("tls_external", func(t *testing.T) {
		c := dialGo(t, "amqps://"+at(b, external), &goamqp.ConnOptions{TLSConfig: s.client(), SASLType: goamqp.SASLTypeExternal("")})
		goExchange(c)
		if !strings.Contains(b.Log(), "user=client-7") {
			t.Errorf("the user is not that of the certificate:\n%s", b.Log())
		}
	})
	t.Run("tls_without_certificate", func(t *testing.T) {
		tc := s.client()
		tc.Certificates = nil
		if _, err := goamqp.Dial(ctx(t), "amqps://"+at(b, external), &goamqp.ConnOptions{TLSConfig: tc}); err == nil {
			t.Error("a client without a certificate was let in")
		}
	})
	t.Run("plain", func(t *testing.T) {
		goExchange(dialGo(t, "amqp://"+b.AMQP[plain], &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain(user, password)}))
	})
	t.Run("plain_wrong", func(t *testing.T) {
		for _, p := range []string{"wrong", "", password + " "} {
			_, err := goamqp.Dial(ctx(t), "amqp://"+b.AMQP[plain], &goamqp.ConnOptions{SASLType: goamqp.SASLTypePlain(user, p)})
			if err == nil {
				t.Errorf("the password %q was accepted", p)
			}
		}
		if _, err := goamqp.Dial(ctx(t), "amqp://"+b.AMQP[plain], nil); err == nil {
			t.Error("a client without SASL was let in")
		}
	})
}

// client is the TLS configuration of a client with a certificate.
func (s *secrets) client() *tls.Config {
	cert, err := tls.LoadX509KeyPair(s.path("client.pem"), s.path("client.key"))
	must(s.t, err)
	return &tls.Config{RootCAs: s.pool(), Certificates: []tls.Certificate{cert}}
}

func (s *secrets) pool() *x509.CertPool {
	pem, err := os.ReadFile(s.path("ca.pem"))
	must(s.t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return pool
}

func goExchange(c *goClient) {
	in := c.receiver("go.secure", nil)
	outcome := c.send(c.sender("go.secure", nil), text("secret"))
	if m := c.accept(in); string(m.GetData()) != "secret" {
		c.t.Errorf("received %q", m.GetData())
	}
	c.wantAccepted(outcome)
	must(c.t, in.Close(ctx(c.t))) // others may do the same
}

func goSendReceive(c *goClient) {
	in := c.receiver("go.queue", nil)
	out := c.sender("go.queue", nil)
	for i := range 100 {
		m := text(fmt.Sprint("message ", i))
		m.Header = &goamqp.MessageHeader{Durable: true, Priority: 7}
		m.Annotations = goamqp.Annotations{"x-opt-a": "b"}
		m.ApplicationProperties = map[string]any{"k": int64(i)}
		outcome := c.send(out, m)
		got := c.accept(in)
		if !bytes.Equal(got.GetData(), m.GetData()) || !reflect.DeepEqual(got.Header, m.Header) ||
			!reflect.DeepEqual(got.Annotations, m.Annotations) || !reflect.DeepEqual(got.ApplicationProperties, m.ApplicationProperties) {
			c.t.Errorf("received %+v, want %+v", got, m)
		}
		c.wantAccepted(outcome)
	}
}

func goAnonymous(c *goClient) {
	x, y := c.receiver("go.x", nil), c.receiver("go.y", nil)
	out := c.sender("", nil)
	for i := range 10 {
		for address, in := range map[string]*goamqp.Receiver{"go.x": x, "go.y": y} {
			want := fmt.Sprint(address, i)
			outcome := c.send(out, to(address, want))
			if got := string(c.accept(in).GetData()); got != want {
				c.t.Errorf("received %q, want %q", got, want)
			}
			c.wantAccepted(outcome)
		}
	}
	if state := <-c.send(out, to("go.nobody", "lost")); !reflect.DeepEqual(state, &goamqp.StateReleased{}) {
		c.t.Errorf("a message for nobody: %T", state)
	}
}

func goRequestResponse(c *goClient) {
	service := c.receiver("go.service", nil)
	replies := c.receiver("", &goamqp.ReceiverOptions{DynamicAddress: true})
	if replies.Address() == "" {
		c.t.Fatal("no address for the dynamic source")
	}
	requests, answers := c.sender("go.service", nil), c.sender("", nil)
	for i := range 10 {
		address := replies.Address()
		request := text("request")
		request.Properties = &goamqp.MessageProperties{ReplyTo: &address, CorrelationID: uint64(i)}
		asked := c.send(requests, request)
		got := c.accept(service)
		answer := to(*got.Properties.ReplyTo, "answer")
		answer.Properties.CorrelationID = got.Properties.CorrelationID
		answered := c.send(answers, answer)
		if r := c.accept(replies); r.Properties.CorrelationID != uint64(i) {
			c.t.Errorf("the answer is to %v, want %d", r.Properties.CorrelationID, i)
		}
		c.wantAccepted(asked)
		c.wantAccepted(answered)
	}
}

func goDrain(c *goClient) {
	in := c.receiver("go.drain", &goamqp.ReceiverOptions{Credit: -1})
	out := c.sender("go.drain", nil)
	outcome := c.send(out, text("waiting"))
	// The first message shows that the credit has been sent, which IssueCredit
	// leaves to a goroutine.
	must(c.t, in.IssueCredit(10))
	c.accept(in)
	c.wantAccepted(outcome)
	must(c.t, in.DrainCredit(ctx(c.t), nil))
	// The credit is gone: what comes now waits for more.
	outcome = c.send(out, text("later"))
	select {
	case state := <-outcome:
		c.t.Errorf("%T without credit", state)
	default:
	}
	must(c.t, in.IssueCredit(1))
	c.accept(in)
	c.wantAccepted(outcome)
}

func goPresettled(c *goClient) {
	const n = 5000
	settled := goamqp.SenderSettleModeSettled
	in := c.receiver("go.presettled", &goamqp.ReceiverOptions{Credit: 100, SettlementMode: goamqp.ReceiverSettleModeFirst.Ptr()})
	out := c.sender("go.presettled", &goamqp.SenderOptions{SettlementMode: &settled})
	done := make(chan error, 1)
	go func() {
		for i := range n {
			if err := out.Send(context.Background(), text(fmt.Sprint(i)), nil); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range n {
		if got := string(c.accept(in).GetData()); got != fmt.Sprint(i) {
			c.t.Fatalf("received %s, want %d", got, i)
		}
	}
	must(c.t, <-done)
}

func goLarge(c *goClient) {
	body := make([]byte, 64<<20)
	rand.Read(body)
	in := c.receiver("go.large", nil)
	out := c.sender("go.large", nil)
	outcome := c.send(out, goamqp.NewMessage(body))
	if got := c.accept(in).GetData(); sha256.Sum256(got) != sha256.Sum256(body) {
		c.t.Errorf("%d bytes received are not the %d sent", len(got), len(body))
	}
	c.wantAccepted(outcome)
}

func goOutcomes(c *goClient) {
	in := c.receiver("go.outcomes", nil)
	out := c.sender("go.outcomes", nil)
	reject := &goamqp.Error{Condition: "test:unwanted", Description: "not this one", Info: map[string]any{"line": int64(7)}}
	modify := &goamqp.ModifyMessageOptions{DeliveryFailed: true, UndeliverableHere: true, Annotations: goamqp.Annotations{"x-opt-why": "busy"}}
	for _, o := range []struct {
		settle func(*goamqp.Message) error
		want   goamqp.DeliveryState
	}{
		{func(m *goamqp.Message) error { return in.AcceptMessage(ctx(c.t), m) }, &goamqp.StateAccepted{}},
		{func(m *goamqp.Message) error { return in.RejectMessage(ctx(c.t), m, reject) }, &goamqp.StateRejected{Error: reject}},
		{func(m *goamqp.Message) error { return in.ReleaseMessage(ctx(c.t), m) }, &goamqp.StateReleased{}},
		{func(m *goamqp.Message) error { return in.ModifyMessage(ctx(c.t), m, modify) }, &goamqp.StateModified{
			DeliveryFailed: true, UndeliverableHere: true, MessageAnnotations: goamqp.Annotations{"x-opt-why": "busy"},
		}},
	} {
		outcome := c.send(out, text("x"))
		must(c.t, o.settle(c.receive(in)))
		if got := <-outcome; !reflect.DeepEqual(got, o.want) {
			c.t.Errorf("outcome %#v, want %#v", got, o.want)
		}
	}
}
