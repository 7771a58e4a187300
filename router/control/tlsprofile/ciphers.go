package tlsprofile

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
)

// openSSLNames are the names by which OpenSSL knows the cipher suites of
// crypto/tls, for TLS up to 1.2, in order of preference.
var openSSLNames = []struct {
	name  string
	suite uint16
}{
	{"ECDHE-ECDSA-AES128-GCM-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
	{"ECDHE-RSA-AES128-GCM-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
	{"ECDHE-ECDSA-AES256-GCM-SHA384", tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384},
	{"ECDHE-RSA-AES256-GCM-SHA384", tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
	{"ECDHE-ECDSA-CHACHA20-POLY1305", tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
	{"ECDHE-RSA-CHACHA20-POLY1305", tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256},
	{"ECDHE-ECDSA-AES128-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA},
	{"ECDHE-RSA-AES128-SHA", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA},
	{"ECDHE-ECDSA-AES256-SHA", tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA},
	{"ECDHE-RSA-AES256-SHA", tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA},
	{"ECDHE-ECDSA-AES128-SHA256", tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256},
	{"ECDHE-RSA-AES128-SHA256", tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256},
	{"AES128-GCM-SHA256", tls.TLS_RSA_WITH_AES_128_GCM_SHA256},
	{"AES256-GCM-SHA384", tls.TLS_RSA_WITH_AES_256_GCM_SHA384},
	{"AES128-SHA", tls.TLS_RSA_WITH_AES_128_CBC_SHA},
	{"AES256-SHA", tls.TLS_RSA_WITH_AES_256_CBC_SHA},
	{"AES128-SHA256", tls.TLS_RSA_WITH_AES_128_CBC_SHA256},
	{"ECDHE-RSA-DES-CBC3-SHA", tls.TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA},
	{"DES-CBC3-SHA", tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA},
	{"ECDHE-ECDSA-RC4-SHA", tls.TLS_ECDHE_ECDSA_WITH_RC4_128_SHA},
	{"ECDHE-RSA-RC4-SHA", tls.TLS_ECDHE_RSA_WITH_RC4_128_SHA},
	{"RC4-SHA", tls.TLS_RSA_WITH_RC4_128_SHA},
}

// foreignParts are parts of names that OpenSSL knows and Go does not implement.
// Such suites are passed over as long as another remains.
var foreignParts = []string{"DHE-RSA-", "DHE-DSS-", "DHE-PSK-", "ADH-", "AECDH-", "ECDH-", "DH-", "PSK-", "SRP-", "CAMELLIA", "ARIA",
	"CCM", "SEED-", "IDEA-", "NULL-", "EXP-", "EDH-", "ECDHE-RSA-AES256-SHA384", "ECDHE-ECDSA-AES256-SHA384", "AES256-SHA256"}

// groups are words of cipher strings that stand for many suites, and how to
// tell whether a suite, by its OpenSSL name, is among them.
var groups = map[string]func(name string) bool{
	"ALL":     func(string) bool { return true },
	"DEFAULT": strong,
	"HIGH":    strong,
	"SECURE":  strong,
	"MEDIUM":  has("RC4"),
	"RC4":     has("RC4"),
	"3DES":    has("DES"),
	"DES":     func(string) bool { return false }, // single DES
	"AES":     has("AES"), "AES128": has("AES128"), "AES256": has("AES256"), "AESGCM": has("GCM"), "CHACHA20": has("CHACHA20"),
	"ECDHE": has("ECDHE"), "EECDH": has("ECDHE"), "kEECDH": has("ECDHE"), "kECDHE": has("ECDHE"),
	"ECDSA": has("ECDSA"), "aECDSA": has("ECDSA"),
	"RSA": rsaKeys, "kRSA": rsaKeys,
	"aRSA":   func(name string) bool { return !strings.Contains(name, "ECDSA") },
	"SHA256": has("SHA256"), "SHA384": has("SHA384"),
	"SHA": sha1Suite, "SHA1": sha1Suite,
	// What Go implements none of; existing strings exclude them.
	"LOW": none, "EXP": none, "EXPORT": none, "EXPORT40": none, "EXPORT56": none, "NULL": none, "eNULL": none, "aNULL": none,
	"MD5": none, "PSK": none, "SRP": none, "DSS": none, "aDSS": none, "ADH": none, "AECDH": none, "CAMELLIA": none, "SEED": none,
	"IDEA": none, "DH": none, "DHE": none, "EDH": none, "kEDH": none, "kDHE": none, "ECDH": has("ECDHE"), "RC2": none, "ARIA": none, "SSLv2": none,
}

func has(part string) func(string) bool {
	return func(name string) bool { return strings.Contains(name, part) }
}
func none(string) bool           { return false }
func rsaKeys(name string) bool   { return !strings.HasPrefix(name, "ECDHE") }
func sha1Suite(name string) bool { return strings.HasSuffix(name, "-SHA") }
func strong(name string) bool {
	return strings.HasPrefix(name, "ECDHE") && !has("DES")(name) && !has("RC4")(name)
}

// parseCiphers parses an OpenSSL cipher string as far as Go can follow it: names
// of suites, groups of them joined by "+", and exclusions with "!" or "-".
func parseCiphers(text string) ([]uint16, error) {
	var chosen []uint16
	var unknown []string
	excluded := map[uint16]bool{}
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(":, \t;", c) }) {
		if strings.HasPrefix(word, "@") || strings.HasPrefix(word, "+") { // only about the order, which is Go's
			continue
		}
		name := strings.TrimLeft(word, "!-")
		suites, known := suitesOf(name)
		if !known {
			unknown = append(unknown, name)
		}
		for _, s := range suites {
			switch word[0] {
			case '!':
				excluded[s] = true
				fallthrough
			case '-':
				chosen = slices.DeleteFunc(chosen, func(c uint16) bool { return c == s })
			default:
				if !excluded[s] && !slices.Contains(chosen, s) {
					chosen = append(chosen, s)
				}
			}
		}
	}
	if unknown != nil {
		return nil, fmt.Errorf("%s no cipher suite or group of suites", areNot(unknown))
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%q leaves no cipher suite that Go implements", text)
	}
	return chosen, nil
}

// suitesOf returns the suites that one word of a cipher string names; false if it
// is no such word.
func suitesOf(word string) ([]uint16, bool) {
	for _, n := range openSSLNames {
		if n.name == word || tls.CipherSuiteName(n.suite) == word {
			return []uint16{n.suite}, true
		}
	}
	if strings.HasPrefix(word, "TLS_AES_") || strings.HasPrefix(word, "TLS_CHACHA20_") {
		return nil, true // of TLS 1.3, whose suites are not for choosing
	}
	var member []func(string) bool
	for _, g := range strings.Split(word, "+") {
		m, ok := groups[g]
		if !ok {
			member = nil
			break
		}
		member = append(member, m)
	}
	if member == nil {
		for _, part := range foreignParts {
			if strings.Contains(word, part) {
				return nil, true
			}
		}
		return nil, false
	}
	var suites []uint16
	for _, n := range openSSLNames {
		in := true
		for _, m := range member {
			in = in && m(n.name)
		}
		if in {
			suites = append(suites, n.suite)
		}
	}
	return suites, true
}
