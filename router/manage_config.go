package router

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/amqp"
	"sluice/router/control/config"
	"sluice/router/control/logging"
	"sluice/router/control/management"
	"sluice/router/control/tlsprofile"
)

// A profile is an sslProfile and how the watch over its files ends.
type profile struct {
	*tlsprofile.Profile
	cfg   config.SSLProfile
	order int
	stop  func() // once it runs
}

// addProfile makes an sslProfile.
func (r *Router) addProfile(cfg config.SSLProfile) (*profile, error) {
	p, err := tlsprofile.New(cfg.Spec, r.logs.Logger(logging.Server))
	if err != nil {
		return nil, fmt.Errorf("sslProfile %s: %w", cfg.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	made := &profile{Profile: p, cfg: cfg, order: len(r.profiles)}
	for _, other := range r.profiles {
		made.order = max(made.order, other.order+1)
	}
	r.profiles[cfg.Name] = made
	return made, nil
}

var errNotRunning = errors.New("the router is shutting down")

func (m *manager) Listeners() (list []management.Listener) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for _, l := range m.r.listeners {
		list = append(list, management.Listener{Listener: l.cfg})
	}
	for _, h := range m.r.http {
		list = append(list, management.Listener{Listener: h.cfg})
	}
	return list
}

// ListenerWhere returns the first listener that matches.
func (m *manager) ListenerWhere(match func(*config.Listener) bool) (management.Listener, bool) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for _, l := range m.r.listeners {
		if match(&l.cfg) {
			return management.Listener{Listener: l.cfg}, true
		}
	}
	for _, h := range m.r.http {
		if match(&h.cfg) {
			return management.Listener{Listener: h.cfg}, true
		}
	}
	return management.Listener{}, false
}

func (m *manager) CreateListener(cfg config.Listener) error {
	r := m.r
	cfg.Pos = config.Position{}
	if err := r.loadUsers(&cfg); err != nil {
		return plainly(err)
	}
	accepting, serving := r.running.contexts()
	if cfg.HTTP {
		h, err := r.listenHTTP(cfg)
		if err != nil {
			return plainly(err)
		}
		stop, ok := r.running.start(serving, h.run)
		if !ok {
			h.close()
			return errNotRunning
		}
		r.mu.Lock()
		h.stop = stop
		r.mu.Unlock()
		return nil
	}
	l, err := r.listenAMQP(cfg)
	if err != nil {
		return plainly(err)
	}
	if _, ok := r.running.start(accepting, func(ctx context.Context) { l.Run(ctx) }); !ok {
		l.Close()
		return errNotRunning
	}
	return nil
}

// plainly leaves the place out of an error that is about no file.
func plainly(err error) error {
	text := strings.TrimPrefix(err.Error(), config.Position{}.String()+": ")
	text, _, _ = strings.Cut(text, "; --listen")
	text, _, _ = strings.Cut(text, "; --http")
	return errors.New(text)
}

// DeleteListener stops listening. AMQP connections that were accepted stay; those
// over WebSockets end with their listener.
func (m *manager) DeleteListener(cfg config.Listener) error {
	r := m.r
	same := func(l *config.Listener) bool {
		return l.HTTP == cfg.HTTP && l.Name == cfg.Name && l.Host == cfg.Host && l.Port == cfg.Port
	}
	r.mu.Lock()
	if i := slices.IndexFunc(r.http, func(h *httpListener) bool { return same(&h.cfg) }); i >= 0 {
		h := r.http[i]
		r.http = slices.Delete(r.http, i, i+1)
		stop := h.stop
		r.mu.Unlock()
		h.close()
		if stop != nil {
			stop()
		}
		logging.Notice(&h.log).Msgf("Listening for HTTP on %s has ended: the listener was deleted", h.Addr())
		return nil
	}
	i := slices.IndexFunc(r.listeners, func(l *listener) bool { return same(&l.cfg) })
	if i < 0 {
		r.mu.Unlock()
		return management.ErrNotFound
	}
	l := r.listeners[i]
	r.listeners = slices.Delete(r.listeners, i, i+1)
	r.mu.Unlock()
	l.Close()
	log := r.logs.Logger(logging.Server)
	logging.Notice(&log).Msgf("Listening on %s has ended: the listener was deleted", l.Addr())
	return nil
}

func (m *manager) Connectors() (list []management.Connector) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for _, c := range m.r.connectors {
		list = append(list, c.view())
	}
	return list
}

// ConnectorWhere returns the first connector that matches.
func (m *manager) ConnectorWhere(match func(*config.Connector) bool) (management.Connector, bool) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for _, c := range m.r.connectors {
		if match(&c.cfg) {
			return c.view(), true
		}
	}
	return management.Connector{}, false
}

// view is the connector as management shows it.
func (c *connector) view() management.Connector {
	s := c.Status()
	v := management.Connector{Connector: c.cfg, Status: s.State}
	for _, p := range s.Places {
		v.FailoverURLs = append(v.FailoverURLs, p.String())
	}
	at := s.Places[0].Address
	if s.Text != "" {
		v.Message = fmt.Sprintf("Connection to %s failed: %s", at, s.Text)
	}
	switch s.State {
	case "":
		v.Status = "INITIALIZING"
	case "SUCCESS":
		v.Message = "Connection Opened: dir=out host=" + at
	case "FAILED": // and tried again
		v.Status = "CONNECTING"
	}
	return v
}

