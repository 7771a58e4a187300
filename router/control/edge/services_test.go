package edge

import (
	"fmt"
	"testing"

	"github.com/rs/zerolog"

	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
	"sluice/router/address"
	"sluice/router/forward"
	"sluice/router/table"
)

func services() *Services {
	t := table.New(func(address.Address) forward.Treatment { return forward.Treatment{} })
	t.Acquire(address.Address{Class: address.Mobile, Phase: address.PhaseDefault, Text: "known"})
	return NewServices(address.Identity{ID: "A"}, t, nil, zerolog.Nop())
}

func lookupRequest(version, opcode any, body any) []byte {
	b, err := (&messaging.Message{
		Properties:            &messaging.Properties{ReplyTo: "me", CorrelationID: "c"},
		ApplicationProperties: encoding.Map{{Key: "version", Value: version}, {Key: "opcode", Value: opcode}},
		Body:                  body,
	}).Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// A lookup is answered with a status, and with what is known.
func TestServices_Lookup(t *testing.T) {
	s := services()
	for _, test := range []struct {
		request []byte
		status  uint32
	}{
		{lookupRequest(uint32(1), uint32(1), []any{"known", true}), lookupFound},
		{lookupRequest(uint32(1), uint32(1), []any{"unknown", true}), lookupNotFound},
		{lookupRequest(uint32(2), uint32(1), []any{"known", true}), lookupBadVersion},
		{lookupRequest(uint32(1), uint32(9), []any{"known", true}), lookupBadOpcode},
		{lookupRequest(uint32(1), uint32(1), []any{"known"}), lookupInvalid},
		{lookupRequest(uint32(1), uint32(1), "known"), lookupInvalid},
	} {
		m, err := messaging.DecodeMessage(s.lookup(test.request))
		if err != nil {
			t.Fatal(err)
		}
		if m.Properties.To != "me" || m.Properties.CorrelationID != "c" || number(m.ApplicationProperties, "status") != int64(test.status) || fmt.Sprint(m.Body) != "[false false]" {
			t.Errorf("want status %d, got %+v, %+v", test.status, m, m.Properties)
		}
	}
	if s.lookup([]byte("nonsense")) != nil || s.lookup(nil) != nil {
		t.Error("a request without an address for the reply is answered")
	}
}

func FuzzServices(f *testing.F) {
	f.Add(lookupRequest(uint32(1), uint32(1), []any{"known", true}))
	f.Add(lookupRequest(int32(1), uint8(1), []any{"x", false}))
	f.Add([]byte("\x00SsE\x00Sw@"))
	s := services()
	f.Fuzz(func(t *testing.T, b []byte) {
		reply := s.lookup(b)
		if reply == nil {
			return
		}
		if _, err := messaging.DecodeMessage(reply); err != nil {
			t.Fatalf("the reply cannot be read: %v", err)
		}
	})
}
