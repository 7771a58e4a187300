package stat

import (
	"context"
	"slices"

	"sluice/cmd/internal/management"
)

// Stuck are the links that wait for something: what each of the three stages
// holds (in: received, not pulled; held: messages that have not left; out: not
// written), and what has to happen for the link to go on.
var Stuck = &View{
	Name: "links", typ: "router.link",
	names: []string{"linkName", "owningAddr", waitsForAddress, peerContainer, "waitsForPeer"},
	order: []string{"for"},
	keep:  waits,
	columns: slices.Concat([]Column{
		of(text, "id", "identity"),
		of(text, "conn", "connectionId").rank(4),
		of(text, "peer", peerContainer).cut(10).rank(2),
		of(text, "dir", "linkDir").rank(1),
		made(text, "addr", func(r *Record) any {
			if s := r.text(waitsForAddress); s != "" {
				return words(split(s).address)
			}
			return words(split(r.text("owningAddr")).address)
		}, "owningAddr").cut(16),
		of(text, "type", "linkType").onlyWide(),
		of(count, "cred", "creditAvailable").rank(3),
		of(count, "win", "sessionWindow").rank(5),
		of(size, "in", "incomingBytes").rank(3),
		of(size, "held", "messageBytes").rank(3),
		of(size, "out", "outgoingBytes").rank(3),
		of(count, "undel", "undeliveredCount").rank(5),
		of(count, "unsett", "unsettledCount").rank(3),
		of(age, "oldest", "oldestUnsettledSeconds").rank(6),
		of(count, "stuck", "deliveriesStuck").rank(7),
		of(age, "blkd", "zeroCreditSeconds").unlessZero().rank(8),
		made(count, "alike", func(r *Record) any { return words(r.get(alike)) }, waitsForAddress).rank(4),
		of(text, "waits-for", "waitsFor"),
		of(age, "for", "waitsSeconds"),
		of(text, "whom", "waitsForPeer").cut(6),
	}),
	complete: together,
	empty:    saying("has no link that waits"),
	lacking: func(served map[string]bool) string {
		if served["waitsFor"] {
			return ""
		}
		return "does not say what its links wait for, nor what its stages hold: shown are links with stuck deliveries or without credit"
	},
}

// waitsForAddress is the attribute with the address of what a link waits with, and
// alike the one that together adds.
const (
	waitsForAddress = "waitsForAddress"
	alike           = "linksAlike"
)

// together adds the containers of peers, and makes one row of the links of a
// connection between routers that wait for the same with messages of the same
// address: each of its streams has one. The row is that of the link that has waited
// for longest, and says how many others there are.
func together(ctx context.Context, c management.Caller, p *management.Page, kept any) any {
	kept = peers(ctx, c, p, kept)
	at := make([]int, 0, 5)
	for _, name := range []string{"linkType", "connectionId", "linkDir", waitsForAddress, "waitsFor", "waitsSeconds"} {
		at = append(at, p.Column(name))
	}
	if slices.Contains(at, -1) {
		return kept
	}
	type same struct{ conn, dir, address, waits any }
	first := make(map[same]int)
	rows := p.Rows[:0:0]
	p.Attributes = append(slices.Clone(p.Attributes), alike)
	for _, row := range p.Rows {
		row = append(row, nil)
		s := same{words(row[at[1]]), words(row[at[2]]), words(row[at[3]]), words(row[at[4]])}
		i, seen := first[s]
		if row[at[0]] != "inter-router" || s.waits == nil || !seen {
			first[s] = len(rows)
			rows = append(rows, row)
			continue
		}
		others, _ := asNumber(rows[i][len(row)-1])
		waited, _ := asNumber(row[at[5]])
		if longest, _ := asNumber(rows[i][at[5]]); waited > longest {
			rows[i] = row
		}
		rows[i][len(row)-1] = uint32(others + 1)
	}
	p.Rows = rows
	return kept
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
