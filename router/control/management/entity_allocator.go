package management

import (
	"strconv"
	"strings"

	"sluice/router/control/schema"
)

// poolKind is the pools of buffers. What the schema says of the lists that threads
// have there is null: here all use the same pools.
func (d *Desk) poolKind() *kind {
	k := &kind{schema: schema.ByName("allocator")}
	k.columns = order(k.schema, served)
	k.list = func() (list []string) {
		for _, p := range d.router.Pools() {
			list = append(list, "allocator/"+poolName(p.Size))
		}
		return list
	}
	k.row = func(identity string, to []any) ([]any, bool) {
		name, _ := strings.CutPrefix(identity, "allocator/")
		for _, p := range d.router.Pools() {
			if poolName(p.Size) != name {
				continue
			}
			return fill(k, to, map[string]any{
				"name": identity, "identity": identity, "type": k.full(), "typeName": name, "typeSize": small(int64(p.Size)),
				"totalAllocFromHeap": small(p.Made), "heldByThreads": small(p.InUse),
			}), true
		}
		return nil, false
	}
	return k
}

// poolName names a pool by the size of its buffers, so that names sort by size.
func poolName(size int) string {
	digits := strconv.Itoa(size)
	return "buffer_" + strings.Repeat("0", max(0, 6-len(digits))) + digits
}
