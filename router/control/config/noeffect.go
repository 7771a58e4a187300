package config

import (
	"fmt"
	"strings"
)

// consequences say what it means that something of an existing configuration
// has no effect yet, where that is more than a missing convenience. The keys
// are names of sections, or of attributes behind the section's name.
var consequences = map[string]string{
	"policy":                 "limits are NOT enforced",
	"policy.enforced":        "access is NOT restricted, and limits are NOT enforced",
	"vhost":                  "who may connect and what they may do is NOT restricted",
	"authServicePlugin":      "it authenticates NOBODY",
	"listener.saslPlugin":    "it authenticates NOBODY; use saslUsersFile or client certificates",
	"listener.policyVhost":   "access is NOT restricted",
	"connector.policyVhost":  "access is NOT restricted",
	"listener.multiTenant":   "the addresses of different vhosts are NOT kept apart",
	"linkRoute":              "links to its addresses end at the router, and do not reach the container",
	"autoLink":               "the router attaches no link, and moves no messages to or from the container",
	"exchange":               "messages to it are not spread by their subject",
	"binding":                "messages are not forwarded by it",
	"address.waypoint":       "messages go straight to receivers, and not through the broker",
	"address.ingressPhase":   "messages go straight to receivers, and not from phase to phase",
	"address.egressPhase":    "messages go straight to receivers, and not from phase to phase",
	"address.enableFallback": "undeliverable messages do not go to a fallback destination",
}

// noEffect warns that something is not supported yet. name is that of a
// section, or of a section and an attribute.
func (r *reporter) noEffect(pos Position, name, meaning string) {
	section, attribute, is := strings.Cut(name, ".")
	what, thing := section, section
	if is {
		what, thing = attribute, attribute+" of "+section
	}
	if meaning == "" {
		meaning = consequences[name]
	}
	if meaning == "" {
		r.warn(pos, "%s is not supported yet: it has no effect", what)
		return
	}
	r.add(Problem{Pos: pos, Warning: true, Text: fmt.Sprintf("%s is not supported yet: %s", what, meaning), NoEffect: thing})
}

// policyMeaning says what is lost with a policy section.
func policyMeaning(e *entity) string {
	if e.schema.Name == "policy" && e.yes("enableVhostPolicy") {
		return consequences["policy.enforced"]
	}
	return ""
}

// NoEffect says in one line what of the configuration has no effect although it
// was meant to; empty if there is no such thing.
func (c *Config) NoEffect() string {
	count := map[string]int{}
	var things []string
	total := 0
	for _, p := range c.Warnings {
		if p.NoEffect == "" {
			continue
		}
		if count[p.NoEffect]++; count[p.NoEffect] == 1 {
			things = append(things, p.NoEffect)
		}
		total++
	}
	for i, t := range things {
		if n := count[t]; n > 1 {
			things[i] = fmt.Sprintf("%s (%d times)", t, n)
		}
	}
	switch total {
	case 0:
		return ""
	case 1:
		return "1 setting has no effect: " + things[0]
	}
	return fmt.Sprintf("%d settings have no effect: %s", total, strings.Join(things, ", "))
}

// warnMeaningless warns of attributes of an address that its distribution makes
// meaningless.
func (b *builder) warnMeaningless(e *entity, d Distribution) {
	none := map[Distribution]map[string]string{
		Unavailable: {
			"redeliver":                "no message gets to an unavailable address",
			"unsettledTimeoutSeconds":  "no message gets to an unavailable address",
			"multicastPatienceSeconds": "no message gets to an unavailable address",
		},
		Multicast: {"redeliver": "a multicast message is not sent to another receiver instead"},
		Balanced:  {"multicastPatienceSeconds": "distribution is balanced, not multicast"},
		Closest:   {"multicastPatienceSeconds": "distribution is closest, not multicast"},
	}[d]
	for _, a := range e.schema.Attributes {
		if why := none[a.Name]; why != "" {
			if g := e.get(a.Name); g != nil && !g.isDefault() {
				b.warn(g.pos, "%s has no effect: %s", a.Name, why)
			}
		}
	}
}
