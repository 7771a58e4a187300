package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"sluice/router/control/auth"
	"sluice/router/control/schema"
)

// Limits of AMQP and of the peers that we replace.
const (
	minFrameSize        = 512   // §2.7.1: every peer must take frames of this size
	maxSessions         = 32768 // what "0" and more than this mean
	defaultLinkCapacity = 250   // what "0" and no value mean
)

// limits reads what listeners and connectors have in common.
func (b *builder) limits(e *entity) Limits {
	l := Limits{
		MaxFrameSize:     uint32(max(e.num("maxFrameSize", 0), minFrameSize)),
		MaxSessions:      int(e.num("maxSessions", 0)),
		MaxSessionFrames: uint32(e.num("maxSessionFrames", 0)),
		MaxLinks:         uint32(e.num("maxLinks", 0)),
		LinkCapacity:     int(e.num("linkCapacity", 0)),
		SessionBytes:     e.num("sessionBytes", 0),
		LinkBytes:        e.num("linkBytes", 0),
		OutgoingHigh:     e.num("outgoingHighBytes", 0),
		OutgoingLow:      e.num("outgoingLowBytes", 0),
		UnboundBytes:     e.num("unboundBytes", 0),
		MaxMessageSize:   uint64(e.num("maxMessageSize", 0)),
		IdleTimeout:      seconds(e, "idleTimeoutSeconds"),
		StripAnnotations: oneOf[Strip](e, "stripAnnotations"),
		Trace:            e.yes("trace"),
	}
	if l.MaxSessions == 0 || l.MaxSessions > maxSessions {
		l.MaxSessions = maxSessions
	}
	// Those who ran the existing routers may have such numbers, with which they
	// were content.
	if g := e.get("maxSessions"); g != nil && g.num > maxSessions {
		b.warn(g.value.pos, "maxSessions %d is lowered to %d", g.num, maxSessions)
	}
	if l.LinkCapacity == 0 {
		l.LinkCapacity = defaultLinkCapacity
	}
	if g := e.get("maxFrameSize"); g != nil && g.num < minFrameSize {
		b.warn(g.value.pos, "maxFrameSize %d is raised to %d, the least that AMQP allows", g.num, minFrameSize)
	}
	b.checkMarks(e, "outgoingLowBytes", "outgoingHighBytes")
	return l
}

// checkMarks reports a low mark that is not below its high mark.
func (b *builder) checkMarks(e *entity, low, high string) {
	if e.num(low, 0) < e.num(high, 0) {
		return
	}
	// Blame the one that was given.
	name := low
	if e.given[low] == nil {
		name = high
	}
	b.mistake(e.posOf(name), "a low mark below the high mark", "", "%s is %s and %s is %s",
		low, schema.FormatBytes(e.num(low, 0)), high, schema.FormatBytes(e.num(high, 0)))
}

func (b *builder) addListener(e *entity) {
	l := Listener{
		Limits:           b.limits(e),
		Pos:              e.pos,
		Name:             e.text("name"),
		Host:             strings.Trim(e.text("host"), "[]"),
		Port:             e.text("port"),
		Family:           e.text("socketAddressFamily"),
		Role:             b.role(e),
		Cost:             int(e.num("cost", 1)),
		SSLProfile:       e.text("sslProfile"),
		SASLMechanisms:   b.mechanisms(e),
		SASLUsersFile:    e.text("saslUsersFile"),
		AuthenticatePeer: e.yes("authenticatePeer"),
		RequireEncrypted: e.yes("requireEncryption"),
		RequireSSL:       e.yes("requireSsl"),
		HandshakeTimeout: seconds(e, "initialHandshakeTimeoutSeconds"),
		FailoverURLs:     b.failoverURLs(e),
		OpenProperties:   b.properties(e),
		AllowInsecure:    e.yes("allowInsecure"),
		HTTP:             e.yes("http") || e.text("httpRootDir") != "",
		HTTPRootDir:      e.text("httpRootDir"),
		Healthz:          e.yes("healthz"),
		Metrics:          e.yes("metrics"),
		WebSockets:       e.yes("websockets"),
		WebSocketOrigins: words(e.text("websocketOrigins")),
	}
	isHost := b.checkHost(e)
	b.checkPort(e)
	b.checkProfile(e)
	b.checkUsersFile(e)
	b.checkListenerSecurity(e, &l, isHost)
	b.checkHTTP(e, &l)
	b.config.Listeners = append(b.config.Listeners, l)
}

