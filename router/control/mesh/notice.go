package mesh

import "fmt"

// Notice is worth a line in the log. Peers can provoke most kinds at will, so a log should bound them by Kind and Router.
type Notice struct {
	Kind   NoticeKind
	Router string // whom it is about; may be empty
	Link   uint64 // where it came from; 0 if it came from nowhere
	Text   string // what happened, for people
}

// NoticeKind is a stable name of a kind of Notice.
type NoticeKind string

const (
	NoticeNeighborUp   NoticeKind = "neighbor-up"   // a first link to a neighbour works
	NoticeNeighborDown NoticeKind = "neighbor-down" // the last one does not any more
	NoticeRestart      NoticeKind = "restart"       // a router has begun another life, or lost its memory
	NoticeDuplicate    NoticeKind = "duplicate-id"  // two routers somewhere have the same id
	NoticeMalformed    NoticeKind = "malformed"     // a message was dropped because of its content
	NoticeVersion      NoticeKind = "version"       // a message has another protocol version
	NoticeOpcode       NoticeKind = "opcode"        // a message has an unknown opcode
	NoticeAddress      NoticeKind = "address"       // a message is for nobody that control links lead to
	NoticeNoPath       NoticeKind = "no-path"       // a message is for a router without path
	NoticeTrace        NoticeKind = "trace"         // a message has passed more routers than there can be
	NoticeLimit        NoticeKind = "limit"         // something is over a limit of Config and was left out
)

func (e *Engine) notice(kind NoticeKind, router string, link uint64, format string, args ...any) {
	e.emit(Notice{Kind: kind, Router: router, Link: link, Text: fmt.Sprintf(format, args...)})
}
