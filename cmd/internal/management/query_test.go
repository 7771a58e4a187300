package management_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"sluice/cmd/internal/management"
	"sluice/cmd/internal/management/agenttest"
)

// numbered is an agent with n entities of a type.
func numbered(n int) *agenttest.Agent {
	return &agenttest.Agent{Tables: map[string]*agenttest.Table{"router.link": {
		Attributes: []string{"name", "identity", "linkDir"}, N: n,
		Make: func(i int) []any { return []any{fmt.Sprint("l", i), fmt.Sprint(i), "in"} },
	}}}
}

const link = "org.apache.qpid.dispatch.router.link"

// identities runs a query and returns the identities of the rows.
func identities(t *testing.T, a *agenttest.Agent, q management.Query) (ids []string) {
	t.Helper()
	for p, err := range q.Run(t.Context(), a) {
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range p.Rows {
			ids = append(ids, row[p.Column("identity")].(string))
		}
	}
	return ids
}

func sequence(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

// All rows come once, whatever the pages, and whether the agent knows them.
func TestQueryBringsEachRowOnce(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 11, 30, 95} {
		for _, noPages := range []bool{false, true} {
			for _, q := range []management.Query{
				{Type: link, Page: 10},
				{Type: link, Page: 10, First: 3},
				{Type: link, Page: 10, Limit: 25},
				{Type: link, Page: 10, Wanted: []string{"name", "nothing"}},
				{Type: link},
			} {
				a := numbered(n)
				a.NoPages = noPages
				want := sequence(n)
				if q.Limit > 0 {
					want = want[:min(n, q.Limit)]
				}
				if got := identities(t, a, q); !slices.Equal(got, want) {
					t.Errorf("%d rows, no pages %v, %+v: got %v", n, noPages, q, got)
				}
			}
		}
	}
}

// The first page says what the agent has; then only what is wanted is asked for.
func TestQueryAsksForWhatIsServed(t *testing.T) {
	a := numbered(25)
	identities(t, a, management.Query{Type: link, Page: 10, Wanted: []string{"linkDir", "waitsFor"}})
	asked := a.Asked()
	first := asked[0].Body.(map[string]any)["attributeNames"].([]any)
	second := asked[1].Body.(map[string]any)["attributeNames"].([]any)
	if len(first) != 0 || !slices.Equal(second, []any{"identity", "linkDir"}) {
		t.Errorf("asked for %v, then %v", first, second)
	}
}

// Entities that have just gone leave a page short; the next page is asked for
// all the same.
func TestAGapDoesNotEndAQuery(t *testing.T) {
	a := numbered(40)
	gaps := gap{a}
	n := 0
	q := management.Query{Type: link, Page: 20}
	for p, err := range q.Run(t.Context(), gaps) {
		if err != nil {
			t.Fatal(err)
		}
		n += len(p.Rows)
	}
	if n != 38 {
		t.Errorf("%d rows, want 38", n)
	}
}

// gap takes a row from each page.
type gap struct{ *agenttest.Agent }

func (g gap) Call(ctx context.Context, r *management.Request) (*management.Reply, error) {
	reply, err := g.Agent.Call(ctx, r)
	if err == nil {
		m := reply.Body.(map[string]any)
		if rows := m["results"].([]any); len(rows) > 0 {
			m["results"] = rows[1:]
		}
	}
	return reply, err
}

func TestAnErrorEndsAQuery(t *testing.T) {
	a := numbered(100)
	a.Fail = func(r *management.Request) error {
		if r.Properties["offset"] == int32(20) {
			return &management.StatusError{Code: 500, Description: "out of order"}
		}
		return nil
	}
	var got error
	rows := 0
	for p, err := range (management.Query{Type: link, Page: 10}).Run(t.Context(), a) {
		if got = err; err == nil {
			rows += len(p.Rows)
		}
	}
	var refused *management.StatusError
	if !errors.As(got, &refused) || refused.Code != 500 || rows != 20 {
		t.Errorf("%v after %d rows", got, rows)
	}
}

func TestRouters(t *testing.T) {
	a := &agenttest.Agent{Nodes: []string{"A", "B/C"}}
	ids, err := management.Routers(t.Context(), a)
	if err != nil || !slices.Equal(ids, []string{"A", "B/C"}) {
		t.Errorf("%v, %v", ids, err)
	}
	alone := &agenttest.Agent{}
	if ids, err := management.Routers(t.Context(), alone); err != nil || ids != nil {
		t.Errorf("%v, %v", ids, err)
	}
}

// 50,000 rows are never held at once.
func TestManyRowsArePages(t *testing.T) {
	a := numbered(50_000)
	rows := 0
	for p, err := range (management.Query{Type: link}).Run(t.Context(), a) {
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Rows) > management.DefaultPage {
			t.Fatalf("a page of %d rows", len(p.Rows))
		}
		rows += len(p.Rows)
	}
	if rows != 50_000 || len(a.Asked()) > 52 {
		t.Errorf("%d rows in %d pages", rows, len(a.Asked()))
	}
}
