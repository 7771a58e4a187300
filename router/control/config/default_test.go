package config

import (
	"testing"
	"time"
)

func TestDefaultIsOpenToThisMachineOnly(t *testing.T) {
	c := Default("host.example.com")
	if c.Router.ID != "host.example.com" || c.Router.Mode != Standalone || c.Router.ShutdownTimeout != 10*time.Second {
		t.Errorf("router: %+v", c.Router)
	}
	if len(c.Listeners) != 2 || len(c.Warnings) != 0 {
		t.Fatalf("listeners %+v, warnings %v", c.Listeners, c.Warnings)
	}
	amqp, http := c.Listeners[0], c.Listeners[1]
	if amqp.Address() != "127.0.0.1:5672" || amqp.HTTP || amqp.MaxFrameSize != 65536 || amqp.LinkCapacity != 250 {
		t.Errorf("AMQP listener: %+v", amqp)
	}
	if http.Address() != "127.0.0.1:8672" || !http.HTTP || !http.Healthz || !http.Metrics {
		t.Errorf("HTTP listener: %+v", http)
	}
	if got := amqp.IncomingWindow(65536); got != 64 {
		t.Errorf("incoming-window %d, want 64: 4 MiB of 64 KiB frames", got)
	}
}

func TestHostNamesBecomeValidIDs(t *testing.T) {
	for host, want := range map[string]string{"a b": "ab", `a"\b#{`: "ab", "\x01": "sluice", "ök": "ök"} {
		if got := Default(host).Router.ID; got != want {
			t.Errorf("%q: id %q, want %q", host, got, want)
		}
	}
}
