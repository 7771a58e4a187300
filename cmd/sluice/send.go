package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/client"
)

func sendCommand() *cli.Command {
	return &cli.Command{
		Name:         "send",
		Usage:        "send messages",
		ArgsUsage:    "ADDRESS [TEXT...]",
		OnUsageError: usageError,
		Description: "Sends each TEXT, or a file, or messages of a size, and waits until each is settled.\n" +
			"ADDRESS may be a URL with a path: amqp://host/queue. Exit status 4 if a message was\n" +
			"not accepted.\n\n" +
			"Examples:\n" +
			"   sluice send queue \"hello\"\n" +
			"   sluice send --to queue \"hello\"              # over an anonymous link\n" +
			"   sluice send queue --size 1Ki --count 100000 --presettled\n" +
			"   sluice send queue --file order.xml --property type=order --ttl 30s --durable\n" +
			"   seq 1000 | sluice send queue --file - --lines      # a message for each line\n" +
			"   sluice send amqps://broker.example.com/queue hi --user alice --password env:PW --cacert ca.pem",
		Flags: append(append([]cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "send the content of `FILE`; - is standard input"},
			&cli.BoolFlag{Name: "lines", Usage: "send each line of --file as a message of its own"},
			&cli.StringFlag{Name: "size", Usage: "send bodies of `BYTES`"},
			&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Usage: "send `N` messages (default: one, or each TEXT once)"},
			&cli.Float64Flag{Name: "rate", Usage: "send at most `N` messages a second"},
			&cli.BoolFlag{Name: "presettled", Usage: "send settled: no outcome comes back"},
			&cli.IntFlag{Name: "window", Value: 1000, Usage: "wait for outcomes when `N` are outstanding"},
			&cli.DurationFlag{Name: "timeout", Usage: "give up when nothing moved for this long"},
			&cli.StringFlag{Name: "to", Usage: "send over an anonymous link, with this address in each message"},
			&cli.StringFlag{Name: "subject", Usage: "subject of the messages"},
			&cli.StringSliceFlag{Name: "property", Usage: "application property `NAME=VALUE` (repeatable)"},
			&cli.DurationFlag{Name: "ttl", Usage: "time to live"},
			&cli.IntFlag{Name: "priority", Value: -1, DefaultText: "none", Usage: "priority, 0 to 255"},
			&cli.BoolFlag{Name: "durable", Usage: "mark messages durable"},
		}, reportFlags()...), connectFlags()...),
		Action: send,
	}
}

func send(c *cli.Context) error {
	opts, err := connection(c)
	if err != nil {
		return err
	}
	texts, address := c.Args().Slice(), ""
	if c.String("to") == "" {
		if len(texts) == 0 {
			return usagef("send needs an ADDRESS, or --to ADDRESS")
		}
		if address, err = withAddress(&opts, texts[0]); err != nil {
			return err
		}
		texts = texts[1:]
	}
	t, err := newTemplate(c, texts)
	if err != nil {
		return err
	}
	count := len(t.bodies)
	if c.IsSet("count") {
		count = c.Int("count")
	}
	if count < 0 || c.Int("window") < 1 {
		return usagef("--count must not be negative, and --window must be at least 1")
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	s := &sending{template: t, count: count, window: c.Int("window"), limit: newLimit(c.Float64("rate")),
		presettled: c.Bool("presettled"), timeout: c.Duration("timeout"), reporter: newReporter(c, "sent"), outcomes: map[string]uint64{}}
	opts.Meter = &s.meter
	conn, err := client.Dial(ctx, opts)
	if err != nil {
		return err
	}
	defer conn.Close()
	return s.run(ctx, conn, address)
}

// sending is one run of send.
type sending struct {
	template   *template
	count      int
	window     int
	limit      limit
	presettled bool
	timeout    time.Duration // 0: none
	reporter   *reporter
	address    string

	meter   client.Meter
	sent    atomic.Uint64 // messages that have left
	done    atomic.Uint64 // those of them that are settled
	oldest  atomic.Int64  // when the oldest of the others left, in nanoseconds since 1970
	writing atomic.Uint64 // bytes that had left when the message began that is sent now

	noCredit bool // sending ended while it waited for credit
	latency  histogram
	outcomes map[string]uint64
	refusal  string // why the first message was not accepted
}

// receipt is a message whose outcome is outstanding.
type receipt struct {
	receipt goamqp.SendReceipt
	at      time.Time
	size    int
}

func (s *sending) run(ctx context.Context, conn *goamqp.Conn, address string) error {
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		return notAttached(ctx, err, address)
	}
	mode := goamqp.SenderSettleModeUnsettled
	if s.presettled {
		mode = goamqp.SenderSettleModeSettled
	}
	sender, err := session.NewSender(ctx, address, &goamqp.SenderOptions{SettlementMode: &mode})
	if err != nil {
		return notAttached(ctx, err, address)
	}
	progress, stopProgress := context.WithCancel(ctx)
	defer stopProgress()
	s.reporter.start = time.Now()
	s.address = orTo(address, s.template.to)
	go s.reporter.progress(progress, s.waiting)

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.timeout > 0 {
		go s.watchdog(ctx, cancel)
	}
	outstanding := make(chan receipt, s.window)
	settled := make(chan error, 1)
	go func() { settled <- s.settle(ctx, outstanding) }()
	sendErr := s.send(ctx, sender, outstanding)
	close(outstanding)
	settleErr := <-settled
	stopProgress()

	if sendErr == nil && settleErr == nil {
		closeCtx, done := context.WithTimeout(context.Background(), client.DefaultTimeout)
		defer done()
		if err := sender.Close(closeCtx); err != nil {
			sendErr = err
		}
	}
	sum := s.reporter.summary(&s.latency)
	sum.Outcomes = s.outcomes
	s.reporter.finish(sum)
	return s.verdict(ctx, errors.Join(sendErr, settleErr))
}

