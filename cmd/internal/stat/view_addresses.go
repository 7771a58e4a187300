package stat

import "slices"

var addresses = &View{
	Name: "addresses", Also: []string{"address", "addrs"}, About: "addresses in use, and what went through them",
	typ:   "router.address",
	names: []string{"key", "name"},
	order: []string{"addr", "class"},
	columns: slices.Concat(keyColumns("key"), []Column{
		of(text, "distrib", "distribution").rank(2),
		made(count, "pri", priority, "priority").onlyWide(),
		of(count, "senders", "senderCount").rank(3),
		of(count, "local", "subscriberCount"),
		of(count, "remote", "remoteCount"),
		of(count, "in", "deliveriesIngress").counting(),
		of(count, "out", "deliveriesEgress").counting(),
		of(count, "thru", "deliveriesTransit").rank(3).counting(),
		of(count, "waiting", "waitingCount").rank(1),
		of(size, "held", "waitingBytes").rank(2),
		of(text, "gate", "gate").rank(1),
		total(count, "dropped", "droppedNoDestination", "droppedExpired", "droppedSlow").rank(1).counting(),
		of(count, "again", "redelivered").rank(4).counting(),
		of(count, "full", "fullCount").rank(4),
		of(count, "fallback", "deliveriesRedirectedToFallback").rank(5),
		of(count, "in-proc", "inProcess").onlyWide(),
		of(count, "to-proc", "deliveriesToContainer").onlyWide(),
		of(count, "from-proc", "deliveriesFromContainer").onlyWide(),
		of(size, "retained", "retainedBytes").onlyWide(),
		of(count, "no-dest", "droppedNoDestination").onlyWide(),
		of(count, "expired", "droppedExpired").onlyWide(),
		of(count, "slow", "droppedSlow").onlyWide(),
		of(text, "at", "remoteHostRouters").onlyWide(),
	}),
}

// priority is one that was set.
func priority(r *Record) any {
	if n, ok := r.number("priority"); ok && n >= 0 {
		return n
	}
	return nil
}
