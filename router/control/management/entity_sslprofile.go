package management

import (
	"strings"

	"sluice/router/control/config"
	"sluice/router/control/schema"
)

func (d *Desk) sslProfileKind() *kind {
	k := &kind{schema: schema.ByName("sslProfile")}
	k.columns = order(k.schema, served)
	find := func(identity string) (config.SSLProfile, bool) {
		name, ok := strings.CutPrefix(identity, "sslProfile/")
		if !ok {
			return config.SSLProfile{}, false
		}
		return d.router.SSLProfile(name)
	}
	k.list = func() (list []string) {
		for _, p := range d.router.SSLProfiles() {
			list = append(list, "sslProfile/"+p.Name)
		}
		return list
	}
	k.row = func(identity string, to []any) ([]any, bool) {
		p, ok := find(identity)
		if !ok {
			return nil, false
		}
		v := map[string]any{"name": p.Name, "identity": identity, "type": schema.Prefix + "sslProfile"}
		for name, s := range profileSettings(&p) {
			if name != "password" && name != "name" {
				v[name] = orNil(s)
			}
		}
		return fill(k, to, v), true
	}
	k.named = func(name string) (string, bool) {
		_, ok := d.router.SSLProfile(name)
		return "sslProfile/" + name, ok
	}
	k.create = func(name string, a attributes) (string, error) {
		if name == "" {
			return "", badRequest("Missing required attribute 'name'")
		}
		if _, taken := find("sslProfile/" + name); taken {
			return "", duplicate("sslProfile", name, "sslProfile/"+name)
		}
		c, err := d.load(section{"sslProfile", a})
		if err != nil {
			return "", err
		}
		return "sslProfile/" + name, d.router.CreateSSLProfile(c.SSLProfiles[0])
	}
	k.remove = func(identity string) error {
		p, ok := find(identity)
		if !ok {
			return ErrNotFound
		}
		return d.router.DeleteSSLProfile(p.Name)
	}
	return k
}

// profileSettings are the attributes of a profile as they were given.
func profileSettings(p *config.SSLProfile) map[string]string {
	return map[string]string{
		"name": p.Name, "ciphers": p.Ciphers, "protocols": p.Protocols, "caCertFile": p.CACertFile, "certFile": p.CertFile,
		"privateKeyFile": p.PrivateKeyFile, "password": p.Password, "uidFormat": p.UIDFormat, "uidNameMappingFile": p.UIDNameMappingFile,
	}
}
