package auth

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sluice/router/control/files"
)

// Secret is a text that must not appear in logs or management answers.
type Secret string

// String returns a mask.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "******"
}

// GoString returns a mask.
func (s Secret) GoString() string { return s.String() }

// MarshalText returns a mask.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// maxPasswordLine is how much of the first line of a password file counts, in
// bytes. The router that sluice succeeds reads no more, and a file that works
// there must work here.
const maxPasswordLine = 199

// PasswordForms says which prefixes a password attribute understands besides
// env:, file: and pass:.
type PasswordForms struct {
	Literal bool // literal:TEXT (sslProfile has it, saslPassword does not)
}

// ResolvePassword returns the password that an attribute means:
//
//	env:NAME      the value of an environment variable
//	file:PATH     the first line of a regular file, of 64 KiB at most
//	pass:TEXT     TEXT
//	literal:TEXT  TEXT, with forms.Literal
//	TEXT          TEXT
//
// plain reports that the password stands in the configuration itself.
func ResolvePassword(text string, forms PasswordForms) (secret Secret, plain bool, err error) {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		name = strings.TrimSpace(name)
		value, set := os.LookupEnv(name)
		if !set {
			return "", false, fmt.Errorf("environment variable %s is not set", name)
		}
		return Secret(value), false, nil
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		secret, err := passwordFile(strings.TrimSpace(path))
		return secret, false, err
	}
	if rest, ok := strings.CutPrefix(text, "pass:"); ok {
		return Secret(rest), true, nil
	}
	if rest, ok := strings.CutPrefix(text, "literal:"); ok && forms.Literal {
		return Secret(rest), true, nil
	}
	return Secret(text), true, nil
}

func passwordFile(path string) (Secret, error) {
	data, err := files.Read(path, files.MaxPassword)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("%s: %w", path, errors.New("the first line is empty; it should be the password"))
	}
	if len(line) > maxPasswordLine {
		line = line[:maxPasswordLine]
	}
	return Secret(line), nil
}
