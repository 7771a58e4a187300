package management

import (
	"strings"
	"testing"

	"sluice/amqp/encoding"
)

// Each mistake has its status and says what it is.
func TestErrors(t *testing.T) {
	for _, e := range []struct {
		ap     string
		body   encoding.Map
		status int32
		text   string
	}{
		{"type=org.amqp.management", nil, 400, "No 'operation' property"},
		{"operation=FROB, type=org.amqp.management, name=self", nil, 501, "Operation 'FROB' not implemented for 'org.apache.qpid.dispatch.management' ['GET-SCHEMA', 'GET-JSON-SCHEMA', 'GET-LOG', 'QUERY', "},
		{"operation=FROB", nil, 501, "Operation 'FROB' not implemented for 'org.apache.qpid.dispatch.management' ["},
		{"operation=PROFILE, start=x", nil, 501, "Operation 'PROFILE' not implemented"},
		{"operation=QUERY, entityType=nope", m(), 400, "No such entity type 'nope'"},
		{"operation=GET-TYPES, entityType=nope", nil, 400, "No such entity type 'nope'"},
		{"operation=READ, type=nope, name=x", nil, 400, "No such entity type 'nope'"},
		{"operation=QUERY, entityType=listener", m("attributeNames", []any{"nope", "host"}), 404, "Unknown attributes ['nope'] for type org.apache.qpid.dispatch.listener."},
		{"operation=QUERY, entityType=...router.link", m("attributeNames", []any{"nope"}), 404, "Unknown attributes ['nope'] for type org.apache.qpid.dispatch.router.link."},
		{"operation=QUERY, entityType=listener", m("attributeNames", "host"), 400, "'attributeNames' must be a list"},
		{"operation=QUERY, entityType=listener, count=many", m(), 400, "'count' must be an integer"},
		{"operation=QUERY, entityType=...console", m(), 403, "Forbidden"},
		{"operation=READ, name=nope, type=...listener", nil, 404, "No entity with name=nope"},
		{"operation=READ, name=nope", nil, 404, "No entity with name=nope"},
		{"operation=READ, identity=nope", nil, 404, "No entity with identity=nope"},
		{"operation=READ, identity=log/NOPE", nil, 404, "No entity with identity=log/NOPE"},
		{"operation=READ, name=amqp-in, identity=log/DEFAULT", nil, 400, "Conflicting name=amqp-in identity=log/DEFAULT"},
		{"operation=READ, type=...listener", nil, 400, "org.apache.qpid.dispatch.listener: No name or identity provided"},
		{"operation=READ, name=amqp-in, type=...connector", nil, 400, "Entity type 'org.apache.qpid.dispatch.listener' does not extend requested type 'org.apache.qpid.dispatch.connector'"},
		{"operation=READ, name=amqp-in, type=entity", nil, 404, "Entity type 'org.apache.qpid.dispatch.listener' does match requested type 'org.apache.qpid.dispatch.entity'"},
		{"operation=READ, type=...connection, name=x", nil, 400, "Name not supported. Identity required"},
		{"operation=READ, type=...connection", nil, 400, "Name not supported. Identity required"},
		{"operation=READ, type=...connection, identity=77", nil, 404, "Not Found"},
		{"operation=READ, type=...router.config.address", nil, 400, "No name or identity provided"},
		{"operation=READ, type=...router.config.address, name=x", nil, 404, "Not Found"},
		{"operation=READ, type=...router, identity=router/A", nil, 403, "Forbidden: QUERY returns the router"},
		{"operation=CREATE, type=...router", m("id", "Z"), 403, "Forbidden"},
		{"operation=DELETE, type=...router, identity=1", nil, 403, "Forbidden"},
		{"operation=DELETE, type=...connection, identity=5", nil, 403, "Forbidden: UPDATE with adminStatus deleted closes a connection"},
		{"operation=READ, type=...console, name=x", nil, 403, "Forbidden"},
		{"operation=CREATE", m("type", "listener"), 400, "No 'type' attribute in "},
		{"operation=CREATE, type=...log", m("module", "SERVER"), 501, "Operation 'CREATE' not implemented for 'org.apache.qpid.dispatch.log' ['UPDATE', 'READ']"},
		{"operation=CREATE, type=...vhost", m("hostname", "h"), 501, "Operation 'CREATE' not implemented for 'org.apache.qpid.dispatch.vhost' ['READ']"},
		{"operation=DELETE, type=...log, name=log/HTTP", nil, 501, "Operation 'DELETE' not implemented for 'org.apache.qpid.dispatch.log'"},
		{"operation=UPDATE, type=...listener, name=amqp-in", m("cost", int32(2)), 501, "Operation 'UPDATE' not implemented for 'org.apache.qpid.dispatch.listener'"},
		{"operation=CREATE, type=...listener, name=b", m("frob", int32(1)), 400, "Unknown attribute 'frob' for 'org.apache.qpid.dispatch.listener'"},
		{"operation=CREATE, type=...listener, name=b", m("prot", int32(1)), 400, "Unknown attribute 'prot' for 'org.apache.qpid.dispatch.listener'; did you mean 'port'?"},
		{"operation=CREATE, type=...listener, name=b", m("identity", "x"), 400, "Cannot set attribute 'identity' in CREATE"},
		{"operation=CREATE, type=...connector, name=b", m("connectionStatus", "x"), 400, "Cannot set attribute 'connectionStatus' in CREATE"},
		{"operation=CREATE, type=...listener, name=b", m("name", "c"), 400, "Conflicting values for 'name'"},
		{"operation=CREATE, type=...listener, name=b", m("type", "connector"), 400, "Conflicting values for 'type'"},
		{"operation=CREATE, type=...listener, name=b", m("port", "22042", "cost", "many"), 400, "invalid literal for int() with base 10: 'many'"},
		{"operation=CREATE, type=...listener, name=b", m("port", "22042", "http", "maybe"), 400, "Invalid Boolean value 'maybe'"},
		{"operation=CREATE, type=...listener, name=b", m("port", "22042", "role", "boss"), 400, "Invalid value for enum['normal', 'inter-router', 'route-container', 'edge']: 'boss'"},
		{"operation=CREATE, type=...listener, name=b", m("port", "99999"), 400, `"99999" is no port; expected a number from 0 to 65535`},
		{"operation=CREATE, type=...listener, name=b", m("sslProfile", "none"), 400, "there is no sslProfile named 'none'"},
		{"operation=CREATE, type=...listener, name=b", m("openProperties", m("product", "x")), 400, `key "product" of openProperties is reserved`},
		{"operation=CREATE, type=...listener, name=amqp-in", m("port", "22042"), 400, "adding listener 'amqp-in' duplicates unique attribute 'name' from existing"},
		{"operation=CREATE, type=...connector, name=brk", m("port", "22042"), 400, "adding connector 'brk' duplicates unique attribute 'name' from existing"},
		{"operation=CREATE, type=...connector, name=c", m("saslUsername", []byte("x")), 400, "'saslUsername' must be a string"},
		{"operation=CREATE, type=...sslProfile", m("certFile", "x"), 400, "Missing required attribute 'name'"},
		{"operation=CREATE, type=...sslProfile, name=p", m("certFile", "/no/such/file"), 400, "certFile: "},
		{"operation=CREATE, type=...sslProfile, name=p", m("certDb", "a", "caCertFile", "b"), 400, "Both 'certDb' and 'caCertFile' cannot be specified for entity 'sslProfile'"},
		{"operation=CREATE, type=...router.config.address, name=x", m("prefix", "multicast"), 400, "Already exists"},
		{"operation=CREATE, type=...router.config.address, name=mc", m("prefix", "z"), 400, "Name conflicts with an existing entity"},
		{"operation=CREATE, type=...router.config.address", m("prefix", "z", "pattern", "z"), 400, "Cannot specify both a 'prefix' and a 'pattern' attribute"},
		{"operation=CREATE, type=...router.config.address", m(), 400, "Either a 'prefix' or 'pattern' attribute must be provided"},
		{"operation=CREATE, type=...router.config.address", m("prefix", ""), 400, "Prefix must be a non-empty string type"},
		{"operation=CREATE, type=...router.config.address", m("pattern", "./"), 400, "Pattern invalid - no tokens"},
		{"operation=CREATE, type=...router.config.address", m("prefix", "z", "ingressPhase", int32(10)), 400, "Phase values must be between 0 and 9"},
		{"operation=CREATE, type=...router.config.address", m("prefix", "z", "priority", int32(11)), 400, "Priority value, if present, must be between 0 and QDR_MAX_PRIORITY"},
		{"operation=CREATE, type=...router.config.address", m("prefix", "z", "fallback", true, "waypoint", true), 400, "Fallback cannot be specified with waypoint or non-zero ingress and egress phases"},
		{"operation=CREATE, type=...router.config.address", m("prefix", "z", "distribution", "best"), 400, "Invalid value for enum['multicast', 'closest', 'balanced', 'unavailable']: 'best'"},
		{"operation=UPDATE, type=...log, identity=log/HTTP", m("enable", "foo"), 500, "CError: Configuration: 'foo' is not a valid log level. Should be one of {none, trace, debug, info, notice, warning, error, critical}."},
		{"operation=UPDATE, type=...log, identity=log/HTTP", m("outputFile", "/no/such/folder/x"), 500, "CError: Configuration: Failed to open log file '/no/such/folder/x': no such file or directory"},
		{"operation=UPDATE, type=...log, identity=log/DEFAULT", m("outputFile", ""), 500, "CError: Configuration: Failed to open log file ''"},
		{"operation=UPDATE, type=...log, identity=log/HTTP", m("module", "AGENT"), 400, "Cannot update attribute 'module' in UPDATE"},
		{"operation=UPDATE, type=...log, name=log/SERVR", m("enable", "info+"), 404, "No entity with name=log/SERVR; did you mean log/SERVER?"},
		{"operation=UPDATE, type=...log, name=SERVR", m("enable", "info+"), 404, "No entity with name=SERVR; did you mean log/SERVER?"},
		{"operation=READ, identity=log/SERVR", nil, 404, "No entity with identity=log/SERVR; did you mean log/SERVER?"},
		{"operation=UPDATE, type=...log, identity=log/HTTP", m("level", "x"), 400, "Unknown attribute 'level' for 'org.apache.qpid.dispatch.log'"},
		{"operation=UPDATE, type=...connection, identity=5", m("adminStatus", "deleted"), 403, "You are not allowed to perform this operation."},
		{"operation=UPDATE, type=...connection, identity=5", m("adminStatus", "paused"), 400, "Invalid value for enum['enabled', 'deleted']: 'paused'"},
		{"operation=UPDATE, type=...connection, identity=77", m("enableProtocolTrace", "yes"), 400, "there is no connection 77"},
		{"operation=UPDATE, type=...connection, identity=G10000", m("enableProtocolTrace", true), 400, "'G10000' is no identity of a connection"},
		{"operation=UPDATE, type=...connection, name=5", m("adminStatus", "deleted"), 400, "Name not supported. Identity required"},
		{"operation=UPDATE, type=...connection, identity=77", m("adminStatus", "deleted"), 400, "there is no connection 77"},
		{"operation=UPDATE, type=...router.link, identity=10", m(), 400, "adminStatus is all that can be changed of a link"},
	} {
		f := newFake(t)
		d := NewDesk(f)
		var body any
		if e.body != nil {
			body = e.body
		}
		status, text, answer := ask(t, d, properties(e.ap), body)
		if status != e.status || !strings.HasPrefix(text, e.text) {
			t.Errorf("%s %v:\ngot  %d %s\nwant %d %s", e.ap, e.body, status, text, e.status, e.text)
		}
		if got := show(answer); got != "{}" && got != "null" {
			t.Errorf("%s: the body is %s", e.ap, got)
		}
		if len(f.listeners) != 2 || len(f.connectors) != 1 || len(f.profiles) != 0 || len(f.configured) != 1 || f.closed != nil {
			t.Errorf("%s: something has changed", e.ap)
		}
	}
}

// A failed CREATE of an entity with a number has the body null, others have an
// empty map.
func TestBodyOfFailures(t *testing.T) {
	d := NewDesk(newFake(t))
	for ap, want := range map[string]string{
		"operation=CREATE, type=...router.config.address": "null",
		"operation=CREATE, type=...router":                "null",
		"operation=CREATE, type=...log":                   "{}",
		"operation=READ, name=nope":                       "{}",
	} {
		if _, _, body := ask(t, d, properties(ap), m()); show(body) != want {
			t.Errorf("%s: %s", ap, show(body))
		}
	}
}
