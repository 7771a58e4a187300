package websocket

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/coder/websocket"
)

// Subprotocols are those that carry AMQP 1.0: that of the AMQP WebSocket binding,
// and two that clients offer besides. All mean the same bytes.
var Subprotocols = []string{"amqp", "binary", "AMQPWSB10"}

// Options say who may connect.
type Options struct {
	// Origins are the hosts of web pages that may connect besides those that come
	// from the same host and port: patterns in which * stands for anything but a
	// slash, and which begin with a scheme if that matters. A single * lets all in.
	Origins []string
}

// Asked tells whether a request wants to be a WebSocket.
func Asked(r *http.Request) bool {
	return slices.ContainsFunc(tokens(r.Header, "Upgrade"), func(t string) bool { return strings.EqualFold(t, "websocket") })
}

// An OriginError says that a web page may not connect.
type OriginError struct{ Origin, Host string } // of the page, and what it calls this host

func (e *OriginError) Error() string {
	return fmt.Sprintf("a web page of origin %q, which calls this host %q, may not connect; websocketOrigins of the listener says which may", e.Origin, e.Host)
}

var errRefused = errors.New("the request is none for a WebSocket that carries AMQP")

// Accept answers a request for a WebSocket. With an error, which is an
// [OriginError] if that is why, the request has been refused and the client told.
//
// The first of the client's subprotocols that carries AMQP is taken; a client
// that names none is taken to speak AMQP, and one that names others only is
// refused. Web pages may connect as Options say; clients that send no Origin are
// no web pages. A page from elsewhere could otherwise use what its reader's
// browser can reach, and the certificate that it presents. On a loopback address
// a page's own name for this host is not believed either, because a name that
// anybody may register can lead to 127.0.0.1.
func Accept(w http.ResponseWriter, r *http.Request, o Options) (*Conn, error) {
	offered := tokens(r.Header, "Sec-WebSocket-Protocol")
	var chosen []string
	for _, p := range offered {
		if slices.ContainsFunc(Subprotocols, func(s string) bool { return strings.EqualFold(s, p) }) {
			chosen = []string{p}
			break
		}
	}
	if len(offered) > 0 && chosen == nil {
		http.Error(w, "AMQP 1.0 over WebSocket has the subprotocol amqp; "+strings.Join(offered, ", ")+" is not known here", http.StatusBadRequest)
		return nil, errRefused
	}
	// RFC 6454 section 7.3: there is one at most. Of two, who reads the first and who
	// reads the last would believe different pages.
	if len(r.Header.Values("Origin")) > 1 {
		http.Error(w, "the request has more than one Origin; a browser sends one", http.StatusBadRequest)
		return nil, errRefused
	}
	if origin := r.Header.Get("Origin"); !welcome(r, origin, o.Origins) {
		err := &OriginError{origin, r.Host}
		http.Error(w, err.Error(), http.StatusForbidden)
		return nil, err
	}
	h := &hijack{ResponseWriter: w}
	c := new(Conn)
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{
		Subprotocols:       chosen,
		InsecureSkipVerify: true, // of the origin, which is welcome
		CompressionMode:    websocket.CompressionDisabled,
		OnPingReceived:     c.ping,
	})
	if err != nil {
		return nil, err // it has answered
	}
	ws.SetReadLimit(-1)
	c.Conn, c.in, c.ws = h.conn, h.in, ws
	return c, nil
}

// welcome tells whether a request may come from its origin; one without an origin
// comes from no web page.
func welcome(r *http.Request, origin string, patterns []string) bool {
	if origin == "" || slices.Contains(patterns, "*") {
		return true
	}
	u, err := url.Parse(origin)
	switch {
	case err != nil || u.Host == "":
		return false
	case allowed(origin, patterns):
		return true
	case rebound(r):
		return false
	case strings.EqualFold(u.Host, r.Host):
		return true
	}
	return slices.ContainsFunc(patterns, func(p string) bool {
		target := u.Host
		if strings.Contains(p, "://") {
			target = u.Scheme + "://" + u.Host
		}
		matched, err := path.Match(strings.ToLower(p), strings.ToLower(target))
		return matched && err == nil // patterns have been checked
	})
}

// rebound tells whether a request that came to a loopback address was for
// another host by its name.
func rebound(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local == nil {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return false
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return !strings.EqualFold(host, "localhost") && (err != nil || !ip.IsLoopback())
}

// allowed tells whether the configuration names an origin outright.
func allowed(origin string, patterns []string) bool {
	u, err := url.Parse(origin)
	return err == nil && slices.ContainsFunc(patterns, func(p string) bool {
		return strings.EqualFold(p, u.Host) || strings.EqualFold(p, origin)
	})
}

// tokens are the elements of a header that is a comma list.
func tokens(h http.Header, name string) (list []string) {
	for _, v := range h.Values(name) {
		for t := range strings.SplitSeq(v, ",") {
			if t = strings.TrimSpace(t); t != "" {
				list = append(list, t)
			}
		}
	}
	return list
}

// A hijack takes the socket from the HTTP server, and keeps hold of it and of
// the buffer that it is read through.
type hijack struct {
	http.ResponseWriter
	conn net.Conn
	in   *bufio.Reader
}

// Hijack implements http.Hijacker.
func (h *hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	// What the client has sent behind its request stays in front.
	early, _ := rw.Reader.Peek(rw.Reader.Buffered())
	h.conn = conn
	h.in = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(early)), conn), readBuffer)
	h.in.Peek(len(early))
	return conn, bufio.NewReadWriter(h.in, rw.Writer), nil
}
