package tlsprofile

// Spec holds the attributes of an sslProfile entity, as configured.
type Spec struct {
	Name               string
	CACertFile         string // PEM: whom to trust. Empty: the roots of the system
	CertFile           string // PEM: own certificate, with its chain
	PrivateKeyFile     string // PEM: key of CertFile
	Password           string // of the key; env:, file:, pass: and literal: forms
	Protocols          string // TLSv1.2, TLSv1.3, separated by blanks; older ones are left out. Empty: both
	Ciphers            string // OpenSSL cipher string, for TLS up to 1.2. Empty: Go's choice
	UIDFormat          string // which certificate fields make the user identity
	UIDNameMappingFile string // JSON map from identity to display name
}

// SpecError is something wrong with one attribute of a Spec.
type SpecError struct {
	Attribute string // as the schema spells it: certFile, …
	Err       error
	Warning   bool // the profile can be used; Err says what it does instead
}

func (e *SpecError) Error() string { return e.Attribute + ": " + e.Err.Error() }
func (e *SpecError) Unwrap() error { return e.Err }
