package mesh

import "strings"

// Addresses of control messages.
const (
	helloAddress    = "amqp:/_local/qdhello"
	allAddress      = "amqp:/_topo/0/all/qdrouter"
	mobileToAll     = "_topo/0/all/qdrouter.ma" // without scheme, as the first implementation writes it
	routingEndpoint = "qdrouter"
	mobileEndpoint  = "qdrouter.ma"
)

func routerAddress(id, endpoint string) string { return "amqp:/_topo/0/" + id + "/" + endpoint }

// scope says how far an address of a control message reaches.
type scope uint8

const (
	scopeNone   scope = iota // not an address that a control link carries
	scopeLink                // _local: the router at the other end, and no further
	scopeAll                 // _topo/0/all: every router
	scopeRouter              // _topo/0/ID: one router
)

// destination takes an address apart. id is set for scopeRouter only; endpoint is what follows.
func destination(address string) (s scope, id, endpoint string) {
	text := stripScheme(address)
	if n := len(text); n > 0 && (text[n-1] == '.' || text[n-1] == '/') {
		text = text[:n-1]
	}
	if endpoint, ok := strings.CutPrefix(text, "_local/"); ok {
		return scopeLink, "", endpoint
	}
	rest, ok := strings.CutPrefix(text, "_topo/")
	if !ok {
		return scopeNone, "", ""
	}
	area, rest, ok := strings.Cut(rest, "/")
	if !ok || area != Area && area != "all" {
		return scopeNone, "", ""
	}
	id, endpoint, _ = strings.Cut(rest, "/")
	switch id {
	case "":
		return scopeNone, "", ""
	case "all":
		return scopeAll, "", endpoint
	}
	return scopeRouter, id, endpoint
}

// stripScheme drops scheme and host: "//h/x", "/x", "s://h/x" and "s:/x" are all x.
func stripScheme(s string) string {
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		if _, path, ok := strings.Cut(rest, "/"); ok {
			return path
		}
		return s
	}
	if rest, ok := strings.CutPrefix(s, "/"); ok {
		return rest
	}
	i := strings.Index(s, ":/")
	if i < 1 {
		return s
	}
	rest := s[i+2:]
	if host, ok := strings.CutPrefix(rest, "/"); ok {
		if _, path, ok := strings.Cut(host, "/"); ok {
			return path
		}
		return s
	}
	return rest
}
