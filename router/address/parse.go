package address

import "strings"

// Identity is what parsing must know about the router that parses.
type Identity struct {
	ID   string // the router id
	Edge bool   // the router runs in edge mode
}

// area is the only area there is.
const area = "0"

// Parse turns the text of a terminus address or of a message's "to" into an
// Address. Every text has one; text without a special beginning is mobile, in
// the default phase. The result borrows text.
func Parse(text string, self Identity) Address {
	text = Trim(text)
	// The common case leaves after one comparison.
	if text == "" || text[0] != '_' {
		return Address{Class: Mobile, Phase: PhaseDefault, Text: text}
	}
	switch {
	case strings.HasPrefix(text, "_local/"):
		return Address{Class: Local, Text: text[len("_local/"):]}
	case strings.HasPrefix(text, "_topo/"):
		return parseTopological(text[len("_topo/"):], self)
	case strings.HasPrefix(text, "_edge/"):
		return parseEdge(text[len("_edge/"):], self)
	}
	return Address{Class: Mobile, Phase: PhaseDefault, Text: text}
}

// parseTopological parses what follows "_topo/": an area, a router, an address
// inside the router; area and router may be "all".
func parseTopological(text string, self Identity) Address {
	inArea, rest, ok := strings.Cut(text, "/")
	if !ok || inArea != area && inArea != "all" {
		return elsewhere(Area, inArea, self)
	}
	// Without a further "/" even our own id names a router, not something
	// inside it.
	router, inside, hasInside := strings.Cut(rest, "/")
	switch {
	case hasInside && router == "all":
		return Address{Class: Topological, Text: inside}
	case hasInside && router == self.ID:
		return Address{Class: Local, Text: inside}
	}
	return elsewhere(Router, router, self)
}

// parseEdge parses what follows "_edge/": an edge router, an address inside it.
func parseEdge(text string, self Identity) Address {
	router, inside, hasInside := strings.Cut(text, "/")
	if hasInside && router == self.ID {
		return Address{Class: Local, Text: inside}
	}
	return elsewhere(Edge, router, self)
}

// elsewhere is an address inside another router. An edge router knows no other
// routers: it sends all of that up its uplink.
func elsewhere(class Class, id string, self Identity) Address {
	if self.Edge {
		return Uplink
	}
	return Address{Class: class, Text: id}
}

// Trim drops what says nothing about where an address leads: scheme and host,
// and one separator at the end.
func Trim(text string) string {
	text = trimSchemeAndHost(text)
	if n := len(text); n > 0 && isSeparator(text[n-1]) {
		text = text[:n-1]
	}
	return text
}

// trimSchemeAndHost drops the head of the URL-like forms of an address:
//
//	/q  //host/q  word:/q  word://host/q
//
// Where the form is not complete (no "/" after the host, nothing after the
// "/") the whole text is the address.
func trimSchemeAndHost(text string) string {
	head := 0 // length of the scheme with its colon
	if !strings.HasPrefix(text, "/") {
		// From the second character on: ":/q" has no scheme.
		i := strings.Index(text, ":/")
		if i == 0 {
			if i = strings.Index(text[1:], ":/"); i >= 0 {
				i++
			}
		}
		if i < 0 {
			return text
		}
		head = i + 1
	}
	rest := text[head:] // begins with "/"
	if strings.HasPrefix(rest, "//") {
		slash := strings.IndexByte(rest[2:], '/')
		if slash < 0 {
			return text
		}
		return rest[2+slash+1:]
	}
	if len(rest) == 1 {
		return text
	}
	return rest[1:]
}

func isSeparator(b byte) bool { return b == '.' || b == '/' }
