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

// plan returns what leads from one configuration to another: what goes first,
// with what depends on it before, then what comes, in the opposite order. What
// has changed goes and comes.
func (r *Router) plan(old, now *config.Config, changes []config.Change) (steps []step) {
	m := &manager{r: r}
	gone := func(section, name string) bool {
		return slices.ContainsFunc(changes, func(c config.Change) bool { return c.Section == section && c.Name == name && !c.Added })
	}
	come := func(section, name string) bool {
		return slices.ContainsFunc(changes, func(c config.Change) bool {
			return c.Section == section && c.Name == name && (c.Added || c.Attributes != nil)
		})
	}
	// Who uses a profile that changes is made again with it.
	stale := func(profile string) bool { return profile != "" && gone("sslProfile", profile) }
	for i := range old.Connectors {
		if c := old.Connectors[i]; gone("connector", c.Key()) || stale(c.SSLProfile) {
			steps = append(steps, step{"connector " + c.Key() + " ends", func() error { return m.DeleteConnector(c) }, func() error { return m.CreateConnector(c) }})
		}
	}
	for i := range old.Listeners {
		if l := old.Listeners[i]; gone("listener", l.Key()) || stale(l.SSLProfile) {
			steps = append(steps, step{"listener " + l.Key() + " ends", func() error { return m.DeleteListener(l) }, func() error { return m.CreateListener(l) }})
		}
	}
	for i := range old.SSLProfiles {
		if p := old.SSLProfiles[i]; gone("sslProfile", p.Name) {
			steps = append(steps, step{"sslProfile " + p.Name + " ends", func() error { return m.DeleteSSLProfile(p.Name) }, func() error { return m.CreateSSLProfile(p) }})
		}
	}
	for i := range now.SSLProfiles {
		if p := now.SSLProfiles[i]; come("sslProfile", p.Name) {
			steps = append(steps, step{"sslProfile " + p.Name + " begins", func() error { return m.CreateSSLProfile(p) }, func() error { return m.DeleteSSLProfile(p.Name) }})
		}
	}
	for i := range now.Listeners {
		if l := now.Listeners[i]; come("listener", l.Key()) || stale(l.SSLProfile) {
			steps = append(steps, step{"listener " + l.Key() + " begins", func() error { return m.CreateListener(l) }, func() error { return m.DeleteListener(l) }})
		}
	}
	for i := range now.Connectors {
		if c := now.Connectors[i]; come("connector", c.Key()) || stale(c.SSLProfile) {
			steps = append(steps, step{"connector " + c.Key() + " begins", func() error { return m.CreateConnector(c) }, func() error { return m.DeleteConnector(c) }})
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
