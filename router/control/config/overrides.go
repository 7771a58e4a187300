package config

import (
	"net"
	"strings"

	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

// Overrides is what the command line says besides the files. It has the last
// word.
type Overrides struct {
	Listen   []string // host:port, :port or port of AMQP listeners, in place of those of the files
	HTTP     string   // the same of the one HTTP listener; "none" for no HTTP
	ID       string   // router id
	LogLevel string   // enable attribute for all modules
}

// override applies o. Its mistakes have the flag in place of a file.
func (b *builder) override(o Overrides) {
	if o.ID != "" {
		b.checkID(o.ID, Position{File: "--id"})
		b.config.Router.ID, b.generated = o.ID, false
	}
	if o.LogLevel != "" {
		mask, err := logging.ParseEnable(o.LogLevel)
		if err != nil {
			b.mistake(Position{File: "--log-level"}, "", schema.Nearest(trimPlus(o.LogLevel), logging.LevelNames()), "%s", err)
		}
		b.config.LogLevels = &mask
	}
	if len(o.Listen) > 0 {
		b.replaceListeners(false)
		for _, text := range o.Listen {
			b.listenOverride(text, Position{File: "--listen"}, false)
		}
	}
	if o.HTTP != "" {
		b.replaceListeners(true)
		if o.HTTP != "none" {
			b.listenOverride(o.HTTP, Position{File: "--http"}, true)
		}
	}
}

// replaceListeners removes the listeners of one kind.
func (b *builder) replaceListeners(http bool) {
	var rest []Listener
	for _, l := range b.config.Listeners {
		if l.HTTP != http {
			rest = append(rest, l)
		}
	}
	b.config.Listeners = rest
}

// overrideFrameSize is the max-frame-size of listeners from the command line,
// in bytes: that of the default configuration rather than of the schema.
const overrideFrameSize = "65536"

func (b *builder) listenOverride(text string, pos Position, http bool) {
	host, port, err := net.SplitHostPort(text)
	if err != nil && !strings.Contains(text, ":") {
		port, err = text, nil // a port alone
	}
	if err != nil || !validPort(port) {
		b.mistake(pos, "HOST:PORT, :PORT or PORT", "", "%s is no address to listen on", quoted(text))
		return
	}
	attrs := []attr{
		{name: "host", value: value{kind: textValue, text: host}},
		{name: "port", value: value{kind: textValue, text: port}},
		{name: "maxFrameSize", value: value{kind: textValue, text: overrideFrameSize}},
	}
	if http {
		attrs = append(attrs, attr{name: "http", value: value{kind: textValue, text: "yes"}})
	}
	b.addListener(checkSection(section{name: "listener", pos: pos, attrs: attrs}, b.reporter))
}
