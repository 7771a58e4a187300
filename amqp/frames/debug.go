package frames

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"sluice/amqp"
	"sluice/amqp/encoding"
	"sluice/amqp/messaging"
)

// maxFormat is the length in bytes after which Format cuts a line off. A trace is for reading, and the peer decides how
// much there would be to print.
const maxFormat = 2048

// Format returns a frame body as one printable line, for traces: the channel, the performative, and the fields that are
// present. Payload appears as its length, and what a SASL client sends to prove who it is does not appear. The body may be
// malformed.
func Format(channel uint16, body []byte) string {
	l := line{b: append(strconv.AppendUint([]byte{'['}, uint64(channel), 10), ']')}
	if len(body) == 0 {
		return string(append(l.b, " heartbeat"...))
	}
	code, _, err := PeekPerformative(body)
	if err == nil {
		l.b = append(l.b, ' ')
		l.b = append(l.b, code.String()...)
		err = l.performative(code, body)
	}
	if err != nil {
		l.b = append(l.b, " malformed: "...)
		l.text(err.Error())
	}
	if len(l.b) > maxFormat {
		l.b = append(l.b[:maxFormat], "..."...)
	}
	return string(l.b)
}

// performative decodes body and prints its fields.
func (l *line) performative(code Performative, body []byte) error {
	switch code {
	case PerformativeOpen:
		return show(l, &Open{}, body, (*line).open)
	case PerformativeBegin:
		return show(l, &Begin{}, body, (*line).begin)
	case PerformativeAttach:
		return show(l, &Attach{}, body, (*line).attach)
	case PerformativeFlow:
		return show(l, &Flow{}, body, (*line).flow)
	case PerformativeTransfer:
		return show(l, &Transfer{}, body, (*line).transfer)
	case PerformativeDisposition:
		return show(l, &Disposition{}, body, (*line).disposition)
	case PerformativeDetach:
		return show(l, &Detach{}, body, func(l *line, f *Detach) {
			l.uint("handle", f.Handle, true)
			l.flag("closed", f.Closed)
			l.error(f.Error)
		})
	case PerformativeEnd:
		return show(l, &End{}, body, func(l *line, f *End) { l.error(f.Error) })
	case PerformativeClose:
		return show(l, &Close{}, body, func(l *line, f *Close) { l.error(f.Error) })
	case PerformativeSASLMechanisms:
		return show(l, &SASLMechanisms{}, body, func(l *line, f *SASLMechanisms) {
			l.symbols("sasl-server-mechanisms", f.Mechanisms)
		})
	case PerformativeSASLInit:
		return show(l, &SASLInit{}, body, func(l *line, f *SASLInit) {
			l.symbol("mechanism", f.Mechanism)
			if f.InitialResponse != nil {
				l.plain("initial-response", masked)
			}
			l.string("hostname", f.Hostname, f.Hostname != "")
		})
	case PerformativeSASLChallenge:
		return show(l, &SASLChallenge{}, body, func(l *line, f *SASLChallenge) {
			l.plain("challenge", fmt.Sprintf("(%d bytes)", len(f.Challenge)))
		})
	case PerformativeSASLResponse:
		return show(l, &SASLResponse{}, body, func(l *line, f *SASLResponse) { l.plain("response", masked) })
	case PerformativeSASLOutcome:
		return show(l, &SASLOutcome{}, body, func(l *line, f *SASLOutcome) {
			l.uint("code", uint32(f.Code), true)
			if f.AdditionalData != nil {
				l.plain("additional-data", fmt.Sprintf("(%d bytes)", len(f.AdditionalData)))
			}
		})
	}
	return nil
}

// masked stands for secrets; not even their length is shown.
const masked = "(masked)"

// show decodes body into f and prints it with fields, followed by the size of the payload if the performative has one.
func show[F interface {
	Decode(body []byte) ([]byte, error)
}](l *line, f F, body []byte, fields func(*line, F)) error {
	payload, err := f.Decode(body)
	if err != nil {
		return err
	}
	fields(l, f)
	if payload != nil {
		l.plain("payload", strconv.Itoa(len(payload)))
	}
	return nil
}

func (l *line) open(f *Open) {
	l.string("container-id", f.ContainerID, true)
	l.string("hostname", f.Hostname, f.Hostname != "")
	l.uint("max-frame-size", f.MaxFrameSize, f.MaxFrameSize != DefaultMaxFrameSize)
	l.uint("channel-max", uint32(f.ChannelMax), f.ChannelMax != DefaultChannelMax)
	l.uint("idle-time-out", uint32(f.IdleTimeout), f.HasIdleTimeout)
	l.symbols("outgoing-locales", f.OutgoingLocales)
	l.symbols("incoming-locales", f.IncomingLocales)
	l.symbols("offered-capabilities", f.OfferedCapabilities)
	l.symbols("desired-capabilities", f.DesiredCapabilities)
	l.raw("properties", f.Properties)
}

