package web

import "net/http"

// Auth says who may ask for what is not for everybody: those with a client
// certificate that TLS has verified, or a user with a password.
type Auth struct {
	// Verify checks a user's password; nil where there are no users.
	Verify func(user, password string) bool
}

// guard lets those through to h who have shown who they are.
func (a *Auth) guard(h http.Handler) http.Handler {
	if a == nil {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
			h.ServeHTTP(w, r)
			return
		}
		if a.Verify == nil {
			plain(w, http.StatusForbidden, "a client certificate is needed here")
			return
		}
		user, password, given := r.BasicAuth()
		if !given || !a.Verify(user, password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="sluice", charset="UTF-8"`)
			plain(w, http.StatusUnauthorized, "user and password are needed here, or a client certificate")
			return
		}
		h.ServeHTTP(w, r)
	})
}
