package router

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/router/control/config"
)

// Reload puts into force what of a new configuration can change while the
// router runs: how addresses that come into use later are treated, the memory
// limit, and the content of certificates and users files. It returns what has
// changed by that, and what needs a restart. The log settings are not its
// business.
func (r *Router) Reload(c *config.Config) (applied, restart []string) {
	if s := addressChanges(config.Changes(r.reloaded, c)); s != "" {
		applied = append(applied, s)
	}
	if was, is := r.reloaded.Router.DefaultDistribution, c.Router.DefaultDistribution; was != is {
		applied = append(applied, fmt.Sprintf("defaultDistribution is %s", is))
	}
	if was, is := r.reloaded.Router.MemoryLimit, c.Router.MemoryLimit; was != is {
		applied = append(applied, "memoryLimit")
	}
	r.treatments.load(c)
	r.limit = c.Router.MemoryLimit
	r.budgetMemory()
	r.reloaded = c
	r.mu.Lock()
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
		switch change.Section {
		case "address", "log":
			continue
		case "router":
			change.Attributes = slices.DeleteFunc(change.Attributes, func(name string) bool {
				return name == "defaultDistribution" || name == "memoryLimit"
			})
			if len(change.Attributes) == 0 {
				continue
			}
		}
		restart = append(restart, change.String())
	}
	return applied, restart
}

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