func (l *line) begin(f *Begin) {
	l.uint("remote-channel", uint32(f.RemoteChannel), f.HasRemoteChannel)
	l.uint("next-outgoing-id", uint32(f.NextOutgoingID), true)
	l.uint("incoming-window", f.IncomingWindow, true)
	l.uint("outgoing-window", f.OutgoingWindow, true)
	l.uint("handle-max", f.HandleMax, f.HandleMax != DefaultHandleMax)
	l.symbols("offered-capabilities", f.OfferedCapabilities)
	l.symbols("desired-capabilities", f.DesiredCapabilities)
	l.raw("properties", f.Properties)
}

func (l *line) attach(f *Attach) {
	l.string("name", f.Name, true)
	l.uint("handle", f.Handle, true)
	l.plain("role", f.Role.String())
	if f.SenderSettleMode != amqp.SenderSettleMixed {
		l.plain("snd-settle-mode", f.SenderSettleMode.String())
	}
	if f.ReceiverSettleMode != amqp.ReceiverSettleFirst {
		l.plain("rcv-settle-mode", f.ReceiverSettleMode.String())
	}
	if s := f.Source; s != nil {
		l.begun("source")
		l.string("address", s.Address, s.HasAddress)
		l.uint("durable", s.Durable, s.Durable != 0)
		l.symbol("expiry-policy", s.ExpiryPolicy)
		l.uint("timeout", s.Timeout, s.Timeout != 0)
		l.flag("dynamic", s.Dynamic)
		l.raw("dynamic-node-properties", s.DynamicNodeProperties)
		l.symbol("distribution-mode", s.DistributionMode)
		l.raw("filter", s.Filter)
		l.raw("default-outcome", s.DefaultOutcome)
		l.symbols("outcomes", s.Outcomes)
		l.symbols("capabilities", s.Capabilities)
		l.ended()
	}
	switch {
	case f.Target.Target != nil:
		t := f.Target.Target
		l.begun("target")
		l.string("address", t.Address, t.HasAddress)
		l.uint("durable", t.Durable, t.Durable != 0)
		l.symbol("expiry-policy", t.ExpiryPolicy)
		l.uint("timeout", t.Timeout, t.Timeout != 0)
		l.flag("dynamic", t.Dynamic)
		l.raw("dynamic-node-properties", t.DynamicNodeProperties)
		l.symbols("capabilities", t.Capabilities)
		l.ended()
	case f.Target.Coordinator != nil:
		l.begun("coordinator")
		l.symbols("capabilities", f.Target.Coordinator.Capabilities)
		l.ended()
	case f.Target.Unknown:
		l.plain("target", "(unknown)")
	}
	l.raw("unsettled", f.Unsettled)
	l.flag("incomplete-unsettled", f.IncompleteUnsettled)
	l.uint("initial-delivery-count", uint32(f.InitialDeliveryCount), f.HasInitialDeliveryCount)
	if f.MaxMessageSize != 0 {
		l.plain("max-message-size", strconv.FormatUint(f.MaxMessageSize, 10))
	}
	l.symbols("offered-capabilities", f.OfferedCapabilities)
	l.symbols("desired-capabilities", f.DesiredCapabilities)
	l.raw("properties", f.Properties)
}

func (l *line) flow(f *Flow) {
	l.uint("next-incoming-id", uint32(f.NextIncomingID), f.HasNextIncomingID)
	l.uint("incoming-window", f.IncomingWindow, true)
	l.uint("next-outgoing-id", uint32(f.NextOutgoingID), true)
	l.uint("outgoing-window", f.OutgoingWindow, true)
	l.uint("handle", f.Handle, f.HasHandle)
	l.uint("delivery-count", uint32(f.DeliveryCount), f.HasDeliveryCount)
	l.uint("link-credit", f.LinkCredit, f.HasLinkCredit)
	l.uint("available", f.Available, f.HasAvailable)
	l.flag("drain", f.Drain)
	l.flag("echo", f.Echo)
	l.raw("properties", f.Properties)
}

func (l *line) transfer(f *Transfer) {
	l.uint("handle", f.Handle, true)
	l.uint("delivery-id", uint32(f.DeliveryID), f.HasDeliveryID)
	if f.HasDeliveryTag {
		l.key("delivery-tag")
		l.hex(f.DeliveryTag)
	}
	l.uint("message-format", f.MessageFormat, f.HasMessageFormat)
	if f.HasSettled {
		l.plain("settled", strconv.FormatBool(f.Settled))
	}
	l.flag("more", f.More)
	if f.HasReceiverSettleMode {
		l.plain("rcv-settle-mode", f.ReceiverSettleMode.String())
	}
	l.state(f.State)
	l.flag("resume", f.Resume)
	l.flag("aborted", f.Aborted)
	l.flag("batchable", f.Batchable)
}

func (l *line) disposition(f *Disposition) {
	l.plain("role", f.Role.String())
	l.uint("first", uint32(f.First), true)
	l.uint("last", uint32(f.Last), f.HasLast)
	l.flag("settled", f.Settled)
	l.state(f.State)
	l.flag("batchable", f.Batchable)
}