func orTo(address string, to *string) string {
	if address == "" && to != nil {
		return *to
	}
	return address
}

var errTimeout = errors.New("timeout")

// watchdog cancels when nothing was sent or settled for the timeout.
func (s *sending) watchdog(ctx context.Context, cancel context.CancelCauseFunc) {
	watch(ctx, s.timeout, s.moved, func() { cancel(errTimeout) })
}

func (s *sending) send(ctx context.Context, sender *goamqp.Sender, outstanding chan<- receipt) error {
	for n := range s.count {
		if d := s.limit.wait(time.Now()); d > 0 {
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		now := time.Now()
		m, size := s.template.message(n, now)
		s.writing.Store(s.meter.Out.Load())
		if s.presettled {
			if err := sender.Send(ctx, m, nil); err != nil {
				s.noCredit = true
				return err
			}
			s.reporter.count(1, size)
			s.outcomes[outcomePresettled]++
			continue
		}
		r, err := sender.SendWithReceipt(ctx, m, nil)
		if err != nil {
			s.noCredit = true
			return err
		}
		if s.sent.Add(1)-s.done.Load() == 1 {
			s.oldest.Store(time.Now().UnixNano())
		}
		s.writing.Store(s.meter.Out.Load())
		select {
		case outstanding <- receipt{r, now, size}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// settle waits for the outcomes.
func (s *sending) settle(ctx context.Context, outstanding <-chan receipt) error {
	var failure error
	for r := range outstanding {
		if failure != nil {
			s.outcomes[outcomeUnknown]++
			continue
		}
		s.oldest.Store(r.at.UnixNano())
		state, err := r.receipt.Wait(ctx)
		if err != nil {
			failure = err
			s.outcomes[outcomeUnknown]++
			continue
		}
		s.done.Add(1)
		s.latency.add(time.Since(r.at))
		s.reporter.count(1, r.size)
		name, why := outcomeOf(state)
		s.outcomes[name]++
		if name != outcomeAccepted && s.refusal == "" {
			s.refusal = why
		}
	}
	return failure
}

// outcomeOf returns the name of an outcome, and what it says.
func outcomeOf(state goamqp.DeliveryState) (name, why string) {
	switch o := state.(type) {
	case *goamqp.StateAccepted:
		return outcomeAccepted, ""
	case *goamqp.StateRejected:
		return outcomeRejected, "rejected: " + client.Describe(o.Error)
	case *goamqp.StateReleased:
		return outcomeReleased, "released (no receiver is left for the address, or one has released it)"
	case *goamqp.StateModified:
		return outcomeModified, fmt.Sprintf("modified: delivery-failed=%v undeliverable-here=%v", o.DeliveryFailed, o.UndeliverableHere)
	}
	return outcomeUnknown, "no outcome that is known"
}

// under returns how many bytes of the message that is being sent have left; 0 if
// none is, or waits for credit.
func (s *sending) under() uint64 {
	if n := s.meter.Out.Load() - s.writing.Load(); n > frameBytes {
		return n
	}
	return 0
}

// moved grows with messages, and with large ones that are being sent.
func (s *sending) moved() uint64 {
	return s.reporter.messages.Load() + s.meter.Out.Load()/frameBytes
}

// waiting says what is waited for.
func (s *sending) waiting() string {
	open := s.sent.Load() - s.done.Load()
	switch n := s.under(); {
	case n > 0:
		return fmt.Sprintf("a message is on its way: %s of it have left", humanBytes(float64(n)))
	case open > 0:
		since := time.Since(time.Unix(0, s.oldest.Load())).Round(time.Second)
		return fmt.Sprintf("waiting: %s sent and not settled, for %v: a receiver for %q has not settled, or gives no credit", plural(open, "message"), since, s.address)
	}
	return fmt.Sprintf("waiting: nobody takes them; is there a receiver for %q?", s.address)
}

// progress says how far a run came that did not come to its end.
func (s *sending) progress() string {
	n := s.reporter.messages.Load()
	text := fmt.Sprintf("%d of %s sent", n, plural(s.count, "message"))
	if !s.presettled {
		text += " and settled"
	}
	switch under := s.under(); {
	case under > 0:
		text += fmt.Sprintf("; %s of the next have left", humanBytes(float64(under)))
	case s.outcomes[outcomeUnknown] > 0:
		text += fmt.Sprintf("; no outcome of %d", s.outcomes[outcomeUnknown])
	case s.noCredit && n == 0:
		return fmt.Sprintf("0 of %s sent; nobody takes messages for %q", plural(s.count, "message"), s.address)
	case s.noCredit:
		text += fmt.Sprintf("; nobody takes more messages for %q", s.address)
	}
	return text
}

// verdict turns what happened into the exit status.
func (s *sending) verdict(ctx context.Context, err error) error {
	switch {
	case context.Cause(ctx) == errTimeout:
		return messagesf("nothing moved for %v: %s", s.timeout, s.progress())
	case ctx.Err() != nil && err != nil:
		return messagesf("interrupted: %s", s.progress())
	case err != nil:
		return failed(client.Explain(err, s.address))
	case s.refusal != "" && s.count == 1:
		return messagesf("the message was %s", s.refusal)
	case s.refusal != "":
		return messagesf("%d of %d messages were not accepted; the first was %s", uint64(s.count)-s.outcomes[outcomeAccepted], s.count, s.refusal)
	}
	return nil
}
