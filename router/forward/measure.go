package forward

import "sluice/links"

// A Measure is what metrics show of an address.
type Measure struct {
	Consumers, Producers, NextHops int
	Waiting                        int
	WaitingBytes, Retained         int64
	Credit                         int64 // of the consumers here, left
	Outstanding                    int64 // deliveries bound and without an outcome
	Gate                           links.Gate
	// Service says that nobody uses the address but services of this router.
	Service bool
}

// Measure looks at the address, in one hold of its lock.
func (a *Address) Measure() Measure {
	a.mu.Lock()
	defer a.mu.Unlock()
	m := Measure{
		Producers: len(a.sources), Waiting: a.count + a.backlog, WaitingBytes: a.bytes + a.spreadBytes.Load(),
		Retained: a.retained.Load(), Gate: a.Gate(),
	}
	for _, d := range a.dests {
		m.Outstanding += int64(int32(d.Load()))
		if d.Far() {
			m.NextHops++
			continue
		}
		m.Consumers++
		m.Credit += int64(max(d.Credit(), 0))
	}
	m.Service = a.near == 0 && a.fed == 0 && m.NextHops == 0 && len(a.dests) > 0
	return m
}

// Dropped is how many deliveries to the address have found no receiver.
func (s *Stats) Dropped() uint64 {
	return s.DroppedNoDestination.Load() + s.DroppedExpired.Load() + s.DroppedSlow.Load()
}
