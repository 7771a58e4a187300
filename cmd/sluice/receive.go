package main

import (
	"context"
	"fmt"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/client"
)

func receiveCommand() *cli.Command {
	return &cli.Command{
		Name:         "receive",
		Usage:        "receive messages",
		ArgsUsage:    "ADDRESS",
		OnUsageError: usageError,
		Description: "Receives messages, accepts them and prints their bodies, until it is interrupted, or\n" +
			"--count are there (exit status 4 if they are not within --timeout).\n\n" +
			"Examples:\n" +
			"   sluice receive queue\n" +
			"   sluice receive queue --count 10 --timeout 5s\n" +
			"   sluice receive queue --drain                   # what is there now\n" +
			"   sluice receive queue --reject --count 1\n" +
			"   sluice receive queue --json | jq -r 'select(.type == \"message\").body'\n" +
			"   sluice receive queue --count 100000 --credit 1000 --no-body",
		Flags: append(append([]cli.Flag{
			&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Usage: "end after `N` messages"},
			&cli.IntFlag{Name: "credit", Value: 100, Usage: "ask for up to `N` messages at a time"},
			&cli.DurationFlag{Name: "timeout", Usage: "end when no message came for this long"},
			&cli.BoolFlag{Name: "drain", Usage: "take what is there now, and end"},
			&cli.BoolFlag{Name: "accept", Usage: "accept messages (the default)"},
			&cli.BoolFlag{Name: "reject", Usage: "reject them"},
			&cli.BoolFlag{Name: "release", Usage: "release them"},
			&cli.BoolFlag{Name: "modify", Usage: "return them as modified, delivery-failed"},
			&cli.BoolFlag{Name: "undeliverable-here", Usage: "with --modify: they must not come back here"},
			&cli.BoolFlag{Name: "no-body", Usage: "do not print messages"},
		}, reportFlags()...), connectFlags()...),
		Action: receive,
	}
}

func receive(c *cli.Context) error {
	opts, err := connection(c)
	if err != nil {
		return err
	}
	if c.NArg() != 1 {
		return usagef("receive needs one ADDRESS, found %d arguments", c.NArg())
	}
	r := &receiving{count: c.Int("count"), credit: c.Int("credit"), timeout: c.Duration("timeout"), drain: c.Bool("drain"),
		print: !c.Bool("no-body"), reporter: newReporter(c, "received"), outcome: outcomeAccepted, here: c.Bool("undeliverable-here")}
	address, err := withAddress(&opts, c.Args().First())
	if err != nil {
		return err
	}
	chosen := 0
	for flag, outcome := range map[string]string{"accept": outcomeAccepted, "reject": outcomeRejected, "release": outcomeReleased, "modify": outcomeModified} {
		if c.Bool(flag) {
			r.outcome = outcome
			chosen++
		}
	}
	switch {
	case chosen > 1:
		return usagef("--accept, --reject, --release and --modify exclude each other")
	case r.here && r.outcome != outcomeModified:
		return usagef("--undeliverable-here needs --modify")
	case r.count < 0 || r.credit < 1:
		return usagef("--count must not be negative, and --credit must be at least 1")
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	opts.Meter = &r.meter
	conn, err := client.Dial(ctx, opts)
	if err != nil {
		return err
	}
	defer conn.Close()
	return r.run(ctx, conn, address)
}

// receiving is one run of receive.
type receiving struct {
	count    int // 0: no end
	credit   int
	timeout  time.Duration // 0: none
	drain    bool
	outcome  string
	here     bool // modified: undeliverable here
	print    bool
	reporter *reporter

	meter  client.Meter
	latest atomic.Uint64 // bytes read when the latest message was complete

	latency histogram
	issued  int // credit that no message has used
	taken   int // messages
}

func (r *receiving) run(ctx context.Context, conn *goamqp.Conn, address string) error {
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		return notAttached(ctx, err, address)
	}
	// Credit is issued by hand, so that never more than --count are asked for.
	receiver, err := session.NewReceiver(ctx, address, &goamqp.ReceiverOptions{Credit: -1})
	if err != nil {
		return notAttached(ctx, err, address)
	}
	r.latest.Store(r.meter.In.Load())
	progress, stopProgress := context.WithCancel(ctx)
	defer stopProgress()
	r.reporter.start = time.Now()
	if !r.print || r.reporter.json {
		go r.reporter.progress(progress, r.waiting)
	} else {
		go r.arriving(progress)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.timeout > 0 {
		go watch(ctx, r.timeout, r.moved, func() { cancel(errTimeout) })
	}
	if r.drain {
		err = r.drainAll(ctx, conn, receiver)
	} else {
		err = r.receiveAll(ctx, receiver)
	}
	stopProgress()
	if err == nil || ctx.Err() != nil {
		closeCtx, done := context.WithTimeout(context.Background(), client.DefaultTimeout)
		defer done()
		receiver.Close(closeCtx) // what it has not settled goes back
	}
	s := r.reporter.summary(&r.latency)
	s.Outcomes = map[string]uint64{r.outcome: uint64(r.taken)}
	r.reporter.finish(s)
	switch {
	case context.Cause(ctx) == errTimeout && r.taken < r.count:
		return messagesf("%d of %s came before nothing came for %v", r.taken, plural(r.count, "message"), r.timeout)
	case ctx.Err() != nil:
		if r.taken < r.count && context.Cause(ctx) != errTimeout {
			return messagesf("interrupted after %d of %s", r.taken, plural(r.count, "message"))
		}
		return nil
	case err != nil:
		return failed(client.Explain(err, address))
	case r.drain && r.taken < r.count:
		return messagesf("%d of %s were there", r.taken, plural(r.count, "message"))
	}
	return nil
}

// frameBytes is what frames that carry no message amount to between two messages, at
// most: what is more is of a message.
const frameBytes = 4 << 10

// waiting says what is waited for.
func (r *receiving) waiting() string {
	if n := r.under(); n > 0 {
		return fmt.Sprintf("a message is on its way: %s of it have come", humanBytes(float64(n)))
	}
	return "waiting for messages"
}

// under returns how many bytes have come of a message that is not complete; 0 if
// there is none.
func (r *receiving) under() uint64 {
	if n := r.meter.In.Load() - r.latest.Load(); n > frameBytes {
		return n
	}
	return 0
}

// arriving tells of a large message, until ctx is done, where messages are all that is
// shown.
func (r *receiving) arriving(ctx context.Context) {
	ticker := time.NewTicker(stallTime)
	defer ticker.Stop()
	var since uint64 // bytes read before the message of which it was told last
	var told time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			before := r.latest.Load()
			if r.reporter.quiet || r.under() == 0 || since == before && now.Sub(told) < stallRepeat {
				continue
			}
			since, told = before, now
			fmt.Fprintln(r.reporter.stderr, r.waiting())
		}
	}
}

