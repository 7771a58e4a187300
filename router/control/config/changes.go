package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

// A Change is an entity that two configurations do not have in common.
type Change struct {
	Section    string   // router, listener, …
	Name       string   // of the entity; empty for router
	Attributes []string // that differ; nil if the entity is only in one of them
	Added      bool     // only in the new one
}

func (c Change) String() string {
	name := strings.TrimSpace(c.Section + " " + c.Name)
	switch {
	case c.Attributes != nil:
		return name + ": " + strings.Join(c.Attributes, ", ")
	case c.Added:
		return name + ": added"
	}
	return name + ": removed"
}

// Restart is what of the change has no effect on a router that runs.
func (c Change) Restart() (rest Change, any bool) {
	if c.Section != "router" {
		return Change{}, false
	}
	rest = c
	rest.Attributes = slices.DeleteFunc(slices.Clone(c.Attributes), func(name string) bool { return changesLive[name] })
	return rest, len(rest.Attributes) > 0
}

// changesLive are attributes of a router that can change while it runs.
var changesLive = map[string]bool{"defaultDistribution": true, "memoryLimit": true, "stuckDeliverySeconds": true}

// Key identifies a listener in changes: its name, or else its address.
func (l *Listener) Key() string { return nameOr(l.Name, l.Address()) }

// Key identifies a connector in changes: its name, or else its address.
func (c *Connector) Key() string { return nameOr(c.Name, c.Address()) }

// Changes compares two configurations. Of a log it says what attributes differ, also
// if only one of them has it: one that is not there says the same as one that says
// nothing.
func Changes(old, now *Config) []Change {
	var changes []Change
	changes = compare(changes, "router", []Router{old.Router}, []Router{now.Router}, func(*Router) string { return "" })
	changes = compare(changes, "sslProfile", old.SSLProfiles, now.SSLProfiles, func(p *SSLProfile) string { return p.Name })
	changes = compare(changes, "listener", old.Listeners, now.Listeners, (*Listener).Key)
	changes = compare(changes, "connector", old.Connectors, now.Connectors, (*Connector).Key)
	changes = compare(changes, "address", old.Addresses, now.Addresses, func(a *Address) string { return a.Match.String() })
	return compare(changes, "log", meant(old.Logs), meant(now.Logs), func(l *Log) string { return l.Module.String() })
}

// meant returns what logs say, with an entity for each module: without one nothing is
// said of it, which for DEFAULT is info+ to stderr.
func meant(logs []Log) []Log {
	list := make([]Log, len(logging.ModuleNames()))
	for m := range list {
		list[m].Module = logging.Module(m)
	}
	info, every := logging.AtLeast(logging.Info), logging.AtLeast(logging.Trace)
	is := func(p *bool, otherwise bool) bool { return p != nil && *p == otherwise }
	for _, l := range logs {
		if l.Enable != nil && l.Enable.Inherits() && *l.Enable&every == 0 {
			l.Enable = nil
		}
		if l.Module == logging.Default {
			if l.Enable != nil && *l.Enable == info {
				l.Enable = nil
			}
			if is(l.Timestamp, true) {
				l.Timestamp = nil
			}
			if is(l.Source, false) {
				l.Source = nil
			}
			if l.Output == "stderr" {
				l.Output = ""
			}
		}
		list[l.Module] = l
	}
	return list
}

func nameOr(name, otherwise string) string {
	if name != "" {
		return name
	}
	return otherwise
}

// compare compares entities of the same name; of several with the same name, such
// as listeners on any free port, the first with the first, and so on.
func compare[T any](changes []Change, section string, old, now []T, name func(*T) string) []Change {
	index := func(list []T) map[string][]int { // there may be thousands of addresses
		at := make(map[string][]int, len(list))
		for i := range list {
			n := name(&list[i])
			at[n] = append(at[n], i)
		}
		return at
	}
	nth := func(at map[string][]int, wanted string, n int) int {
		if list := at[wanted]; n < len(list) {
			return list[n]
		}
		return -1
	}
	inOld, inNow := index(old), index(now)
	seen := map[string]int{}
	for i := range old {
		c := Change{Section: section, Name: name(&old[i])}
		j := nth(inNow, c.Name, seen[c.Name])
		seen[c.Name]++
		if j >= 0 && same(&old[i], &now[j]) {
			continue
		}
		if j >= 0 {
			c.Attributes = differences(section, reflect.ValueOf(old[i]), reflect.ValueOf(now[j]))
			if c.Attributes == nil {
				continue
			}
		}
		changes = append(changes, c)
	}
	clear(seen)
	for i := range now {
		c := Change{Section: section, Name: name(&now[i]), Added: true}
		if nth(inOld, c.Name, seen[c.Name]) < 0 {
			changes = append(changes, c)
		}
		seen[c.Name]++
	}
	return changes
}

// same tells at once of two addresses, of which there may be thousands, that they do
// not differ. False says nothing.
func same[T any](old, now *T) bool {
	a, is := any(old).(*Address)
	if !is {
		return false
	}
	b := *any(now).(*Address)
	b.Pos = a.Pos
	return *a == b
}

// differences returns the names of the attributes that differ.
func differences(section string, old, now reflect.Value) (names []string) {
	for i := range old.NumField() {
		switch f := old.Type().Field(i); {
		case f.Name == "Pos" || f.Name == "Match":
		case f.Anonymous:
			names = append(names, differences(section, old.Field(i), now.Field(i))...)
		case !reflect.DeepEqual(old.Field(i).Interface(), now.Field(i).Interface()):
			names = append(names, attributeOf(section, f.Name))
		}
	}
	return names
}

// attributeNames are those that have little in common with the fields.
var attributeNames = map[string]string{
	"listener.Family":           "socketAddressFamily",
	"listener.HandshakeTimeout": "initialHandshakeTimeoutSeconds",
	"listener.RequireEncrypted": "requireEncryption",
	"connector.Family":          "protocolFamily",
	"address.Fallback":          "enableFallback",
	"address.MulticastPatience": "multicastPatienceSeconds",
	"log.Timestamp":             "includeTimestamp",
	"log.Source":                "includeSource",
	"log.Output":                "outputFile",
}

// attributeOf returns the attribute that a field of an entity holds.
func attributeOf(section, field string) string {
	if name := attributeNames[section+"."+field]; name != "" {
		return name
	}
	for _, a := range schema.ByFileName(section).Attributes {
		if !a.Settable() {
			continue
		}
		for _, suffix := range []string{"", "Seconds", "Bytes"} {
			if strings.EqualFold(a.Name, field+suffix) {
				return a.Name
			}
		}
	}
	panic(fmt.Sprintf("BUG: no attribute of %s for field %s", section, field))
}
