package management

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sluice/router/control/logging"
	"sluice/router/control/schema"
)

func (d *Desk) logKind() *kind {
	k := &kind{schema: schema.ByName("log")}
	k.columns = order(k.schema, served)
	k.list = func() (list []string) {
		for _, m := range logging.ModuleNames() {
			list = append(list, "log/"+m)
		}
		return list
	}
	k.row = func(identity string, to []any) ([]any, bool) {
		m, ok := logModule("log/", identity)
		if !ok {
			return nil, false
		}
		s := d.router.Logs().Setting(m)
		v := map[string]any{"name": identity, "identity": identity, "type": k.full(), "module": m.String(), "outputFile": orNil(s.Output)}
		if m == logging.Default { // what holds where nothing is said
			v["enable"], v["includeTimestamp"], v["includeSource"] = logging.AtLeast(logging.Info).String(), true, false
			v["outputFile"] = nameOr(s.Output, "stderr")
		}
		if s.Enable != nil {
			v["enable"] = s.Enable.String()
		}
		if s.Timestamp != nil {
			v["includeTimestamp"] = *s.Timestamp
		}
		if s.Source != nil {
			v["includeSource"] = *s.Source
		}
		return fill(k, to, v), true
	}
	k.update = d.updateLog
	return k
}

func logModule(prefix, identity string) (logging.Module, bool) {
	name, ok := strings.CutPrefix(identity, prefix)
	m, known := logging.ModuleNamed(name)
	return m, ok && known
}

// updateLog changes what a module logs, and where. Null gives a setting back to
// DEFAULT.
func (d *Desk) updateLog(identity string, a attributes) error {
	m, _ := logModule("log/", identity)
	s := d.router.Logs().Setting(m)
	if v, has := a["enable"]; has {
		if s.Enable = nil; v != nil {
			mask, err := logging.ParseEnable(v.(string))
			if err != nil {
				return &Status{statusInternalError, fmt.Sprintf("CError: Configuration: '%s' is not a valid log level. Should be one of {none, trace, debug, info, notice, warning, error, critical}.", brief(v.(string)))}
			}
			s.Enable = &mask
		}
	}
	for name, to := range map[string]**bool{"includeTimestamp": &s.Timestamp, "includeSource": &s.Source} {
		if v, has := a[name]; has {
			if *to = nil; v != nil {
				yes := v.(bool)
				*to = &yes
			}
		}
	}
	if v, has := a["outputFile"]; has {
		s.Output, _ = v.(string)
		switch {
		case v == "":
			return noLogFile("", nil)
		case s.Output == "syslog":
			return notImplemented("outputFile syslog is not supported")
		}
	}
	if err := d.router.Logs().Set(s); err != nil {
		return noLogFile(s.Output, err)
	}
	d.router.LogsChanged()
	return nil
}

// noLogFile says it in the words of the existing family, with the reason behind them.
func noLogFile(name string, err error) *Status {
	text := fmt.Sprintf("CError: Configuration: Failed to open log file '%s'", brief(name))
	if path := new(os.PathError); errors.As(err, &path) {
		text += ": " + path.Err.Error()
	}
	return &Status{statusInternalError, text}
}

func (d *Desk) logStatsKind() *kind {
	k := &kind{schema: schema.ByName("logStats")}
	k.columns = order(k.schema, served)
	k.list = func() (list []string) {
		for _, m := range logging.ModuleNames() {
			list = append(list, "logStats/"+m)
		}
		return list
	}
	k.row = func(identity string, to []any) ([]any, bool) {
		m, ok := logModule("logStats/", identity)
		if !ok {
			return nil, false
		}
		v := map[string]any{"name": m.String(), "identity": identity, "type": k.full()}
		for l, n := range d.router.Logs().Counts(m) {
			v[logging.Level(l).String()+"Count"] = small(int64(n))
		}
		return fill(k, to, v), true
	}
	return k
}

// getLog answers with the latest lines of the log, oldest first.
func (d *Desk) getLog(q *request) (*reply, error) {
	limit := maxLogLines
	if v := q.property("limit"); v != nil {
		if limit = min(q.number("limit", v), maxLogLines); q.err != nil {
			return nil, q.err
		}
	}
	list := []any{}
	for _, l := range d.router.Logs().Recent(limit) {
		row := []any{l.Module.String(), l.Level.String(), l.Text, nil, nil, small(l.Time.Unix())}
		if l.File != "" {
			row[3], row[4] = l.File, int32(l.Line)
		}
		list = append(list, row)
	}
	return value(statusOK, list)
}
