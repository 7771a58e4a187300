package mesh

import (
	"strings"

	"sluice/router/address"
)

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
func destination(to string) (s scope, id, endpoint string) {
	text := address.Trim(to)
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
