package messaging

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/amqp"
	"sluice/amqp/encoding"
)

func TestMessage(t *testing.T) {
	for name, want := range map[string]*Message{
		"null":      {},
		"value":     {Body: "hello"},
		"map":       {Body: encoding.Map{{Key: "k", Value: []any{uint32(1), nil}}}},
		"data":      {Data: [][]byte{{1, 2}, {}}},
		"sequences": {Sequences: [][]any{{"a"}, {}}},
		"all": {
			Header:                &Header{Durable: true, Priority: 7, HasPriority: true},
			DeliveryAnnotations:   encoding.Map{{Key: amqp.Symbol("d"), Value: int32(1)}},
			MessageAnnotations:    encoding.Map{{Key: amqp.Symbol("m"), Value: true}},
			Properties:            &allProperties,
			ApplicationProperties: encoding.Map{{Key: "a", Value: 1.5}, {Key: "b", Value: encoding.Timestamp(5)}},
			Body:                  []any{"x"},
			Footer:                encoding.Map{},
		},
	} {
		b, err := want.Append([]byte("head"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeMessage(b[4:])
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if b, err := (&Message{Body: struct{}{}, Header: &Header{}}).Append([]byte("head")); err == nil || string(b) != "head" {
		t.Errorf("a value without AMQP type: %q, %v", b, err)
	}
}

func TestMalformedMessages(t *testing.T) {
	for name, wire := range map[string]string{
		"cut off":                            "00 53 77 a1 05 61",
		"descriptor cut off":                 "00 53 77 40 00 53",
		"two values":                         "00 53 77 40 00 53 77 40",
		"data and value":                     "00 53 75 a0 00 00 53 77 40",
		"data after sequence":                "00 53 76 45 00 53 75 a0 00",
		"properties after body":              "00 53 77 40 00 53 73 45",
		"footer twice":                       "00 53 78 c1 01 00 00 53 78 c1 01 00",
		"data of a string":                   "00 53 75 a1 00",
		"sequence of a map":                  "00 53 76 c1 01 00",
		"annotations of a list":              "00 53 72 45",
		"app properties of null's neighbour": "00 53 74 41",
		"header with 6 fields":               "00 53 70 c0 07 06 40 40 40 40 40 40",
		"no section":                         "45",
	} {
		_, err := DecodeMessage(hx(wire))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		checkDecodeError(t, err)
	}
}
