package transport

// A dense holds pointers by number. Peers mostly count from zero, so small
// numbers are found in a slice; a peer that does not count like that costs
// itself a map, and nobody memory in proportion to its numbers.
type dense[T any] struct {
	small []*T
	large map[uint32]*T
}

// denseStep is how far beyond the numbers in use the slice may reach.
const denseStep = 64

func (d *dense[T]) get(n uint32) *T {
	if n < uint32(len(d.small)) {
		return d.small[n]
	}
	return d.large[n]
}

func (d *dense[T]) set(n uint32, v *T) {
	if n < uint32(len(d.small)) {
		d.small[n] = v
		return
	}
	if int64(n) < int64(len(d.small))+denseStep {
		for uint32(len(d.small)) <= n {
			d.small = append(d.small, d.large[uint32(len(d.small))])
			delete(d.large, uint32(len(d.small)-1))
		}
		d.small[n] = v
		return
	}
	if d.large == nil {
		d.large = make(map[uint32]*T)
	}
	d.large[n] = v
}

func (d *dense[T]) remove(n uint32) {
	if n < uint32(len(d.small)) {
		d.small[n] = nil
		return
	}
	delete(d.large, n)
}

func (d *dense[T]) clear() { d.small, d.large = nil, nil }
