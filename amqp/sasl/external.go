package sasl

// External is the mechanism of RFC 4422, appendix A: the identity comes from the TLS layer.
type External struct {
	Identity string // of the verified client certificate; empty refuses everyone

	asked bool // the empty challenge was sent
}

func (m *External) Name() string { return MechanismExternal }

func (m *External) Start(initial []byte, has bool) ([]byte, *Result, error) {
	if !has {
		m.asked = true
		return []byte{}, nil, nil
	}
	return m.verify(initial)
}

func (m *External) Next(response []byte) ([]byte, *Result, error) {
	if !m.asked {
		return nil, authFailed(), nil
	}
	m.asked = false
	return m.verify(response)
}

// verify checks the authorization identity that the client asks for; empty means the one of the certificate.
func (m *External) verify(authzid []byte) ([]byte, *Result, error) {
	if m.Identity == "" || len(authzid) != 0 && string(authzid) != m.Identity {
		return nil, authFailed(), nil
	}
	return nil, authOK(m.Identity), nil
}