// line builds the text. Once it is long enough nothing more is added, so a large frame costs no more than a small one.
type line struct{ b []byte }

func (l *line) full() bool { return len(l.b) > maxFormat }

func (l *line) key(name string) {
	if last := l.b[len(l.b)-1]; last != '{' {
		l.b = append(l.b, ' ')
	}
	l.b = append(l.b, name...)
	l.b = append(l.b, '=')
}

// plain prints a value that we made ourselves.
func (l *line) plain(name, v string) {
	l.key(name)
	l.b = append(l.b, v...)
}

func (l *line) uint(name string, v uint32, has bool) {
	if has {
		l.key(name)
		l.b = strconv.AppendUint(l.b, uint64(v), 10)
	}
}

// flag prints the name alone, when v is set.
func (l *line) flag(name string, v bool) {
	if v {
		l.key(name)
		l.b = l.b[:len(l.b)-1]
	}
}

// text prints a value of the peer's, quoted, since it may hold anything.
func (l *line) text(v string) {
	if l.full() {
		return
	}
	if len(v) > maxFormat {
		v = v[:maxFormat]
	}
	l.b = strconv.AppendQuoteToASCII(l.b, v)
}

func (l *line) hex(v []byte) {
	if l.full() {
		return
	}
	if len(v) > maxFormat {
		v = v[:maxFormat]
	}
	l.b = hex.AppendEncode(append(l.b, "0x"...), v)
}

func (l *line) string(name, v string, has bool) {
	if has {
		l.key(name)
		l.text(v)
	}
}

// name prints a symbol bare when it looks like one.
func (l *line) name(s amqp.Symbol) {
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == ',' || c == '[' || c == ']' {
			l.text(string(s))
			return
		}
	}
	if s == "" {
		l.text("")
	} else if !l.full() {
		l.b = append(l.b, s...)
	}
}

func (l *line) symbol(name string, v amqp.Symbol) {
	if v != "" {
		l.key(name)
		l.name(v)
	}
}

func (l *line) symbols(name string, v []amqp.Symbol) {
	if v != nil {
		l.key(name)
		l.value(v)
	}
}

func (l *line) begun(name string) {
	l.key(name)
	l.b = append(l.b, '{')
}

func (l *line) ended() { l.b = append(l.b, '}') }

func (l *line) error(e *amqp.Error) {
	if e == nil {
		return
	}
	l.begun("error")
	l.symbol("condition", amqp.Symbol(e.Condition))
	l.string("description", e.Description, e.Description != "")
	l.raw("info", e.Info)
	l.ended()
}

func (l *line) state(s messaging.DeliveryState) {
	if s.Kind == messaging.StateNone {
		return
	}
	l.plain("state", s.Kind.String())
	if s.Raw == nil {
		return
	}
	d := encoding.NewDecoder(s.Raw)
	v, err := d.Any()
	if described, ok := v.(encoding.Described); ok && err == nil {
		l.value(described.Value)
	}
}

// raw prints an encoded value.
func (l *line) raw(name string, v []byte) {
	if v == nil || l.full() {
		return
	}
	l.key(name)
	d := encoding.NewDecoder(v)
	if v, err := d.Any(); err != nil {
		l.text(err.Error())
	} else {
		l.value(v)
	}
}

func (l *line) value(v any) {
	if l.full() {
		return
	}
	switch v := v.(type) {
	case nil:
		l.b = append(l.b, "null"...)
	case string:
		l.text(v)
	case amqp.Symbol:
		l.name(v)
	case []byte:
		l.hex(v)
	case encoding.UUID:
		l.hex(v[:])
	case encoding.Map:
		l.b = append(l.b, '{')
		for i, e := range v {
			if l.full() {
				break
			}
			if i > 0 {
				l.b = append(l.b, ' ')
			}
			l.value(e.Key)
			l.b = append(l.b, '=')
			l.value(e.Value)
		}
		l.b = append(l.b, '}')
	case []any:
		l.b = append(l.b, '[')
		for i, e := range v {
			if l.full() {
				break
			}
			if i > 0 {
				l.b = append(l.b, ' ')
			}
			l.value(e)
		}
		l.b = append(l.b, ']')
	case []amqp.Symbol:
		l.b = append(l.b, '[')
		for i, s := range v {
			if l.full() {
				break
			}
			if i > 0 {
				l.b = append(l.b, ' ')
			}
			l.name(s)
		}
		l.b = append(l.b, ']')
	case encoding.Described:
		l.b = append(l.b, '@')
		l.value(v.Descriptor)
		l.b = append(l.b, '(')
		l.value(v.Value)
		l.b = append(l.b, ')')
	case encoding.Array:
		l.b = append(l.b, "array"...)
		if v.Elements == nil {
			l.b = fmt.Appendf(l.b, "(%d of 0x%x)", v.Count, v.Constructor)
			return
		}
		l.value(v.Elements)
	default:
		// Numbers, booleans, decimals: all of bounded length.
		l.b = fmt.Appendf(l.b, "%v", v)
	}
}
