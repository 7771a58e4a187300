package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
)

// added are labels that scraping adds.
var added = []string{"instance", "job"}

// A checker knows the metrics that there are.
type checker struct {
	t    *testing.T
	all  map[string]map[string][]string // labels and their values, by name
	used map[string]bool
}

func newChecker(t *testing.T) *checker {
	return &checker{t: t, all: series(t), used: map[string]bool{}}
}

// closed are labels whose values are known: others are chosen by peers.
var closed = []string{"direction", "stage", "part", "cause", "outcome", "by"}

// check parses an expression, and checks that its metrics and labels exist. It
// returns the labels that its result has, where they are known: nil if not.
func (c *checker) check(where, expr string) (labels []string) {
	c.t.Helper()
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		c.t.Errorf("%s: %v", where, err)
		return nil
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		switch e := e.(type) {
		case *metricsql.MetricExpr:
			c.metric(where, e)
		case *metricsql.AggrFuncExpr:
			c.known(where, e.Modifier.Args, e)
		case *metricsql.BinaryOpExpr:
			c.known(where, e.GroupModifier.Args, e)
			left, right := c.labels(e.Left), c.labels(e.Right)
			slices.Sort(left)
			slices.Sort(right)
			if e.GroupModifier.Op == "" && left != nil && right != nil && !slices.Equal(left, right) {
				c.t.Errorf("%s: nothing on the left of %s has the labels of anything on its right: %v, %v", where, e.Op, left, right)
			}
		case *metricsql.FuncExpr:
			if !slices.Contains([]string{"rate", "increase", "time", "histogram_quantile"}, e.Name) {
				c.t.Errorf("%s: function %s is not among those that are used", where, e.Name)
			}
		}
	})
	return c.labels(parsed)
}

// metric checks that a metric exists, and its labels.
func (c *checker) metric(where string, e *metricsql.MetricExpr) {
	c.t.Helper()
	for _, filters := range e.LabelFilterss {
		name := ""
		for _, f := range filters {
			if f.Label == "__name__" {
				name = f.Value
			}
		}
		labels, is := c.all[name]
		if !is {
			c.t.Errorf("%s: there is no metric %q", where, name)
			return
		}
		c.used[name] = true
		for _, f := range filters {
			values, is := labels[f.Label]
			switch {
			case f.Label == "__name__" || slices.Contains(added, f.Label):
			case !is:
				c.t.Errorf("%s: %s has no label %s", where, name, f.Label)
			case slices.Contains(closed, f.Label) && !f.IsRegexp && !slices.Contains(values, f.Value):
				c.t.Errorf("%s: %s of %s is never %q, but one of %q", where, f.Label, name, f.Value, values)
			}
		}
	}
}

// known checks labels by which something is grouped: those of the metrics below.
func (c *checker) known(where string, names []string, below metricsql.Expr) {
	c.t.Helper()
	there := slices.Clone(added)
	metricsql.VisitAll(below, func(e metricsql.Expr) {
		if m, ok := e.(*metricsql.MetricExpr); ok {
			there = append(there, c.labels(m)...)
		}
	})
	for _, name := range names {
		if !slices.Contains(there, name) {
			c.t.Errorf("%s: nothing has the label %s", where, name)
		}
	}
}

// labels are those of an expression's result.
func (c *checker) labels(e metricsql.Expr) (list []string) {
	switch e := e.(type) {
	case *metricsql.MetricExpr:
		list = slices.Clone(added)
		for _, f := range e.LabelFilterss[0] {
			if f.Label == "__name__" {
				for label := range c.all[f.Value] {
					list = append(list, label)
				}
			}
		}
	case *metricsql.RollupExpr:
		return c.labels(e.Expr)
	case *metricsql.FuncExpr:
		return c.labels(e.Args[0])
	case *metricsql.AggrFuncExpr:
		switch arg := c.labels(e.Args[len(e.Args)-1]); {
		case e.Name == "topk" || e.Name == "bottomk":
			return arg
		case strings.EqualFold(e.Modifier.Op, "by"):
			return slices.Clone(e.Modifier.Args)
		case strings.EqualFold(e.Modifier.Op, "without"):
			return slices.DeleteFunc(slices.Clone(arg), func(l string) bool { return slices.Contains(e.Modifier.Args, l) })
		}
		return nil
	case *metricsql.BinaryOpExpr:
		list = c.labels(e.Left)
		if list == nil {
			list = c.labels(e.Right)
		}
	}
	return list
}
