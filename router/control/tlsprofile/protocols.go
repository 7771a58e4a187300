package tlsprofile

import (
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
)

var protocolNames = []struct {
	name    string
	version uint16
}{
	{"TLSv1", tls.VersionTLS10}, {"TLSv1.1", tls.VersionTLS11}, {"TLSv1.2", tls.VersionTLS12}, {"TLSv1.3", tls.VersionTLS13},
}

// parseProtocols parses a list of protocol names. crypto/tls knows only a
// range, so that the list must not have a gap.
func parseProtocols(text string) (low, high uint16, err error) {
	chosen := map[uint16]bool{}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t,;", c) }) {
		found := false
		for _, p := range protocolNames {
			if strings.EqualFold(p.name, word) {
				chosen[p.version], found = true, true
			}
		}
		if !found {
			return 0, 0, fmt.Errorf("%q is no protocol; expected some of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3", word)
		}
	}
	for _, p := range protocolNames {
		switch {
		case !chosen[p.version]:
		case low == 0:
			low, high = p.version, p.version
		case high != p.version-1:
			return 0, 0, fmt.Errorf("%q leaves out a protocol between two others", text)
		default:
			high = p.version
		}
	}
	if low == 0 {
		return 0, 0, errors.New("no protocol is named; expected some of TLSv1, TLSv1.1, TLSv1.2, TLSv1.3")
	}
	return low, high, nil
}
