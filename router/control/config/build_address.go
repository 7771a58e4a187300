package config

import (
	"sluice/router/address"
)

func (b *builder) addAddress(e *entity) {
	a := DefaultAddress()
	a.Pos = e.pos
	a.Name = e.text("name")
	a.Prefix = e.text("prefix")
	a.Pattern = e.text("pattern")
	a.Distribution = oneOf[Distribution](e, "distribution")
	a.Waypoint = e.yes("waypoint")
	a.IngressPhase = int(e.num("ingressPhase", -1))
	a.EgressPhase = int(e.num("egressPhase", -1))
	a.Priority = int(e.num("priority", -1))
	a.Fallback = e.yes("enableFallback")
	a.WaitingHighBytes = e.num("waitingHighBytes", 0)
	a.WaitingLowBytes = e.num("waitingLowBytes", 0)
	a.WaitingHighCount = int(e.num("waitingHighCount", 0))
	a.WaitingLowCount = int(e.num("waitingLowCount", 0))
	a.UnsettledTimeout = seconds(e, "unsettledTimeoutSeconds")
	a.Redeliver = e.yes("redeliver")
	a.MulticastPatience = seconds(e, "multicastPatienceSeconds")
	b.checkMarks(e, "waitingLowBytes", "waitingHighBytes")
	b.checkMarks(e, "waitingLowCount", "waitingHighCount")

	name, parse := "prefix", address.ParsePrefix
	if a.Pattern != "" {
		name, parse = "pattern", address.ParsePattern
	}
	switch {
	case a.Prefix != "" && a.Pattern != "":
		b.mistake(e.posOf("pattern"), "one of them", "", "both prefix and pattern are given")
		return
	case e.text(name) == "":
		if g := e.given[name]; g == nil || !g.bad {
			b.mistake(e.posOf(name), "prefix: TEXT or pattern: TEXT", "", "address has neither prefix nor pattern")
		}
		return
	}
	match, err := parse(e.text(name))
	if err != nil {
		b.mistake(e.posOf(name), "tokens separated by . or /", "", "%s %s: %s", name, quoted(e.text(name)), err)
		return
	}
	a.Match = match
	for _, other := range b.config.Addresses {
		if other.Match == match {
			b.mistake(e.posOf(name), "a pattern of its own", "", "%s %s and %s on %s match the same addresses",
				name, quoted(e.text(name)), other.spelling(), refer(e.pos, other.Pos))
			return
		}
	}
	b.warnMeaningless(e, a.Distribution)
	b.config.Addresses = append(b.config.Addresses, a)
}

// spelling returns what the file says an address matches.
func (a *Address) spelling() string {
	if a.Pattern != "" {
		return "pattern " + quoted(a.Pattern)
	}
	return "prefix " + quoted(a.Prefix)
}
