package router

import (
	"errors"
	"fmt"
	"slices"

	"sluice/router/control/config"
	"sluice/router/control/management"
)

// A step is one thing that a reload does, and how it is undone.
type step struct {
	what string
	do   func() error
	undo func() error
}

// An entity is one of a configuration, by its key.
type entity struct{ section, key string }

// plan returns what leads from one configuration to another: what goes first,
// with what depends on it before, then what comes, in the opposite order. What
// has changed goes and comes.
func (r *Router) plan(old, now *config.Config, changes []config.Change) (steps []step) {
	m := &manager{r: r}
	// There may be thousands of each.
	were, are := make(map[entity]bool), make(map[entity]bool)
	for _, c := range changes {
		if !c.Added {
			were[entity{c.Section, c.Name}] = true
		}
		if c.Added || c.Attributes != nil {
			are[entity{c.Section, c.Name}] = true
		}
	}
	gone := func(section, name string) bool { return were[entity{section, name}] }
	come := func(section, name string) bool { return are[entity{section, name}] }
	// Who uses a profile that changes is made again with it.
	stale := func(profile string) bool { return profile != "" && gone("sslProfile", profile) }
	connector := thing[config.Connector]{"connector", (*config.Connector).Key, func(c *config.Connector) string { return c.SSLProfile }, m.CreateConnector, m.DeleteConnector}
	listener := thing[config.Listener]{"listener", (*config.Listener).Key, func(l *config.Listener) string { return l.SSLProfile }, m.CreateListener, m.DeleteListener}
	profile := thing[config.SSLProfile]{
		"sslProfile", func(p *config.SSLProfile) string { return p.Name }, func(*config.SSLProfile) string { return "" },
		m.CreateSSLProfile, func(p config.SSLProfile) error { return m.DeleteSSLProfile(p.Name) },
	}
	steps = connector.end(steps, old.Connectors, gone, stale)
	steps = listener.end(steps, old.Listeners, gone, stale)
	steps = profile.end(steps, old.SSLProfiles, gone, stale)
	steps = profile.begin(steps, now.SSLProfiles, come, stale)
	steps = listener.begin(steps, now.Listeners, come, stale)
	return connector.begin(steps, now.Connectors, come, stale)
}

// adopt looks for what files have now and management has made before. What is the
// same is taken over as it is: a change of it is none any more. What differs is to
// be made again, and so it is among those that have been there. Of what the files say
// something else than before, that counts which runs, which management may have made
// instead of what they said.
func (r *Router) adopt(old, now *config.Config) *config.Config {
	m := &manager{r: r}
	base := *old
	var listeners []config.Listener
	for _, l := range m.Listeners() {
		listeners = append(listeners, l.Listener)
	}
	var connectors []config.Connector
	for _, c := range m.Connectors() {
		connectors = append(connectors, c.Connector)
	}
	changed := make(map[entity]bool)
	for _, c := range config.Changes(old, now) {
		changed[entity{c.Section, c.Name}] = true
	}
	in := func(section string) func(key string) bool {
		return func(key string) bool { return changed[entity{section, key}] }
	}
	base.SSLProfiles = adopted(base.SSLProfiles, now.SSLProfiles, m.SSLProfiles(), func(p *config.SSLProfile) string { return p.Name }, in("sslProfile"))
	base.Listeners = adopted(base.Listeners, now.Listeners, listeners, (*config.Listener).Key, in("listener"))
	base.Connectors = adopted(base.Connectors, now.Connectors, connectors, (*config.Connector).Key, in("connector"))
	return &base
}

// adopted adds to a list those that run and that it does not have, if they are in
// the new list, and has those that run for what is changed.
func adopted[T any](list, now, running []T, key func(*T) string, changed func(key string) bool) []T {
	list = slices.Clone(list)
	left := make(map[string][]*T) // of several with one key each stands for one
	for i := range running {
		name := key(&running[i])
		left[name] = append(left[name], &running[i])
	}
	has, wanted := make(map[string]bool), make(map[string]bool)
	for i := range list {
		name := key(&list[i])
		has[name] = true
		if of := left[name]; len(of) > 0 {
			if changed(name) {
				list[i] = *of[0]
			}
			left[name] = of[1:]
		}
	}
	for i := range now {
		wanted[key(&now[i])] = true
	}
	for i := range running {
		if name := key(&running[i]); !has[name] && wanted[name] {
			has[name] = true
			list = append(list, running[i])
		}
	}
	return list
}

// A thing is a kind of entity that a reload makes and ends.
type thing[T any] struct {
	section        string
	key, profile   func(*T) string
	create, remove func(T) error
}

// end adds the steps that end those of a list that have gone or changed.
func (k thing[T]) end(steps []step, list []T, gone func(section, key string) bool, stale func(profile string) bool) []step {
	for i := range list {
		if e := &list[i]; gone(k.section, k.key(e)) || stale(k.profile(e)) {
			steps = append(steps, step{k.section + " " + k.key(e) + " ends", func() error { return k.remove(*e) }, func() error { return k.create(*e) }})
		}
	}
	return steps
}

// begin adds the steps that make those of a list that have come or changed.
func (k thing[T]) begin(steps []step, list []T, come func(section, key string) bool, stale func(profile string) bool) []step {
	for i := range list {
		if e := &list[i]; come(k.section, k.key(e)) || stale(k.profile(e)) {
			steps = append(steps, step{k.section + " " + k.key(e) + " begins", func() error { return k.create(*e) }, func() error { return k.remove(*e) }})
		}
	}
	return steps
}

// apply takes the steps. If one fails those before it are undone, from the last
// to the first.
func (r *Router) apply(steps []step) (applied []string, err error) {
	var done []step
	for _, s := range steps {
		err := s.do()
		if errors.Is(err, management.ErrNotFound) {
			continue // management has removed it before
		}
		if err == nil {
			done, applied = append(done, s), append(applied, s.what)
			continue
		}
		err = fmt.Errorf("%s: %w", s.what, err)
		for _, d := range slices.Backward(done) {
			if u := d.undo(); u != nil {
				err = fmt.Errorf("%w; and what had been done cannot be undone: %s: %v", err, d.what, u)
			}
		}
		return nil, err
	}
	return applied, nil
}
