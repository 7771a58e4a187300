package router

import (
	"reflect"

	"sluice/router/control/config"
)

// Reload puts into force what of a new configuration can change while the
// router runs: how addresses that come into use later are treated, and
// certificates and users files. It returns what needs a restart.
func (r *Router) Reload(c *config.Config) []string {
	r.treatments.Store(newTreatments(c))
	var restart []string
	for name, p := range r.profiles {
		if err := p.Reload(); err != nil {
			restart = append(restart, "sslProfile "+name+" keeps its certificates: "+err.Error())
		}
	}
	for name, u := range r.users {
		if err := u.Reload(); err != nil {
			restart = append(restart, "users file "+name+" stays as it was: "+err.Error())
		}
	}
	old := r.cfg
	if !same(old.Router, c.Router) {
		restart = append(restart, "the router entity has changed")
	}
	if !same(old.Listeners, c.Listeners) {
		restart = append(restart, "listeners have changed")
	}
	if !same(old.Connectors, c.Connectors) {
		restart = append(restart, "connectors have changed")
	}
	if !same(old.SSLProfiles, c.SSLProfiles) {
		restart = append(restart, "sslProfiles have changed")
	}
	return restart
}

// same compares entities without their places in files.
func same(a, b any) bool {
	return reflect.DeepEqual(withoutPlaces(reflect.ValueOf(a)), withoutPlaces(reflect.ValueOf(b)))
}

// withoutPlaces returns a copy of v, a struct or a slice of structs, with every
// field Pos zero.
func withoutPlaces(v reflect.Value) any {
	if v.Kind() == reflect.Slice {
		out := make([]any, v.Len())
		for i := range out {
			out[i] = withoutPlaces(v.Index(i))
		}
		return out
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	if p := c.FieldByName("Pos"); p.IsValid() {
		p.SetZero()
	}
	return c.Interface()
}
