package shrink

// few is up to which size a map may be larger than it need be.
const few = 128

// Map returns m, or a copy in as much memory as it needs if it has once been more
// than four times as large. Most is the largest size since it was made; it is
// kept by Map, which is to be called after entries were deleted.
func Map[K comparable, V any](m map[K]V, most *int) map[K]V {
	*most = max(*most, len(m))
	if *most <= few || len(m) > *most/4 {
		return m
	}
	small := make(map[K]V, len(m))
	for k, v := range m {
		small[k] = v
	}
	*most = len(m)
	return small
}
