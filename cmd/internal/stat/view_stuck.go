package stat

import "slices"

// Stuck are the links that wait for something: what each of the three stages
// holds (in: received, not pulled; held: messages that have not left; out: not
// written), and what has to happen for the link to go on.
var Stuck = &View{
	Name: "links", typ: "router.link",
	names: []string{"linkName", "owningAddr", peerContainer, "waitsForPeer"},
	order: []string{"for"},
	keep:  waits,
	columns: slices.Concat([]Column{
		of(text, "id", "identity"),
		of(text, "conn", "connectionId").rank(4),
		of(text, "peer", peerContainer).cut(10).rank(3),
		of(text, "dir", "linkDir").rank(2),
	}, keyColumns("owningAddr")[1:], []Column{
		of(text, "type", "linkType").onlyWide(),
		of(count, "cred", "creditAvailable"),
		of(count, "win", "sessionWindow").rank(1),
		of(size, "in", "incomingBytes"),
		of(size, "held", "messageBytes"),
		of(size, "out", "outgoingBytes"),
		of(count, "undel", "undeliveredCount").rank(5),
		of(count, "unsett", "unsettledCount").rank(5),
		of(age, "oldest", "oldestUnsettledSeconds").rank(6),
		of(count, "stuck", "deliveriesStuck").rank(7),
		of(age, "blkd", "zeroCreditSeconds").unlessZero().rank(8),
		of(text, "waits-for", "waitsFor"),
		of(age, "for", "waitsSeconds"),
		of(text, "whom", "waitsForPeer").cut(6),
	}),
	complete: peers,
	empty:    saying("has no link that waits"),
	lacking: func(served map[string]bool) string {
		if served["waitsFor"] {
			return ""
		}
		return "does not say what its links wait for, nor what its stages hold: shown are links with stuck deliveries or without credit"
	},
}

// waits tells whether a link waits for something. Of links that do not say so it
// is concluded.
func waits(r *Record) bool {
	if _, says := r.at["waitsFor"]; says {
		return r.get("waitsFor") != nil
	}
	stuck, _ := r.number("deliveriesStuck")
	blocked, _ := r.number("zeroCreditSeconds")
	return stuck > 0 || blocked > 0
}
