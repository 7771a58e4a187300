package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os/signal"
	"sync"
	"syscall"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/client"
	"sluice/router/control/schema"
)

// benchHeader is what begins each body: sequence number and time of sending,
// eight bytes each.
const benchHeader = 16

func benchCommand() *cli.Command {
	return &cli.Command{
		Name:         "bench",
		Usage:        "measure rate and latency, and check that nothing is lost or reordered",
		OnUsageError: usageError,
		Description: "Each pair is a sender and a receiver with a connection and an address of their own.\n" +
			"Latency is from just before a message is sent until it is received. Exit status 4 if\n" +
			"a message was lost, came twice or out of order.\n\n" +
			"Examples:\n" +
			"   sluice bench\n" +
			"   sluice bench --pairs 10 --size 1Ki --count 100000 --presettled\n" +
			"   sluice bench --url amqp://a --receive-url amqp://b     # across two routers\n" +
			"   sluice bench --rate 1000 --duration 30s        # latency at a low rate\n" +
			"   sluice bench --json | jq .messages_per_second",
		Flags: append(append([]cli.Flag{
			&cli.IntFlag{Name: "pairs", Value: 1, Usage: "pairs of sender and receiver"},
			&cli.StringFlag{Name: "size", Value: "100", Usage: "size of bodies, in `BYTES`"},
			&cli.IntFlag{Name: "count", Aliases: []string{"n"}, Value: 100000, Usage: "messages of each pair"},
			&cli.DurationFlag{Name: "duration", Usage: "send for this long instead of --count"},
			&cli.Float64Flag{Name: "rate", Usage: "messages a second of all pairs together (default: as fast as possible)"},
			&cli.BoolFlag{Name: "presettled", Usage: "send settled"},
			&cli.IntFlag{Name: "credit", Value: 1000, Usage: "credit of each receiver"},
			&cli.IntFlag{Name: "window", Value: 1000, Usage: "outcomes that each sender leaves outstanding"},
			&cli.StringFlag{Name: "address", Value: "bench", Usage: "pair N uses `ADDRESS`.N"},
			&cli.StringFlag{Name: "receive-url", DefaultText: "that of --url", Usage: "receivers connect to `URL`"},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Second, Usage: "what does not come within this is lost"},
		}, reportFlags()...), connectFlags()...),
		Action: bench,
	}
}

