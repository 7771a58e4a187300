package router

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/router/control/config"
)

// Reload puts a new configuration into force, as far as that can be done while
// the router runs: sslProfiles, listeners and connectors that have come, gone or
// changed, how addresses that come into use later are treated, the memory limit,
// and the content of certificates and users files. It returns what has changed by
// that, and what needs a restart. If a step fails, those before it are undone,
// and with an error nothing has changed. What management has made or removed
// meanwhile is left as it is, unless the files now say the same or something else
// of it. The log settings are not the business of Reload.
func (r *Router) Reload(c *config.Config) (applied, restart []string, err error) {
	old := r.adopt(r.reloaded, c)
	changes := config.Changes(old, c)
	if applied, err = r.apply(r.plan(old, c, changes)); err != nil {
		return nil, nil, err
	}
	if s := addressChanges(changes); s != "" {
		applied = append(applied, s)
	}
	if was, is := r.reloaded.Router.DefaultDistribution, c.Router.DefaultDistribution; was != is {
		applied = append(applied, fmt.Sprintf("defaultDistribution is %s", is))
	}
	if was, is := r.reloaded.Router.MemoryLimit, c.Router.MemoryLimit; was != is {
		applied = append(applied, "memoryLimit")
	}
	if r.stuck.after(c.Router.StuckDelivery) {
		applied = append(applied, "stuckDeliverySeconds")
	}
	r.treatments.load(c)
	r.limit = c.Router.MemoryLimit
	r.budgetMemory()
	r.mu.Lock()
	r.reloaded = c
	profiles, users := maps.Clone(r.profiles), maps.Clone(r.users)
	r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(profiles)) {
		switch changed, err := profiles[name].Reload(); {
		case err != nil:
			restart = append(restart, err.Error()+" (it keeps what it has)")
		case changed:
			applied = append(applied, "certificates of sslProfile "+name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(users)) {
		switch changed, err := users[name].Reload(); {
		case err != nil:
			restart = append(restart, "users file "+name+": "+err.Error()+" (it stays as it was)")
		case changed:
			applied = append(applied, "users of "+name)
		}
	}
	for _, change := range config.Changes(r.cfg, c) {
		if rest, any := change.Restart(); any {
			restart = append(restart, rest.String())
		}
	}
	return applied, restart, nil
}

// LogsChanged is told when levels of logs have changed: connections that there are
// begin or end to log their frames.
func (r *Router) LogsChanged() { r.manager.LogsChanged() }

// addressChanges sums up the changes of addresses.
func addressChanges(changes []config.Change) string {
	var added, changed, removed int
	for _, c := range changes {
		switch {
		case c.Section != "address":
		case c.Added:
			added++
		case c.Attributes != nil:
			changed++
		default:
			removed++
		}
	}
	var counts []string
	for _, n := range []struct {
		n    int
		what string
	}{{added, "added"}, {changed, "changed"}, {removed, "removed"}} {
		if n.n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n.n, n.what))
		}
	}
	if counts == nil {
		return ""
	}
	return "addresses: " + strings.Join(counts, ", ")
}
