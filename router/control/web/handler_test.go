package web

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func options() Options {
	return Options{
		Name: "R", Healthz: true, Metrics: NewMetrics(10, func() Snapshot { return Snapshot{} }),
		Ready: func() string { return "" },
		AMQP:  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) },
	}
}

// / says what is here, and what is not here says so.
func TestIndex(t *testing.T) {
	h := Handler(options())
	if w := get(h, "GET", "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "router R") ||
		!strings.Contains(w.Body.String(), "/metrics") || !strings.Contains(w.Body.String(), "/readyz") || !strings.Contains(w.Body.String(), "subprotocol amqp") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get(h, "GET", "/nope"); w.Code != 404 || !strings.Contains(w.Body.String(), "no /nope here") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	o := options()
	o.Metrics, o.AMQP, o.Healthz = nil, nil, false
	if w := get(Handler(o), "GET", "/"); strings.Contains(w.Body.String(), "/metrics") || strings.Contains(w.Body.String(), "ws") || strings.Contains(w.Body.String(), "healthz") {
		t.Errorf("%s", w.Body)
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz"} {
		if w := get(Handler(o), "GET", path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// As the routers of the existing family answer.
func TestHealthAndMetrics(t *testing.T) {
	o := options()
	waits := "for something"
	o.Ready = func() string { return waits }
	h := Handler(o)
	for _, method := range []string{"GET", "POST"} {
		if w := get(h, method, "/healthz"); w.Code != 200 || w.Body.String() != "OK\n" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
		}
	}
	if w := get(h, "GET", "/readyz"); w.Code != 503 || w.Body.String() != "for something\n" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	waits = ""
	if w := get(h, "GET", "/readyz"); w.Code != 200 {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	for _, path := range []string{"/metrics", "/metrics/sub"} {
		if w := get(h, "GET", path); w.Code != 200 || !strings.Contains(w.Body.String(), "\nsluice_links 0\n") {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// A request for a WebSocket becomes one on any path, where that is enabled.
func TestWebSocketRequests(t *testing.T) {
	ask := func(o Options, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Upgrade", "websocket")
		Handler(o).ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/", "/metrics", "/amqp"} {
		if w := ask(options(), path); w.Code != http.StatusSwitchingProtocols {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	o := options()
	o.AMQP = nil
	if w := ask(o, "/"); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "not enabled") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	o = options()
	o.RequireTLS = true
	if w := ask(o, "/"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "HTTPS only") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What says more than that the router lives is for those who have shown who they
// are, with a certificate or a password.
func TestAuth(t *testing.T) {
	o := options()
	o.Auth = &Auth{}
	verified := &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{{}}}}
	for _, test := range []struct {
		path, user, password string
		tls                  *tls.ConnectionState
		users                bool
		status               int
	}{
		{"/healthz", "", "", nil, false, 200},
		{"/readyz", "", "", nil, false, 200},
		{"/metrics", "", "", nil, false, 403},
		{"/metrics", "", "", &tls.ConnectionState{}, false, 403},
		{"/metrics", "a", "b", nil, false, 403},
		{"/metrics", "", "", verified, false, 200},
		{"/", "", "", nil, false, 403},
		{"/metrics", "", "", nil, true, 401},
		{"/metrics", "a", "wrong", nil, true, 401},
		{"/metrics", "a", "b", nil, true, 200},
		{"/metrics", "", "", verified, true, 200},
	} {
		o.Auth.Verify = nil
		if test.users {
			o.Auth.Verify = func(user, password string) bool { return user == "a" && password == "b" }
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", test.path, nil)
		r.TLS = test.tls
		if test.user != "" {
			r.SetBasicAuth(test.user, test.password)
		}
		Handler(o).ServeHTTP(w, r)
		if w.Code != test.status || (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%+v: %d %s", test, w.Code, w.Body)
		}
	}
}