func bench(c *cli.Context) error {
	if c.NArg() > 0 {
		return usagef("bench takes no arguments, found %q; the address is an option", c.Args().First())
	}
	opts, err := connection(c)
	if err != nil {
		return err
	}
	size, err := schema.ParseBytes(c.String("size"))
	if err != nil || size < benchHeader || size > maxBody {
		return usagef("--size %s: expected bytes from %d to %s", c.String("size"), benchHeader, schema.FormatBytes(maxBody))
	}
	receive := opts
	if url := c.String("receive-url"); url != "" {
		receive.URL = url
	}
	b := &benching{
		opts: opts, receive: receive, size: int(size), pairs: c.Int("pairs"), count: c.Int("count"), duration: c.Duration("duration"),
		presettled: c.Bool("presettled"), credit: c.Int("credit"), window: c.Int("window"), timeout: c.Duration("timeout"),
		address: c.String("address"), rate: c.Float64("rate"), reporter: newReporter(c, "moved"), epoch: time.Now(),
	}
	for name, n := range map[string]int{"pairs": b.pairs, "count": b.count, "credit": b.credit, "window": b.window} {
		if n < 1 {
			return usagef("--%s must be at least 1", name)
		}
	}
	if b.timeout <= 0 || b.duration < 0 {
		return usagef("--timeout must be positive, and --duration must not be negative")
	}
	ctx, stop := signal.NotifyContext(c.Context, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return b.run(ctx)
}

// benching is one run of bench.
type benching struct {
	opts       client.Options // of senders
	receive    client.Options // of receivers
	size       int
	pairs      int
	count      int           // of each pair, unless duration is set
	duration   time.Duration // 0: count
	presettled bool
	credit     int
	window     int
	timeout    time.Duration
	address    string
	rate       float64 // of all pairs
	reporter   *reporter
	epoch      time.Time // times in bodies count from here
}

// pair is a sender and a receiver.
type pair struct {
	*benching
	address  string
	sender   *goamqp.Sender
	receiver *goamqp.Receiver
	conns    []*goamqp.Conn

	sent     uint64        // valid once sentAll is closed
	sentAll  chan struct{} // closed when the sender is done
	outcomes map[string]uint64
	latency  histogram
	check    sequence
}

func (b *benching) run(ctx context.Context) error {
	pairs := make([]*pair, b.pairs)
	for i := range pairs {
		pairs[i] = &pair{benching: b, sentAll: make(chan struct{}), outcomes: map[string]uint64{}}
		defer pairs[i].close()
	}
	for i, p := range pairs {
		if err := p.connect(ctx, fmt.Sprintf("%s.%d", b.address, i)); err != nil {
			return err
		}
	}
	interrupted := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	b.reporter.start = time.Now()
	progress, stopProgress := context.WithCancel(ctx)
	defer stopProgress()
	go b.reporter.progress(progress, func() string { return "nothing moves" })
	var wg sync.WaitGroup
	for _, p := range pairs {
		wg.Go(func() {
			if err := p.send(ctx); err != nil {
				cancel(failed(client.Explain(err, p.address)))
			}
		})
		wg.Go(func() {
			if err := p.receive(ctx); err != nil {
				cancel(failed(client.Explain(err, p.address)))
			}
		})
	}
	wg.Wait()
	stopProgress()
	return b.conclude(interrupted, context.Cause(ctx), pairs)
}

func (b *benching) conclude(interrupted context.Context, cause error, pairs []*pair) error {
	var latency histogram
	var missing, duplicates, disorder uint64
	outcomes := map[string]uint64{}
	for _, p := range pairs {
		latency.merge(&p.latency)
		missing += p.sent - min(p.sent, p.check.distinct)
		duplicates += p.check.duplicates
		disorder += p.check.disorder
		for name, n := range p.outcomes {
			outcomes[name] += n
		}
	}
	s := b.reporter.summary(&latency)
	s.Lost, s.Duplicates, s.OutOfOrder, s.Outcomes = &missing, &duplicates, &disorder, outcomes
	if interrupted.Err() != nil { // what was under way is not lost
		s.Lost = nil
	}
	b.reporter.finish(s)
	refused := outcomes[outcomeRejected] + outcomes[outcomeReleased] + outcomes[outcomeModified]
	switch {
	case interrupted.Err() != nil:
		return messagesf("interrupted: %s moved", plural(b.reporter.messages.Load(), "message"))
	case cause != nil:
		return cause
	case missing+duplicates+disorder+refused > 0:
		return messagesf("%d lost, %d came twice, %d out of order, %d were not accepted", missing, duplicates, disorder, refused)
	}
	return nil
}

func (p *pair) connect(ctx context.Context, address string) error {
	p.address = address
	for _, opts := range []client.Options{p.benching.receive, p.opts} {
		conn, err := client.Dial(ctx, opts)
		if err != nil {
			return err
		}
		p.conns = append(p.conns, conn)
	}
	in, err := p.conns[0].NewSession(ctx, nil)
	if err != nil {
		return notAttached(ctx, err, address)
	}
	if p.receiver, err = in.NewReceiver(ctx, address, &goamqp.ReceiverOptions{Credit: -1}); err != nil {
		return notAttached(ctx, err, address)
	}
	out, err := p.conns[1].NewSession(ctx, nil)
	if err != nil {
		return notAttached(ctx, err, address)
	}
	mode := goamqp.SenderSettleModeUnsettled
	if p.presettled {
		mode = goamqp.SenderSettleModeSettled
	}
	if p.sender, err = out.NewSender(ctx, address, &goamqp.SenderOptions{SettlementMode: &mode}); err != nil {
		return notAttached(ctx, err, address)
	}
	return nil
}

func (p *pair) close() {
	for _, c := range p.conns {
		c.Close()
	}
}

// send sends until the count or the time is reached, and returns when all that
// it sent is settled.
func (p *pair) send(ctx context.Context) error {
	defer close(p.sentAll)
	outstanding := make(chan goamqp.SendReceipt, p.window)
	settled := make(chan error, 1)
	go func() { settled <- p.settle(ctx, outstanding) }()
	err := p.sendAll(ctx, outstanding)
	close(outstanding)
	return errors.Join(err, <-settled)
}

func (p *pair) sendAll(ctx context.Context, outstanding chan<- goamqp.SendReceipt) error {
	limit := newLimit(p.rate / float64(p.pairs))
	body := pattern(p.size)
	message := &goamqp.Message{Data: [][]byte{body}}
	end := time.Now().Add(p.duration)
	for p.duration > 0 || p.sent < uint64(p.count) {
		now := time.Now()
		if p.duration > 0 && now.After(end) {
			return nil
		}
		if d := limit.wait(now); d > 0 {
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		// go-amqp has encoded the message when it returns, so that the body
		// may be used again.
		binary.BigEndian.PutUint64(body, p.sent)
		binary.BigEndian.PutUint64(body[8:], uint64(time.Since(p.epoch)))
		if p.presettled {
			if err := p.sender.Send(ctx, message, nil); err != nil {
				return err
			}
			p.sent++
			continue
		}
		r, err := p.sender.SendWithReceipt(ctx, message, nil)
		if err != nil {
			return err
		}
		p.sent++
		select {
		case outstanding <- r:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (p *pair) settle(ctx context.Context, outstanding <-chan goamqp.SendReceipt) error {
	var failure error
	for r := range outstanding {
		if failure != nil {
			continue
		}
		state, err := r.Wait(ctx)
		if err != nil {
			failure = err
			continue
		}
		name, _ := outcomeOf(state)
		p.outcomes[name]++
	}
	return failure
}

// receive receives until it has all that was sent, or nothing comes any more
// after the sender is done.
func (p *pair) receive(ctx context.Context) error {
	issued := 0
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sending, expired := p.phases(ctx)
	for !p.complete() {
		if issued <= p.credit/2 {
			if err := p.receiver.IssueCredit(uint32(p.credit - issued)); err != nil {
				return err
			}
			issued = p.credit
		}
		m, err := p.receiver.Receive(sending, nil)
		switch {
		case err != nil && ctx.Err() == nil && expired.Err() != nil:
			return nil // the rest is lost
		case err != nil && ctx.Err() == nil && sending.Err() != nil:
			sending = expired // only now it is known how many there are
			continue
		case err != nil:
			return err
		}
		issued--
		if len(m.Data) == 1 && len(m.Data[0]) == p.size {
			at := time.Duration(binary.BigEndian.Uint64(m.Data[0][8:]))
			p.latency.add(time.Since(p.epoch) - at)
			p.check.see(binary.BigEndian.Uint64(m.Data[0]))
		}
		p.reporter.count(1, p.size)
		if err := p.receiver.AcceptMessage(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether everything that was sent has come.
func (p *pair) complete() bool {
	if p.duration == 0 {
		return p.check.distinct >= uint64(p.count)
	}
	select {
	case <-p.sentAll:
		return p.check.distinct >= p.sent
	default:
		return false
	}
}

// phases returns two contexts: one that ends when the sender is done, and one
// that ends when, after that, nothing has moved for the timeout in any pair.
func (p *pair) phases(ctx context.Context) (sending, expired context.Context) {
	sending, sent := context.WithCancel(ctx)
	expired, expire := context.WithCancel(ctx)
	go func() {
		defer expire()
		defer sent()
		select {
		case <-p.sentAll:
		case <-ctx.Done():
			return
		}
		sent()
		watch(ctx, p.timeout, p.reporter.messages.Load, expire)
	}()
	return sending, expired
}
