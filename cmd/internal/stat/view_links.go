package stat

import (
	"context"
	"slices"

	"sluice/cmd/internal/management"
	"sluice/router/control/schema"
)

var links = &View{
	Name: "links", Also: []string{"link"}, About: "links, and what went over them",
	typ:   "router.link",
	names: []string{"linkName", "owningAddr", peerContainer},
	order: []string{"conn", "id"},
	columns: slices.Concat([]Column{
		of(text, "id", "identity"),
		of(text, "conn", "connectionId"),
		of(text, "peer", peerContainer).cut(10).rank(2),
		of(text, "type", "linkType").rank(3),
		of(text, "dir", "linkDir"),
	}, keyColumns("owningAddr"), []Column{
		of(count, "cap", "capacity").onlyWide(),
		of(count, "pri", "priority").onlyWide(),
		of(count, "cred", "creditAvailable").rank(4),
		of(count, "undel", "undeliveredCount").rank(5),
		of(count, "unsett", "unsettledCount").rank(4),
		of(count, "deliv", "deliveryCount").rank(4).counting(),
		of(size, "bytes", "transferredBytes").rank(8).counting(),
		of(count, "presett", "presettledCount").rank(8),
		of(count, "psdrop", "droppedPresettledCount").rank(10),
		of(count, "acc", "acceptedCount").rank(7),
		of(count, "rej", "rejectedCount").rank(6),
		of(count, "rel", "releasedCount").rank(6),
		of(count, "mod", "modifiedCount").rank(6),
		total(count, "delay", "deliveriesDelayed1Sec", "deliveriesDelayed10Sec").rank(10),
		of(rate, "rate", "settleRate").rank(6),
		of(count, "stuck", "deliveriesStuck").rank(3),
		of(age, "blkd", "zeroCreditSeconds").unlessZero().rank(8),
		of(text, "waits-for", "waitsFor").rank(1),
		of(text, "name", "linkName").onlyWide(),
		of(text, "admin", "adminStatus").onlyWide(),
		of(text, "oper", "operStatus").onlyWide(),
	}),
	complete: peers,
}

// peerContainer is the attribute that peers adds: the container of the peer.
const peerContainer = "connectionContainer"

// containers are those of connections, by the connection's identity.
type containers map[string]string

// peers adds the container of each link's peer to a page. Where a connection has
// gone, or cannot be asked for, there is none.
func peers(ctx context.Context, c management.Caller, p *management.Page, kept any) any {
	known, _ := kept.(containers)
	if known == nil {
		known = make(containers)
	}
	at := p.Column("connectionId")
	if at < 0 {
		return known
	}
	var unknown []string
	for _, row := range p.Rows {
		id, _ := row[at].(string)
		if _, ok := known[id]; !ok {
			known[id] = ""
			unknown = append(unknown, id)
		}
	}
	if len(unknown) <= singly {
		for _, id := range unknown {
			r, err := c.Call(ctx, &management.Request{Operation: "READ", Type: schema.Prefix + "connection", Identity: id})
			if err != nil {
				continue
			}
			m, _ := r.Body.(map[string]any)
			known[id], _ = m["container"].(string)
		}
	} else {
		q := management.Query{Type: schema.Prefix + "connection", Wanted: []string{"container"}}
		for page, err := range q.Run(ctx, c) {
			if err != nil {
				break
			}
			identity, container := page.Column("identity"), page.Column("container")
			if identity < 0 || container < 0 {
				break
			}
			for _, row := range page.Rows {
				id, _ := row[identity].(string)
				known[id], _ = row[container].(string)
			}
		}
	}
	p.Attributes = append(slices.Clone(p.Attributes), peerContainer)
	for i, row := range p.Rows {
		id, _ := row[at].(string)
		p.Rows[i] = append(row, words(known[id]))
	}
	return known
}
