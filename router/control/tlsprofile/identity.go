package tlsprofile

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// uidFormat says how a certificate becomes a user identity.
type uidFormat struct {
	fields string            // letters; empty: the whole subject
	names  map[string]string // identity to display name, or nil
}

// maxUIDFormat is how many letters a uidFormat may have.
const maxUIDFormat = 7

// uidLetters are the letters of a uidFormat, and the attribute of the subject
// that each stands for; none for the fingerprints.
var uidLetters = map[rune]asn1.ObjectIdentifier{
	'c': {2, 5, 4, 6}, 's': {2, 5, 4, 8}, 'l': {2, 5, 4, 7}, 'o': {2, 5, 4, 10}, 'u': {2, 5, 4, 11}, 'n': {2, 5, 4, 3},
	'1': nil, '2': nil, '5': nil,
}

// parseUIDFormat parses a uidFormat. As with Qpid Dispatch, the identity is the
// whole subject if it is none; the error says so.
func parseUIDFormat(text string) (uidFormat, error) {
	const instead = "users are known by the whole subject of their certificate, as CN=…,O=…,C=…"
	if len(text) > maxUIDFormat {
		return uidFormat{}, fmt.Errorf("%q has more than %d letters: %s", text, maxUIDFormat, instead)
	}
	for _, c := range text {
		if _, ok := uidLetters[c]; !ok {
			return uidFormat{}, fmt.Errorf("%q in %q is no field: %s; expected letters of c s l o u n 1 2 5", c, text, instead)
		}
	}
	return uidFormat{fields: text}, nil
}

// parseNames parses a file of display names.
func parseNames(data []byte) (map[string]string, error) {
	var names map[string]string
	if err := json.Unmarshal(data, &names); err != nil {
		return nil, errors.New("expected a JSON map from identities to names: " + err.Error())
	}
	return names, nil
}

// identity returns the user identity of the holder of cert.
func (m *material) identity(cert *x509.Certificate) string {
	id := m.uid.of(cert)
	if name, ok := m.uid.names[id]; ok {
		return name
	}
	return id
}

func (f uidFormat) of(cert *x509.Certificate) string {
	var subject pkix.RDNSequence
	if _, err := asn1.Unmarshal(cert.RawSubject, &subject); err != nil {
		return cert.Subject.String() // cannot be: the certificate was parsed
	}
	if f.fields == "" {
		return subjectText(subject)
	}
	var parts []string
	for _, c := range f.fields {
		switch c {
		case '1':
			sum := sha1.Sum(cert.Raw)
			parts = append(parts, hex.EncodeToString(sum[:]))
		case '2':
			sum := sha256.Sum256(cert.Raw)
			parts = append(parts, hex.EncodeToString(sum[:]))
		case '5':
			sum := sha512.Sum512(cert.Raw)
			parts = append(parts, hex.EncodeToString(sum[:]))
		default:
			if text, ok := subjectField(subject, uidLetters[c]); ok {
				parts = append(parts, text)
			}
		}
	}
	return strings.Join(parts, ";")
}

func subjectField(subject pkix.RDNSequence, oid asn1.ObjectIdentifier) (string, bool) {
	for _, rdn := range subject {
		for _, a := range rdn {
			if a.Type.Equal(oid) {
				return fmt.Sprint(a.Value), true
			}
		}
	}
	return "", false
}

// attributeNames are the short names of RFC 4514 §3, and those that OpenSSL
// adds.
var attributeNames = map[string]string{
	"2.5.4.3": "CN", "2.5.4.5": "serialNumber", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "street",
	"2.5.4.10": "O", "2.5.4.11": "OU", "2.5.4.12": "title", "2.5.4.17": "postalCode", "2.5.4.4": "SN", "2.5.4.42": "GN",
	"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID", "1.2.840.113549.1.9.1": "emailAddress",
}

// subjectText writes a subject in the form of RFC 4514: the last RDN first,
// separated by commas.
func subjectText(subject pkix.RDNSequence) string {
	var b strings.Builder
	for i := len(subject) - 1; i >= 0; i-- {
		for j, a := range subject[i] {
			switch {
			case j > 0:
				b.WriteByte('+')
			case b.Len() > 0:
				b.WriteByte(',')
			}
			name, ok := attributeNames[a.Type.String()]
			if !ok {
				name = a.Type.String()
			}
			b.WriteString(name + "=" + escapeSubject(fmt.Sprint(a.Value)))
		}
	}
	return b.String()
}

// escapeSubject escapes a value by RFC 4514 §2.4.
func escapeSubject(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		first, last := i == 0, i == len(text)-1
		if strings.IndexByte(`,+"\<>;`, c) >= 0 || first && (c == '#' || c == ' ') || last && c == ' ' {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
