package config

import (
	"os"
	"path"
	"strings"
)

// words splits a list at blanks and commas; nil if there are none.
func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
}

// checkHTTP looks at what is of HTTP.
func (b *builder) checkHTTP(e *entity, l *Listener) {
	if l.HTTPRootDir != "" && !b.elsewhere {
		if info, err := os.Stat(l.HTTPRootDir); err != nil {
			b.warn(e.posOf("httpRootDir"), "httpRootDir: %s; there are no files to serve", fileReason(err))
		} else if !info.IsDir() {
			b.warn(e.posOf("httpRootDir"), "httpRootDir: %s is no directory; there are no files to serve", l.HTTPRootDir)
		}
	}
	for _, origin := range l.WebSocketOrigins {
		if _, err := path.Match(origin, ""); err != nil {
			b.mistake(e.posOf("websocketOrigins"), "hosts of web pages such as app.example.com, *.example.com:8443 or https://app.example.com; * for all", "",
				"%s is no pattern of origins", quoted(origin))
		}
	}
}
