package frames

import (
	"encoding/hex"
	"strings"

	"sluice/amqp"
	"sluice/amqp/messaging"
)

// hx turns spaced hexadecimal into bytes.
func hx(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// performative is what all of them have in common.
type performative interface {
	Append(b []byte) []byte
	Decode(body []byte) (payload []byte, err error)
}

// newPerformative returns an empty struct for each descriptor.
var newPerformative = map[Performative]func() performative{
	PerformativeOpen:           func() performative { return new(Open) },
	PerformativeBegin:          func() performative { return new(Begin) },
	PerformativeAttach:         func() performative { return new(Attach) },
	PerformativeFlow:           func() performative { return new(Flow) },
	PerformativeTransfer:       func() performative { return new(Transfer) },
	PerformativeDisposition:    func() performative { return new(Disposition) },
	PerformativeDetach:         func() performative { return new(Detach) },
	PerformativeEnd:            func() performative { return new(End) },
	PerformativeClose:          func() performative { return new(Close) },
	PerformativeSASLMechanisms: func() performative { return new(SASLMechanisms) },
	PerformativeSASLInit:       func() performative { return new(SASLInit) },
	PerformativeSASLChallenge:  func() performative { return new(SASLChallenge) },
	PerformativeSASLResponse:   func() performative { return new(SASLResponse) },
	PerformativeSASLOutcome:    func() performative { return new(SASLOutcome) },
}

var rejected = messaging.Rejected(&amqp.Error{Condition: amqp.CondNotFound})

// vectors are performatives with their smallest encoding and their line in a trace.
var vectors = []struct {
	name  string
	frame performative
	wire  string
	text  string
}{
	{
		"open least",
		&Open{ContainerID: "c", MaxFrameSize: DefaultMaxFrameSize, ChannelMax: DefaultChannelMax},
		"00 53 10 c0 04 01 a1 01 63",
		`[0] open container-id="c"`,
	}, {
		"open all",
		&Open{
			ContainerID: "c", Hostname: "h", MaxFrameSize: 512, ChannelMax: 9, IdleTimeout: 0, HasIdleTimeout: true,
			OutgoingLocales: []amqp.Symbol{"en"}, IncomingLocales: []amqp.Symbol{}, OfferedCapabilities: []amqp.Symbol{"a"},
			DesiredCapabilities: []amqp.Symbol{"b", "d e"}, Properties: hx("c1 07 02 a3 01 6b a1 01 76"),
		},
		`00 53 10 c0 34 0a a1 01 63 a1 01 68 70 00 00 02 00 60 00 09 43 e0 05 01 a3 02 65 6e e0 02 00 a3 e0 04 01 a3 01 61
		 e0 08 02 a3 01 62 03 64 20 65 c1 07 02 a3 01 6b a1 01 76`,
		`[0] open container-id="c" hostname="h" max-frame-size=512 channel-max=9 idle-time-out=0 outgoing-locales=[en] ` +
			`incoming-locales=[] offered-capabilities=[a] desired-capabilities=[b "d e"] properties={k="v"}`,
	}, {
		"begin least",
		&Begin{NextOutgoingID: 1, IncomingWindow: 2, OutgoingWindow: 0, HandleMax: DefaultHandleMax},
		"00 53 11 c0 07 04 40 52 01 52 02 43",
		`[0] begin next-outgoing-id=1 incoming-window=2 outgoing-window=0`,
	}, {
		"begin all",
		&Begin{
			RemoteChannel: 0, HasRemoteChannel: true, NextOutgoingID: 0xfffffff0, IncomingWindow: 2, OutgoingWindow: 3,
			HandleMax: 0, OfferedCapabilities: []amqp.Symbol{"a"}, DesiredCapabilities: []amqp.Symbol{"b"},
			Properties: hx("c1 01 00"),
		},
		"00 53 11 c0 1d 08 60 00 00 70 ff ff ff f0 52 02 52 03 43 e0 04 01 a3 01 61 e0 04 01 a3 01 62 c1 01 00",
		`[0] begin remote-channel=0 next-outgoing-id=4294967280 incoming-window=2 outgoing-window=3 handle-max=0 ` +
			`offered-capabilities=[a] desired-capabilities=[b] properties={}`,
	}, {
		"attach least",
		&Attach{Name: "n", Handle: 0, Role: amqp.RoleReceiver, SenderSettleMode: amqp.SenderSettleMixed},
		"00 53 12 c0 06 03 a1 01 6e 43 41",
		`[0] attach name="n" handle=0 role=receiver`,
	}, {
		"attach all",
		&Attach{
			Name: "n", Handle: 7, Role: amqp.RoleSender, SenderSettleMode: amqp.SenderSettleUnsettled,
			ReceiverSettleMode: amqp.ReceiverSettleSecond,
			Source: &messaging.Source{
				Address: "s", HasAddress: true, Durable: 2, ExpiryPolicy: "never", Timeout: 5, Dynamic: true,
				DynamicNodeProperties: hx("c1 01 00"), DistributionMode: "move", Filter: hx("c1 01 00"),
				DefaultOutcome: hx("00 53 26 45"), Outcomes: []amqp.Symbol{"o"}, Capabilities: []amqp.Symbol{"c"},
			},
			Target: messaging.TargetField{Target: &messaging.Target{
				Address: "", HasAddress: true, Durable: 1, ExpiryPolicy: "never", Timeout: 6, Dynamic: true,
				DynamicNodeProperties: hx("c1 01 00"), Capabilities: []amqp.Symbol{"c"},
			}},
			Unsettled: hx("c1 04 02 a0 00 40"), IncompleteUnsettled: true, InitialDeliveryCount: 0xfffffff0,
			HasInitialDeliveryCount: true, MaxMessageSize: 1 << 32, OfferedCapabilities: []amqp.Symbol{"a"},
			DesiredCapabilities: []amqp.Symbol{"b"}, Properties: hx("c1 01 00"),
		},
		`00 53 12 c0 77 0e a1 01 6e 52 07 42 50 00 50 01
		 00 53 28 c0 29 0b a1 01 73 52 02 a3 05 6e 65 76 65 72 52 05 41 c1 01 00 a3 04 6d 6f 76 65 c1 01 00 00 53 26 45
		 e0 04 01 a3 01 6f a3 01 63
		 00 53 29 c0 15 07 a1 00 52 01 a3 05 6e 65 76 65 72 52 06 41 c1 01 00 a3 01 63
		 c1 04 02 a0 00 40 41 70 ff ff ff f0 80 00 00 00 01 00 00 00 00 e0 04 01 a3 01 61 e0 04 01 a3 01 62 c1 01 00`,
		`[0] attach name="n" handle=7 role=sender snd-settle-mode=unsettled rcv-settle-mode=second ` +
			`source={address="s" durable=2 expiry-policy=never timeout=5 dynamic dynamic-node-properties={} ` +
			`distribution-mode=move filter={} default-outcome=@38([]) outcomes=[o] capabilities=[c]} ` +
			`target={address="" durable=1 expiry-policy=never timeout=6 dynamic dynamic-node-properties={} capabilities=[c]} ` +
			`unsettled={0x=null} incomplete-unsettled initial-delivery-count=4294967280 max-message-size=4294967296 ` +
			`offered-capabilities=[a] desired-capabilities=[b] properties={}`,
	}, {
		"attach coordinator",
		&Attach{
			Name: "n", Role: amqp.RoleSender, SenderSettleMode: amqp.SenderSettleMixed, HasInitialDeliveryCount: true,
			Source: &messaging.Source{},
			Target: messaging.TargetField{Coordinator: &messaging.Coordinator{Capabilities: []amqp.Symbol{"c"}}},
		},
		`00 53 12 c0 1b 0a a1 01 6e 43 42 40 40 00 53 28 45 00 53 30 c0 07 01 e0 04 01 a3 01 63 40 40 43`,
		`[0] attach name="n" handle=0 role=sender source={} coordinator={capabilities=[c]} initial-delivery-count=0`,
	}, {
		"flow of session",
		&Flow{NextIncomingID: 0, HasNextIncomingID: true, IncomingWindow: 1, NextOutgoingID: 2, OutgoingWindow: 256},
		"00 53 13 c0 0b 04 43 52 01 52 02 70 00 00 01 00",
		`[0] flow next-incoming-id=0 incoming-window=1 next-outgoing-id=2 outgoing-window=256`,
	}, {
		"flow of link",
		&Flow{
			NextIncomingID: 1, HasNextIncomingID: true, IncomingWindow: 2, NextOutgoingID: 3, OutgoingWindow: 4,
			Handle: 0, HasHandle: true, DeliveryCount: 6, HasDeliveryCount: true, LinkCredit: 7, HasLinkCredit: true,
		},
		"00 53 13 c0 0e 07 52 01 52 02 52 03 52 04 43 52 06 52 07",
		`[0] flow next-incoming-id=1 incoming-window=2 next-outgoing-id=3 outgoing-window=4 handle=0 delivery-count=6 link-credit=7`,
	}, {
		"flow all",
		&Flow{
			NextIncomingID: 1, HasNextIncomingID: true, IncomingWindow: 2, NextOutgoingID: 3, OutgoingWindow: 4,
			Handle: 5, HasHandle: true, DeliveryCount: 6, HasDeliveryCount: true, LinkCredit: 7, HasLinkCredit: true,
			Available: 0, HasAvailable: true, Drain: true, Echo: true, Properties: hx("c1 01 00"),
		},
		"00 53 13 c0 15 0b 52 01 52 02 52 03 52 04 52 05 52 06 52 07 43 41 41 c1 01 00",
		`[0] flow next-incoming-id=1 incoming-window=2 next-outgoing-id=3 outgoing-window=4 handle=5 delivery-count=6 ` +
			`link-credit=7 available=0 drain echo properties={}`,
	}, {
		"flow before begin, with echo",
		&Flow{IncomingWindow: 2, NextOutgoingID: 3, OutgoingWindow: 4, Echo: true},
		"00 53 13 c0 0e 0a 40 52 02 52 03 52 04 40 40 40 40 40 41",
		`[0] flow incoming-window=2 next-outgoing-id=3 outgoing-window=4 echo`,
	}, {
		"transfer continuation",
		&Transfer{Handle: 1},
		"00 53 14 c0 03 01 52 01",
		`[0] transfer handle=1 payload=0`,
	}, {
		"transfer usual",
		&Transfer{
			Handle: 0, DeliveryID: 5, HasDeliveryID: true, DeliveryTag: hx("01 02 03 04"), HasDeliveryTag: true,
			MessageFormat: 0, HasMessageFormat: true, Settled: false, HasSettled: true, More: true,
		},
		"00 53 14 c0 0d 06 43 52 05 a0 04 01 02 03 04 43 42 41",
		`[0] transfer handle=0 delivery-id=5 delivery-tag=0x01020304 message-format=0 settled=false more payload=0`,
	}, {
		"transfer all",
		&Transfer{
			Handle: 300, DeliveryID: 0xffffffff, HasDeliveryID: true, DeliveryTag: []byte{}, HasDeliveryTag: true,
			MessageFormat: 0x80013700, HasMessageFormat: true, Settled: true, HasSettled: true, More: true,
			ReceiverSettleMode: amqp.ReceiverSettleSecond, HasReceiverSettleMode: true, State: rejected,
			Resume: true, Aborted: true, Batchable: true,
		},
		`00 53 14 c0 35 0b 70 00 00 01 2c 70 ff ff ff ff a0 00 70 80 01 37 00 41 41 50 01
		 00 53 25 c0 17 01 00 53 1d c0 11 01 a3 0e 616d71703a6e6f742d666f756e64 41 41 41`,
		`[0] transfer handle=300 delivery-id=4294967295 delivery-tag=0x message-format=2147563264 settled=true more ` +
			`rcv-settle-mode=second state=rejected[@29([amqp:not-found])] resume aborted batchable payload=0`,
	}, {
		"transfer aborted",
		&Transfer{Handle: 1, Aborted: true},
		"00 53 14 c0 0c 0a 52 01 40 40 40 40 40 40 40 40 41",
		`[0] transfer handle=1 aborted payload=0`,
	}, {
		"transfer with state",
		&Transfer{Handle: 1, State: messaging.Accepted},
		"00 53 14 c0 0d 08 52 01 40 40 40 40 40 40 00 53 24 45",
		`[0] transfer handle=1 state=accepted payload=0`,
	}, {
		"disposition usual",
		&Disposition{Role: amqp.RoleReceiver, First: 5, Last: 9, HasLast: true, Settled: true, State: messaging.Accepted},
		"00 53 15 c0 0b 05 41 52 05 52 09 41 00 53 24 45",
		`[0] disposition role=receiver first=5 last=9 settled state=accepted`,
	}, {
		"disposition across the wrap",
		&Disposition{Role: amqp.RoleReceiver, First: 0xfffffffa, Last: 5, HasLast: true, State: messaging.Released},
		"00 53 15 c0 0e 05 41 70 ff ff ff fa 52 05 40 00 53 26 45",
		`[0] disposition role=receiver first=4294967290 last=5 state=released`,
	}, {
		"disposition least",
		&Disposition{Role: amqp.RoleSender, First: 0, Last: 0},
		"00 53 15 c0 03 02 42 43",
		`[0] disposition role=sender first=0`,
	}, {
		"disposition all",
		&Disposition{Role: amqp.RoleSender, First: 3, Last: 3, HasLast: true, State: messaging.Modified(true, true, hx("c1 01 00")), Batchable: true},
		"00 53 15 c0 13 06 42 52 03 52 03 40 00 53 27 c0 06 03 41 41 c1 01 00 41",
		`[0] disposition role=sender first=3 last=3 state=modified[true true {}] batchable`,
	}, {
		"disposition of received",
		&Disposition{Role: amqp.RoleReceiver, First: 3, Last: 3, State: messaging.Received(1, 500)},
		"00 53 15 c0 17 05 41 52 03 40 40 00 53 23 c0 0c 02 52 01 80 00 00 00 00 00 00 01 f4",
		`[0] disposition role=receiver first=3 state=received[1 500]`,
	}, {
		"detach least",
		&Detach{Handle: 0},
		"00 53 16 c0 02 01 43",
		`[0] detach handle=0`,
	}, {
		"detach all",
		&Detach{Handle: 1, Closed: true, Error: &amqp.Error{Condition: "a:b", Description: "d\n", Info: hx("c1 01 00")}},
		"00 53 16 c0 16 03 52 01 41 00 53 1d c0 0d 03 a3 03 61 3a 62 a1 02 64 0a c1 01 00",
		`[0] detach handle=1 closed error={condition=a:b description="d\n" info={}}`,
	}, {
		"end", &End{}, "00 53 17 45", `[0] end`,
	}, {
		"end with error", &End{Error: &amqp.Error{Condition: "a:b"}},
		"00 53 17 c0 0c 01 00 53 1d c0 06 01 a3 03 61 3a 62", `[0] end error={condition=a:b}`,
	}, {
		"close", &Close{}, "00 53 18 45", `[0] close`,
	}, {
		"close with error", &Close{Error: &amqp.Error{Condition: "a:b"}},
		"00 53 18 c0 0c 01 00 53 1d c0 06 01 a3 03 61 3a 62", `[0] close error={condition=a:b}`,
	}, {
		"sasl-mechanisms", &SASLMechanisms{Mechanisms: []amqp.Symbol{"PLAIN", "X"}},
		"00 53 40 c0 0d 01 e0 0a 02 a3 05 50 4c 41 49 4e 01 58", `[0] sasl-mechanisms sasl-server-mechanisms=[PLAIN X]`,
	}, {
		"sasl-init", &SASLInit{Mechanism: "X"}, "00 53 41 c0 04 01 a3 01 58", `[0] sasl-init mechanism=X`,
	}, {
		"sasl-init empty response", &SASLInit{Mechanism: "X", InitialResponse: []byte{}},
		"00 53 41 c0 06 02 a3 01 58 a0 00", `[0] sasl-init mechanism=X initial-response=(masked)`,
	}, {
		"sasl-init all", &SASLInit{Mechanism: "X", InitialResponse: []byte("\x00u\x00secret"), Hostname: "h"},
		"00 53 41 c0 12 03 a3 01 58 a0 09 00 75 00 73 65 63 72 65 74 a1 01 68",
		`[0] sasl-init mechanism=X initial-response=(masked) hostname="h"`,
	}, {
		"sasl-challenge empty", &SASLChallenge{Challenge: []byte{}}, "00 53 42 c0 03 01 a0 00", `[0] sasl-challenge challenge=(0 bytes)`,
	}, {
		"sasl-response", &SASLResponse{Response: []byte("secret")},
		"00 53 43 c0 09 01 a0 06 73 65 63 72 65 74", `[0] sasl-response response=(masked)`,
	}, {
		"sasl-outcome", &SASLOutcome{Code: SASLCodeAuth}, "00 53 44 c0 03 01 50 01", `[0] sasl-outcome code=1`,
	}, {
		"sasl-outcome all", &SASLOutcome{Code: SASLCodeOK, AdditionalData: []byte{1}},
		"00 53 44 c0 06 02 50 00 a0 01 01", `[0] sasl-outcome code=0 additional-data=(1 bytes)`,
	},
}