func (b *builder) addConnector(e *entity) {
	c := Connector{
		Limits:         b.limits(e),
		Pos:            e.pos,
		Name:           e.text("name"),
		Host:           strings.Trim(e.text("host"), "[]"),
		Port:           e.text("port"),
		Family:         e.text("protocolFamily"),
		Role:           b.role(e),
		Cost:           int(e.num("cost", 1)),
		SSLProfile:     e.text("sslProfile"),
		VerifyHostname: e.yes("verifyHostname"),
		SASLMechanisms: b.mechanisms(e),
		SASLUsername:   e.text("saslUsername"),
		SASLPassword:   b.password(e, "saslPassword", auth.PasswordForms{}),
		OpenProperties: b.properties(e),
		AllowInsecure:  e.yes("allowInsecure"),
	}
	b.checkHost(e)
	b.checkPort(e)
	if c.Port == "0" {
		b.mistake(e.posOf("port"), "the port that the other side listens on", "", "port 0 is nowhere to connect to")
	}
	b.checkProfile(e)
	b.checkConnectorSecurity(e, &c)
	if c.SASLUsername != "" && c.SSLProfile == "" && !c.AllowInsecure && !loopback(c.Host) {
		b.warn(e.posOf("saslUsername"), "THE PASSWORD CROSSES THE NETWORK IN CLEAR TEXT on the way to %s; set sslProfile, or allowInsecure: yes if this is intended", c.Address())
	}
	b.config.Connectors = append(b.config.Connectors, c)
}

// role reads a role; checkRoles compares it with the mode.
func (b *builder) role(e *entity) Role {
	role := oneOf[Role](e, "role")
	if role == RoleInterRouter || role == RoleEdge {
		b.joins = append(b.joins, join{e.posOf("role"), role, e.schema.Name})
	}
	return role
}

// A join is a role that joins routers, of a listener or connector.
type join struct {
	pos    Position
	role   Role
	entity string
}

// needs is the mode of the routers that have such roles.
func (j *join) needs() Mode {
	if j.role == RoleEdge && j.entity == "connector" {
		return EdgeMode
	}
	return Interior
}

// rolesOf are the roles that listeners or connectors have in a mode, those that
// join routers first.
func rolesOf(mode Mode, entity string) string {
	joining := map[Mode]map[string]string{
		Interior: {"listener": "inter-router, edge, ", "connector": "inter-router, "},
		EdgeMode: {"connector": "edge, "},
	}[mode][entity]
	return joining + "normal or route-container"
}

// checkRoles reports roles that the router's mode does not have: interior routers
// are joined to each other, and edge routers connect to them. With a mode that is
// none nothing can be said.
func (b *builder) checkRoles() {
	if g := b.router.given["mode"]; g != nil && g.bad {
		return
	}
	mode, uplinks := b.config.Router.Mode, 0
	assumed := ""
	if b.router.given["mode"] == nil {
		assumed = ", because its mode is not given"
	}
	for _, j := range b.joins {
		needs := j.needs()
		if needs == mode {
			if mode == EdgeMode {
				uplinks++
			}
			continue
		}
		why := assumed
		if j.role == RoleEdge && mode == EdgeMode {
			why = ": it has connectors of that role"
		}
		b.mistake(j.pos, fmt.Sprintf("role: %s; or mode: %s of the router", rolesOf(mode, j.entity), needs), "",
			"a %s of role %s needs a router of mode %s, and this one is %s%s", j.entity, j.role, needs, mode, why)
	}
	if mode == EdgeMode && uplinks == 0 && len(b.joins) == 0 {
		b.warn(b.config.Router.Pos, "an edge router without a connector of role %s reaches no other router", RoleEdge)
	}
}

