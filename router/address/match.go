package address

// Match returns the value of the best pattern for an address, given as text
// without class and phase. Separators at the ends do not count. It allocates
// nothing for ordinary addresses and patterns.
func (t *Tree[V]) Match(text string) (value V, ok bool) {
	if t == nil || t.size == 0 {
		return value, false
	}
	m := matcher[V]{}
	text = trimSeparators(text)
	if n := m.match(&t.root, text, text != ""); n != nil {
		return n.value, true
	}
	return value, false
}

// maxPlainSteps is how many nodes a match visits before it begins to remember
// where it failed. Plain backtracking is quickest for the usual few steps, but
// patterns with several "#" make it polynomial of a high degree in the length
// of an address, which comes from a client. With memory the cost is at most
// nodes times tokens.
const maxPlainSteps = 512

type matcher[V any] struct {
	steps  int
	failed map[position[V]]struct{} // nil until maxPlainSteps
}

// position is a node still to be matched against the last len bytes.
type position[V any] struct {
	node *node[V]
	left int // bytes of text left, or -1 when no token is left
}

// match returns the first node below n, in order of preference, at which a
// pattern ends that matches all of text. more is false when no token is left,
// which is not the same as one empty token.
func (m *matcher[V]) match(n *node[V], text string, more bool) *node[V] {
	if !more {
		if n.set {
			return n
		}
		if n.hash != nil && n.hash.set { // "#" stands for no token, too
			return n.hash
		}
		return nil
	}
	m.steps++
	at := position[V]{n, len(text)}
	if m.steps > maxPlainSteps {
		if _, ok := m.failed[at]; ok {
			return nil
		}
	}
	token, rest, restMore := cutToken(text)
	if c := n.literal[token]; c != nil {
		if found := m.match(c, rest, restMore); found != nil {
			return found
		}
	}
	if n.star != nil {
		if found := m.match(n.star, rest, restMore); found != nil {
			return found
		}
	}
	if n.hash != nil {
		if found := m.matchHash(n.hash, text); found != nil {
			return found
		}
	}
	if m.steps > maxPlainSteps {
		if m.failed == nil {
			m.failed = make(map[position[V]]struct{})
		}
		m.failed[at] = struct{}{}
	}
	return nil
}

// matchHash lets the "#" node h swallow as few tokens as it can, and all of
// them in the end.
func (m *matcher[V]) matchHash(h *node[V], text string) *node[V] {
	if len(h.literal) > 0 {
		for more := true; more; {
			if found := m.match(h, text, true); found != nil {
				return found
			}
			_, text, more = cutToken(text)
		}
	}
	if h.set {
		return h
	}
	return nil
}
