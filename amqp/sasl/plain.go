package sasl

import (
	"bytes"
	"unicode/utf8"
)

// PlainVerifier decides whether a user may log in with a password, and as which identity. err means that it could not be
// decided. An implementation that compares secrets must do so in constant time.
type PlainVerifier func(user, password string) (identity string, ok bool, err error)

// Plain is the mechanism of RFC 4616.
type Plain struct {
	Verify PlainVerifier

	asked bool // the empty challenge was sent
}

func (m *Plain) Name() string { return MechanismPlain }

func (m *Plain) Start(initial []byte, has bool) ([]byte, *Result, error) {
	if !has {
		// RFC 4422 §4.2: the client goes first, so without initial response it is asked with an empty challenge.
		m.asked = true
		return []byte{}, nil, nil
	}
	return m.verify(initial)
}

func (m *Plain) Next(response []byte) ([]byte, *Result, error) {
	if !m.asked {
		return nil, authFailed(), nil
	}
	m.asked = false
	return m.verify(response)
}

// verify checks a message of the form [authzid] NUL authcid NUL passwd.
func (m *Plain) verify(message []byte) ([]byte, *Result, error) {
	authzid, authcid, password, ok := splitPlain(message)
	if !ok {
		return nil, authFailed(), nil
	}
	identity, ok, err := m.Verify(authcid, password)
	if err != nil {
		return nil, nil, err
	}
	// Acting for someone else is not supported. Asking to act as oneself is what some clients do (BC-79).
	if !ok || authzid != "" && authzid != authcid && authzid != identity {
		return nil, authFailed(), nil
	}
	return nil, authOK(identity), nil
}

func splitPlain(message []byte) (authzid, authcid, password string, ok bool) {
	parts := bytes.Split(message, []byte{0})
	// RFC 4616 §2: authcid and passwd have at least one character each.
	if len(parts) != 3 || len(parts[1]) == 0 || len(parts[2]) == 0 || !utf8.Valid(message) {
		return "", "", "", false
	}
	return string(parts[0]), string(parts[1]), string(parts[2]), true
}
