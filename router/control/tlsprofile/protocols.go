package tlsprofile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// protocolNames are the versions that are offered.
var protocolNames = map[string]uint16{"tlsv1.2": tls.VersionTLS12, "tlsv1.3": tls.VersionTLS13}

// oldProtocols are names that existing configurations have for versions that
// nobody should speak any more (RFC 7568, RFC 8996). SSLv23 is OpenSSL's name
// for whatever both sides have.
var oldProtocols = map[string]bool{"sslv2": true, "sslv3": true, "tlsv1": true, "tlsv1.0": true, "tlsv1.1": true, "sslv23": false}

// parseProtocols parses a list of protocol names. What is too old is left out,
// and note says so. Where nothing else is named TLSv1.2 takes its place: those who
// wrote that meant the best there was, and peers of today have it.
func parseProtocols(text string) (low, high uint16, note string, err error) {
	var old, unknown []string
	add := func(version uint16) {
		if low == 0 {
			low = version
		}
		low, high = min(low, version), max(high, version)
	}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t,;", c) }) {
		name := strings.ToLower(word)
		tooOld, known := oldProtocols[name]
		switch version := protocolNames[name]; {
		case version != 0:
			add(version)
		case tooOld:
			old = append(old, word)
		case known:
			old = append(old, word)
			add(tls.VersionTLS12)
			add(tls.VersionTLS13)
		default:
			unknown = append(unknown, word)
		}
	}
	if unknown != nil {
		return 0, 0, "", fmt.Errorf("%s no protocol; expected TLSv1.2, TLSv1.3 or both", areNot(unknown))
	}
	switch {
	case low == 0 && old == nil:
		return 0, 0, "", errors.New("no protocol is named; expected TLSv1.2, TLSv1.3 or both")
	case low == 0:
		add(tls.VersionTLS12)
		fallthrough
	case old != nil:
		offered := "TLSv1.2 and TLSv1.3 are"
		if low == high {
			offered = strings.Replace(tls.VersionName(low), "TLS 1", "TLSv1", 1) + " is"
		}
		note = fmt.Sprintf("%s: versions before TLSv1.2 are not offered, only %s; name TLSv1.2, TLSv1.3 or both", strings.Join(old, " "), offered)
	}
	return low, high, note, nil
}

// areNot begins a sentence about one word or several.
func areNot(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	verb := " is"
	if len(words) > 1 {
		verb = " are"
	}
	return strings.Join(quoted, ", ") + verb
}
