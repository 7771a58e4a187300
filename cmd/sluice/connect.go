package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"sluice/cmd/internal/client"
)

// connectFlags are the flags of all commands that connect to a router.
func connectFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "url", Aliases: []string{"u"}, Value: client.DefaultURL, EnvVars: []string{"SLUICE_URL"},
			Usage: "connect to `URL`: amqp[s]://[USER[:PASSWORD]@]HOST[:PORT]"},
		&cli.StringFlag{Name: "user", Usage: "log in as `NAME`"},
		&cli.StringFlag{Name: "password", Usage: "password: env:NAME, file:PATH or `TEXT`"},
		&cli.StringFlag{Name: "sasl", Usage: "none, anonymous, plain or external (default: what user and certificate suggest)"},
		&cli.StringFlag{Name: "cacert", Usage: "trust the authorities in `FILE`"},
		&cli.StringFlag{Name: "cert", Usage: "present the certificate in `FILE`"},
		&cli.StringFlag{Name: "key", Usage: "its private key is in `FILE`"},
		&cli.StringFlag{Name: "key-password", Usage: "password of the key: env:NAME, file:PATH or `TEXT`"},
		&cli.BoolFlag{Name: "no-hostname", Usage: "do not check that the certificate is for the host"},
		&cli.BoolFlag{Name: "insecure", Usage: "do not check the certificate at all"},
		&cli.DurationFlag{Name: "connect-timeout", Value: client.DefaultTimeout, Usage: "give up connecting after this"},
		&cli.IntFlag{Name: "max-frame-size", Value: 65536, Usage: "largest frame to receive, in `BYTES`"},
	}
}

// connection returns what the flags say.
func connection(c *cli.Context) (client.Options, error) {
	size := c.Int("max-frame-size")
	if size < 512 || size > 1<<30 {
		return client.Options{}, usagef("--max-frame-size must be from 512 to %d", 1<<30)
	}
	return client.Options{
		// Whoever looks at the router's connections sees what this one is.
		ContainerID: fmt.Sprintf("sluice-%s-%d", c.Command.Name, os.Getpid()),
		URL:         c.String("url"), User: c.String("user"), Password: c.String("password"), SASL: c.String("sasl"),
		CACert: c.String("cacert"), Cert: c.String("cert"), Key: c.String("key"), KeyPassword: c.String("key-password"),
		Insecure: c.Bool("insecure"), NoHostname: c.Bool("no-hostname"),
		Timeout: c.Duration("connect-timeout"), FrameSize: uint32(size),
	}, nil
}

// withAddress splits an address that is a URL into both.
func withAddress(o *client.Options, address string) (string, error) {
	scheme, _, isURL := strings.Cut(address, "://")
	switch {
	case !isURL:
	case scheme == "amqp" || scheme == "amqps":
		o.URL, address = client.SplitURL(address)
		if address == "" {
			return "", usagef("%s names no address; expected %s://HOST[:PORT]/ADDRESS", o.URL, scheme)
		}
	default:
		return "", usagef("%s is no address; expected ADDRESS, or amqp://HOST[:PORT]/ADDRESS or amqps://…", address)
	}
	return address, nil
}

// limit is a rate limit without bursts: the n-th event happens n intervals
// after the first.
type limit struct {
	interval time.Duration // 0: no limit
	next     time.Time
}

func newLimit(perSecond float64) limit {
	if perSecond <= 0 {
		return limit{}
	}
	return limit{interval: time.Duration(float64(time.Second) / perSecond)}
}

// wait returns how long to wait at now before the next event.
func (l *limit) wait(now time.Time) time.Duration {
	if l.interval == 0 {
		return 0
	}
	if l.next.IsZero() {
		l.next = now
	}
	d := l.next.Sub(now)
	l.next = l.next.Add(l.interval)
	return d
}
