// Package address turns address texts into keys and matches addresses against
// configured patterns. It is pure: no state, no I/O, safe from any goroutine.
//
// # From text to key
//
// Every terminus address, and the "to" of every message on an anonymous link,
// names one of five things, told apart by [Class]:
//
//	text                              Address            Key()
//	queue, /queue, amqp://h/queue     {Mobile '0' queue} M0queue
//	_local/x, _topo/0/ME/x            {Local x}          Lx
//	_topo/0/all/x                     {Topological x}    Tx
//	_topo/0/B/x                       {Router B}         RB
//	_edge/E/x                         {Edge E}           HE
//
// [Parse] allocates nothing: the result borrows the text. An [Address] is
// comparable, so it may be the key of a map, and its zero value is no address.
//
// # Patterns
//
// A [Pattern] is a list of tokens separated by "." or "/", which are equal.
// "*" stands for exactly one token, "#" for any number of them, none included.
// A [Tree] maps patterns to values; [Tree.Match] returns the value of the best
// pattern, decided token by token: a literal is better than "*", and "*" is
// better than "#".
package address
