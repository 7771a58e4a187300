package address

import (
	"errors"
	"strings"
)

// The wildcard tokens.
const (
	AnyToken  = "*" // exactly one token
	AnyTokens = "#" // any number of tokens, none included
)

var (
	errEmptyPattern = errors.New("a pattern needs at least one token")
	errEmptyPrefix  = errors.New("a prefix needs at least one token")
	errEmptyToken   = errors.New("a pattern must not have two separators in a row")
)

// Pattern is a validated pattern in its normal form: tokens joined by "/",
// without separators at the ends, and with every run of wildcards written as
// stars before at most one "#" ("#/*/#" matches the same as "*/#").
// Patterns that match the same addresses in the same order of tokens are equal.
type Pattern struct{ text string }

// ParsePattern parses the text of a pattern attribute.
func ParsePattern(text string) (Pattern, error) {
	text = trimSeparators(text)
	if text == "" {
		return Pattern{}, errEmptyPattern
	}
	var tokens []string
	stars, hash := 0, false
	flush := func() {
		for ; stars > 0; stars-- {
			tokens = append(tokens, AnyToken)
		}
		if hash {
			tokens = append(tokens, AnyTokens)
			hash = false
		}
	}
	for more := true; more; {
		var token string
		token, text, more = cutToken(text)
		switch token {
		case "":
			return Pattern{}, errEmptyToken
		case AnyToken:
			stars++
		case AnyTokens:
			hash = true
		default:
			flush()
			tokens = append(tokens, token)
		}
	}
	flush()
	return Pattern{strings.Join(tokens, "/")}, nil
}

// ParsePrefix parses the text of a prefix attribute: the prefix P is the
// pattern P/#.
func ParsePrefix(text string) (Pattern, error) {
	text = trimSeparators(text)
	if text == "" {
		return Pattern{}, errEmptyPrefix
	}
	return ParsePattern(text + "/" + AnyTokens)
}

// String returns the normal form.
func (p Pattern) String() string { return p.text }

// IsZero reports whether p is the zero Pattern, which matches nothing.
func (p Pattern) IsZero() bool { return p.text == "" }

// HasWildcard reports whether p has a wildcard token.
func (p Pattern) HasWildcard() bool {
	for text, more := p.text, true; more; {
		var token string
		token, text, more = cutToken(text)
		if token == AnyToken || token == AnyTokens {
			return true
		}
	}
	return false
}

// cutToken splits text after its first token. more is false for the last one.
func cutToken(text string) (token, rest string, more bool) {
	for i := 0; i < len(text); i++ {
		if isSeparator(text[i]) {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

func trimSeparators(text string) string {
	for text != "" && isSeparator(text[0]) {
		text = text[1:]
	}
	for text != "" && isSeparator(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}
