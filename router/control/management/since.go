package management

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"sluice/amqp/encoding"
)

// A controller that mirrors entities need not read all of them again: a QUERY
// with an application property since answers with a version, and the next one,
// with that for since, with the rows that differ from it and the identities that
// are gone. It says "" to begin with. The desk knows of each version no more than
// a digest of each row.

// versions are what queries have been answered with of late.
type versions struct {
	seed  maphash.Seed
	next  uint64
	rows  int         // in all
	known []*snapshot // the one that was used last is the last
}

// snapshot is the digest of each row of one answer, by identity.
type snapshot struct {
	version string
	what    string // type and columns
	rows    map[string]uint64
}

// take returns the snapshot of a version, nil if it is not known.
func (v *versions) take(what, version string) *snapshot {
	i := slices.IndexFunc(v.known, func(s *snapshot) bool { return s.what == what && s.version == version })
	if i < 0 {
		return nil
	}
	s := v.known[i]
	v.known = append(slices.Delete(v.known, i, i+1), s)
	return s
}

// keep gives a snapshot a version, at the cost of those that have not been used
// for longest. One that is too large gets none.
func (v *versions) keep(s *snapshot) {
	if len(s.rows) > maxVersionRows {
		return
	}
	if v.next++; v.next == 1 {
		v.next += maphash.String(v.seed, "") & (1<<48 - 1) // not as before a restart
	}
	s.version = fmt.Sprintf("%x", v.next)
	v.known = append(v.known, s)
	v.rows += len(s.rows)
	for v.rows > maxVersionRows || len(v.known) > maxVersions {
		v.rows -= len(v.known[0].rows)
		v.known[0] = nil
		v.known = v.known[1:]
	}
}

// querySince lists the entities of a type that differ from what was answered
// before.
func (d *Desk) querySince(q *request, k *kind, columns []string) (*reply, error) {
	switch {
	case q.offset != 0 || q.count != 0:
		return nil, badRequest("'since' goes without 'offset' and 'count'")
	case !contains(columns, "identity"):
		return nil, badRequest("'since' needs 'identity' among 'attributeNames'")
	}
	what := k.name() + " " + strings.Join(columns, " ")
	old := d.versions.take(what, q.since)
	now := &snapshot{what: what, rows: make(map[string]uint64)}
	t := newListing(columns)
	ids, rowOf := k.all()
	err := t.entities(k, columns, ids, rowOf, func(id string, from int) {
		digest := maphash.Bytes(d.versions.seed, t.b[from:])
		now.rows[id] = digest
		if was, had := old.row(id); had && was == digest {
			t.unwrite(from)
		}
	})
	if err != nil {
		return nil, err
	}
	var removed []string
	if old != nil {
		for id := range old.rows {
			if _, still := now.rows[id]; !still {
				removed = append(removed, id)
			}
		}
		slices.Sort(removed)
	}
	if old != nil && t.rows == 0 && len(removed) == 0 {
		now = old
	} else {
		d.versions.keep(now)
	}
	r := t.reply(encoding.MapEntry{Key: "removed", Value: texts(removed)})
	r.properties = encoding.Map{{Key: "version", Value: now.version}, {Key: "complete", Value: old == nil}}
	return r, nil
}

func sinceOneType() *Status {
	return badRequest("'since' needs an 'entityType' that has entities of its own")
}

func (s *snapshot) row(id string) (digest uint64, ok bool) {
	if s == nil {
		return 0, false
	}
	digest, ok = s.rows[id]
	return digest, ok
}
