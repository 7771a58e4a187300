package stat

// part is a part of the resident memory.
func part(title, name, label string) Column {
	return made(size, title, func(r *Record) any {
		parts, _ := r.get("residentMemoryParts").(map[string]any)
		return words(parts[name])
	}, "residentMemoryParts").called(label).rank(4)
}

var memory = &View{
	Name: "memory", About: "what memory is used for",
	parts: []*View{{
		title: "Memory", typ: "router", names: []string{"id"}, order: []string{"router"}, list: true,
		columns: []Column{
			of(text, "router", "id").cut(12).called("Router Id"),
			of(size, "virtual", "memoryUsage").called("Virtual memory of the process"),
			of(size, "limit", "memoryLimit").called("Limit").unlessZero(),
			of(size, "resident", "residentMemory").called("Resident memory of the process"),
			part("in-use", "buffers", "- buffers in use"),
			part("pools", "pools", "- buffers in pools"),
			part("conns", "connections", "- connections, estimated"),
			part("links", "links", "- links, estimated"),
			part("addrs", "addresses", "- addresses, estimated"),
			part("objects", "objects", "- other objects, and those not collected yet"),
			part("unused", "heap_unused", "- heap, unused"),
			part("free", "heap_free", "- heap, free"),
			part("stacks", "stacks", "- stacks"),
			part("runtime", "runtime", "- Go runtime"),
			part("binary", "binary", "- binary"),
			of(size, "buffers", "bufferBytes").called("Buffers"),
			of(size, "received", "incomingBytes").called("Stage 1: received, not pulled"),
			of(size, "waiting", "messageBytes").called("Stage 2: waiting at addresses"),
			of(size, "unsent", "outgoingBytes").called("Stage 3: not written"),
		},
	}, {
		title: "Pools", typ: "allocator", names: []string{"typeName"}, order: []string{"held"}, spare: true,
		columns: []Column{
			of(text, "type", "typeName").cut(16),
			of(size, "size", "typeSize"),
			made(size, "held", func(r *Record) any {
				one, ok := r.number("typeSize")
				n, has := r.number("totalAllocFromHeap")
				if !ok || !has {
					return nil
				}
				return one * n
			}, "typeSize", "totalAllocFromHeap"),
			of(count, "total", "totalAllocFromHeap").rank(1),
			of(count, "in-threads", "heldByThreads").rank(2),
			of(count, "batch", "transferBatchSize").rank(3),
			of(count, "thread-max", "localFreeListMax").rank(3),
			of(count, "rebal-in", "batchesRebalancedToThreads").rank(4),
			of(count, "rebal-out", "batchesRebalancedToGlobal").rank(4),
		},
	}},
}