// properties reads openProperties; nil if there are none, which is not the same
// as empty ones to those who read them back.
func (b *builder) properties(e *entity) map[string]any {
	g := e.get("openProperties")
	if g == nil || g.value.kind != mapValue {
		return nil
	}
	// Between routers the properties are part of their protocol.
	if role := e.text("role"); role == string(RoleInterRouter) || role == string(RoleEdge) {
		b.mistake(g.value.pos, "none, or role: normal or route-container", "", "openProperties are not allowed for role %s", role)
	}
	return g.value.plain().(map[string]any)
}

// failoverURLs reads a comma list of [scheme://]host[:port].
func (b *builder) failoverURLs(e *entity) []string {
	g := e.get("failoverUrls")
	if g == nil {
		return nil
	}
	var urls []string
	for _, item := range strings.Split(g.text, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		host := item
		if _, rest, ok := strings.Cut(item, "://"); ok {
			host = rest
		}
		if h, port, err := net.SplitHostPort(host); err == nil {
			host = h
			if !validPort(port) {
				b.mistake(g.value.pos, "a number from 0 to 65535, or the name of a service", "", "%s of failover item %s is no port", quoted(port), quoted(item))
				continue
			}
		}
		if badIP(host) {
			b.mistake(g.value.pos, "four numbers from 0 to 255, or a host name", "", "%s of failover item %s is no IP address", quoted(host), quoted(item))
			continue
		}
		if host == "" {
			b.mistake(g.value.pos, "[scheme://]host[:port]", "", "failover item %s has no host", quoted(item))
			continue
		}
		urls = append(urls, item)
	}
	return urls
}

// checkHost reports what can be no host name or IP address, and whether it is one.
func (b *builder) checkHost(e *entity) (is bool) {
	host := strings.Trim(e.text("host"), "[]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	switch pos := e.posOf("host"); {
	case badIP(host):
		b.mistake(pos, "four numbers from 0 to 255, or a host name", "", "%s is no IP address", quoted(host))
	case host == "" && e.schema.Name == "connector":
		b.mistake(pos, "a host name or IP address", "", "connector has an empty host")
	case strings.Contains(host, "://"):
		b.mistake(pos, apart(host), "", "host %s is a URL", quoted(host))
	case strings.Contains(host, ":"):
		b.mistake(pos, apart(host), "", "host %s has a colon", quoted(host))
	case strings.ContainsAny(host, " \t/,;'\""):
		b.mistake(pos, "a host name or IP address", "", "%s is no host", quoted(host))
	default:
		return true
	}
	return false
}

// badIP reports whether host looks like an IPv4 address and is none: no host
// name consists of digits and dots only.
func badIP(host string) bool {
	if host == "" || strings.Trim(host, "0123456789.") != "" {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err != nil
}

func (b *builder) checkPort(e *entity) {
	if port := e.text("port"); !validPort(port) {
		b.mistake(e.posOf("port"), notReplaced("a number from 0 to 65535, or the name of a service", port), schema.Nearest(port, []string{"amqp", "amqps", "http", "https"}),
			"%s is no port", quoted(port))
	}
}

func validPort(port string) bool {
	if n, err := strconv.Atoi(port); err == nil {
		return n >= 0 && n <= 65535
	}
	if dialPort(port) != port {
		return true
	}
	if port == "" || strings.ContainsAny(port, " \t/") {
		return false
	}
	_, err := net.LookupPort("tcp", port)
	return err == nil
}