// moved grows with messages, and with large ones that are on their way.
func (r *receiving) moved() uint64 { return r.reporter.messages.Load() + r.meter.In.Load()/frameBytes }

// topUp issues credit when half of it is used, but never for more messages than
// are wanted.
func (r *receiving) topUp(receiver *goamqp.Receiver) error {
	want := r.credit
	if r.count > 0 {
		want = min(want, r.count-r.taken)
	}
	if want <= r.issued || r.issued > r.credit/2 {
		return nil
	}
	if err := receiver.IssueCredit(uint32(want - r.issued)); err != nil {
		return err
	}
	r.issued = want
	return nil
}

func (r *receiving) receiveAll(ctx context.Context, receiver *goamqp.Receiver) error {
	for r.count == 0 || r.taken < r.count {
		if err := r.topUp(receiver); err != nil {
			return err
		}
		m, err := receiver.Receive(ctx, nil)
		if err != nil {
			return err
		}
		if err := r.take(ctx, receiver, m); err != nil {
			return err
		}
	}
	return nil
}

// drainAll takes what there is: it issues credit and drains it until a round
// brings nothing.
func (r *receiving) drainAll(ctx context.Context, conn *goamqp.Conn, receiver *goamqp.Receiver) error {
	for r.count == 0 || r.taken < r.count {
		before := r.taken
		if err := r.topUp(receiver); err != nil {
			return err
		}
		// go-amqp forgets credit that it has not sent when a drain begins, so
		// that the flow frame must be gone first: a round trip sees to that.
		if err := roundTrip(ctx, conn); err != nil {
			return err
		}
		// go-amqp buffers what comes during a drain.
		if err := receiver.DrainCredit(ctx, nil); err != nil {
			return err
		}
		for m := receiver.Prefetched(); m != nil; m = receiver.Prefetched() {
			if err := r.take(ctx, receiver, m); err != nil {
				return err
			}
		}
		r.issued = 0
		if r.taken == before {
			return nil
		}
	}
	return nil
}

// roundTrip returns when the peer has answered something.
func roundTrip(ctx context.Context, conn *goamqp.Conn) error {
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		return err
	}
	return session.Close(ctx)
}

// take prints and settles a message.
func (r *receiving) take(ctx context.Context, receiver *goamqp.Receiver, m *goamqp.Message) error {
	r.taken++
	r.issued--
	r.latest.Store(r.meter.In.Load())
	r.reporter.count(1, bodySize(m))
	if m.Properties != nil && m.Properties.CreationTime != nil {
		r.latency.add(time.Since(*m.Properties.CreationTime))
	}
	if r.print {
		if r.reporter.json {
			r.reporter.object(toJSON(m))
		} else {
			fmt.Fprintln(r.reporter.stdout, bodyText(m))
		}
	}
	switch r.outcome {
	case outcomeRejected:
		return receiver.RejectMessage(ctx, m, nil)
	case outcomeReleased:
		return receiver.ReleaseMessage(ctx, m)
	case outcomeModified:
		return receiver.ModifyMessage(ctx, m, &goamqp.ModifyMessageOptions{DeliveryFailed: true, UndeliverableHere: r.here})
	}
	return receiver.AcceptMessage(ctx, m)
}
