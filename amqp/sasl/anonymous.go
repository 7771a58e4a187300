package sasl

// Anonymous is the mechanism of RFC 4505: anyone is let in. The trace information that clients may send is ignored.
type Anonymous struct {
	User string // identity of those who use it; empty means "anonymous"
}

func (m *Anonymous) Name() string { return MechanismAnonymous }

func (m *Anonymous) Start(initial []byte, has bool) ([]byte, *Result, error) {
	if m.User == "" {
		return nil, authOK("anonymous"), nil
	}
	return nil, authOK(m.User), nil
}

func (m *Anonymous) Next([]byte) ([]byte, *Result, error) { return nil, authFailed(), nil }
