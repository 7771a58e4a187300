package address

// Tree maps patterns to values of type V. The zero Tree is empty and ready.
// Any number of goroutines may match at a time, but not while one changes it:
// whoever has concurrent readers changes a [Tree.Clone] and publishes that.
type Tree[V any] struct {
	root node[V]
	size int
}

// node is one token of one or more patterns. Below a "#" node there is never
// another wildcard node, because patterns are in normal form.
type node[V any] struct {
	literal map[string]*node[V]
	star    *node[V]
	hash    *node[V]
	value   V
	set     bool // a pattern ends here, with this value
}

// Len returns the number of patterns.
func (t *Tree[V]) Len() int { return t.size }

// Insert sets the value of p and reports whether p is new.
func (t *Tree[V]) Insert(p Pattern, value V) bool {
	if p.IsZero() {
		panic("BUG: address.Tree.Insert of the zero Pattern")
	}
	n := &t.root
	for text, more := p.text, true; more; {
		var token string
		token, text, more = cutToken(text)
		n = n.child(token)
	}
	isNew := !n.set
	n.value, n.set = value, true
	if isNew {
		t.size++
	}
	return isNew
}

// child returns the node for token below n and makes it if need be.
func (n *node[V]) child(token string) *node[V] {
	switch token {
	case AnyToken:
		if n.star == nil {
			n.star = new(node[V])
		}
		return n.star
	case AnyTokens:
		if n.hash == nil {
			n.hash = new(node[V])
		}
		return n.hash
	}
	c := n.literal[token]
	if c == nil {
		if n.literal == nil {
			n.literal = make(map[string]*node[V])
		}
		c = new(node[V])
		n.literal[token] = c
	}
	return c
}

// Get returns the value of exactly the pattern p.
func (t *Tree[V]) Get(p Pattern) (value V, ok bool) {
	if p.IsZero() {
		return value, false
	}
	n := &t.root
	for text, more := p.text, true; more && n != nil; {
		var token string
		token, text, more = cutToken(text)
		n = n.find(token)
	}
	if n == nil {
		return value, false
	}
	return n.value, n.set
}

func (n *node[V]) find(token string) *node[V] {
	switch token {
	case AnyToken:
		return n.star
	case AnyTokens:
		return n.hash
	}
	return n.literal[token]
}

// Remove removes p and reports whether it was there.
func (t *Tree[V]) Remove(p Pattern) bool {
	if p.IsZero() || !t.root.remove(p.text) {
		return false
	}
	t.size--
	return true
}

// remove removes the pattern text below n, and the nodes that led only to it.
func (n *node[V]) remove(text string) bool {
	token, rest, more := cutToken(text)
	c := n.find(token)
	if c == nil {
		return false
	}
	if more {
		if !c.remove(rest) {
			return false
		}
	} else {
		if !c.set {
			return false
		}
		var none V
		c.value, c.set = none, false
	}
	if c.set || len(c.literal) > 0 || c.star != nil || c.hash != nil {
		return true
	}
	switch token {
	case AnyToken:
		n.star = nil
	case AnyTokens:
		n.hash = nil
	default:
		delete(n.literal, token)
	}
	return true
}

// Clone returns a copy that shares nothing with t but the values.
func (t *Tree[V]) Clone() *Tree[V] {
	return &Tree[V]{root: *t.root.clone(), size: t.size}
}

func (n *node[V]) clone() *node[V] {
	if n == nil {
		return nil
	}
	c := &node[V]{star: n.star.clone(), hash: n.hash.clone(), value: n.value, set: n.set}
	if len(n.literal) > 0 {
		c.literal = make(map[string]*node[V], len(n.literal))
		for token, child := range n.literal {
			c.literal[token] = child.clone()
		}
	}
	return c
}

// All calls yield for every pattern in the tree, in no particular order.
func (t *Tree[V]) All(yield func(Pattern, V) bool) { t.root.all("", yield) }

func (n *node[V]) all(path string, yield func(Pattern, V) bool) bool {
	if n == nil {
		return true
	}
	if n.set && !yield(Pattern{path}, n.value) {
		return false
	}
	if path != "" {
		path += "/"
	}
	for token, child := range n.literal {
		if !child.all(path+token, yield) {
			return false
		}
	}
	return n.star.all(path+AnyToken, yield) && n.hash.all(path+AnyTokens, yield)
}