func (m *manager) CreateConnector(cfg config.Connector) error {
	r := m.r
	accepting, _ := r.running.contexts()
	c := r.addConnector(cfg)
	stop, ok := r.running.start(accepting, func(ctx context.Context) { c.Run(ctx) })
	if !ok {
		return errNotRunning
	}
	r.mu.Lock()
	c.stop = stop
	r.mu.Unlock()
	return nil
}

// DeleteConnector ends the connector and its connection.
func (m *manager) DeleteConnector(cfg config.Connector) error {
	r := m.r
	r.mu.Lock()
	i := slices.IndexFunc(r.connectors, func(c *connector) bool {
		return c.cfg.Name == cfg.Name && c.cfg.Host == cfg.Host && c.cfg.Port == cfg.Port
	})
	if i < 0 {
		r.mu.Unlock()
		return management.ErrNotFound
	}
	c := r.connectors[i]
	r.connectors = slices.Delete(r.connectors, i, i+1)
	stop := c.stop
	r.mu.Unlock()
	c.End()
	for _, conn := range r.connections() {
		if conn.connector == c {
			conn.driver.Close(amqp.Errorf(amqp.CondConnectionForced, "the connector was deleted by management"))
		}
	}
	if stop != nil {
		stop()
	}
	return nil
}

func (m *manager) SSLProfiles() (list []config.SSLProfile) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	var all []*profile
	for _, p := range m.r.profiles {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *profile) int { return a.order - b.order })
	for _, p := range all {
		list = append(list, p.cfg)
	}
	return list
}

// SSLProfile returns the profile with a name.
func (m *manager) SSLProfile(name string) (config.SSLProfile, bool) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	p := m.r.profiles[name]
	if p == nil {
		return config.SSLProfile{}, false
	}
	return p.cfg, true
}

func (m *manager) CreateSSLProfile(cfg config.SSLProfile) error {
	p, err := m.r.addProfile(cfg)
	if err != nil {
		return err
	}
	_, serving := m.r.running.contexts()
	stop, ok := m.r.running.start(serving, func(ctx context.Context) { p.Watch(ctx) })
	if !ok {
		return errNotRunning
	}
	m.r.mu.Lock()
	p.stop = stop
	m.r.mu.Unlock()
	return nil
}

// DeleteSSLProfile refuses as long as somebody refers to the profile.
func (m *manager) DeleteSSLProfile(name string) error {
	r := m.r
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.profiles[name]
	if p == nil {
		return management.ErrNotFound
	}
	for _, l := range r.listeners {
		if l.cfg.SSLProfile == name {
			return fmt.Errorf("sslProfile '%s' is used by listener %s", name, listenerName(&l.cfg))
		}
	}
	for _, h := range r.http {
		if h.cfg.SSLProfile == name {
			return fmt.Errorf("sslProfile '%s' is used by listener %s", name, listenerName(&h.cfg))
		}
	}
	for _, c := range r.connectors {
		if c.cfg.SSLProfile == name {
			return fmt.Errorf("sslProfile '%s' is used by connector %s", name, c.cfg.Address())
		}
	}
	delete(r.profiles, name)
	if p.stop != nil {
		p.stop()
	}
	return nil
}

// changes are what management has made, changed and removed of the configuration
// since files were last read, such as "+ listener extra", "~ log SERVER: enable"
// and "- address a/#".
func (m *manager) changes() (list []string) {
	r := m.r
	r.mu.Lock()
	of := r.reloaded
	r.mu.Unlock()
	now := config.Config{Router: of.Router, SSLProfiles: m.SSLProfiles()}
	for _, l := range m.Listeners() {
		now.Listeners = append(now.Listeners, l.Listener)
	}
	for _, c := range m.Connectors() {
		now.Connectors = append(now.Connectors, c.Connector)
	}
	for _, id := range m.ConfigAddresses() {
		if a, ok := m.ConfigAddress(id); ok {
			now.Addresses = append(now.Addresses, a)
		}
	}
	for module := range logging.ModuleNames() {
		now.Logs = append(now.Logs, config.Log{Setting: r.logs.Setting(logging.Module(module))})
	}
	for _, c := range config.Changes(of, &now) {
		what := c.Section + " " + c.Name
		switch {
		case c.Added:
			list = append(list, "+ "+what)
		case c.Attributes != nil:
			list = append(list, "~ "+what+": "+strings.Join(c.Attributes, ", "))
		default:
			list = append(list, "- "+what)
		}
	}
	return list
}

func (m *manager) ConfigAddresses() []uint64 { return m.r.treatments.numbers() }

func (m *manager) ConfigAddress(id uint64) (config.Address, bool) { return m.r.treatments.entity(id) }

func (m *manager) ConfigAddressNamed(name string) (uint64, bool) { return m.r.treatments.named(name) }

func (m *manager) CreateAddress(a config.Address) (uint64, error) { return m.r.treatments.create(a) }

func (m *manager) DeleteAddress(id uint64) error { return m.r.treatments.remove(id) }

func (m *manager) Logs() *logging.Logs { return m.r.logs }
