package stat

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"sluice/cmd/internal/management"
	"sluice/cmd/internal/table"
)

// A Watch looks again and again.
type Watch struct {
	Options
	Interval time.Duration
	Out      io.Writer
	// Routers returns who is to be asked, anew each time.
	Routers func(context.Context) ([]Router, error)
	// Lost is told of an error that ends a look. Unless it returns true, it ends
	// the watch, too.
	Lost func(error) bool
	// Screen returns the size of the terminal. Where it is nil, what is seen is
	// printed one after the other; otherwise in the same place.
	Screen func() (width, height int)
	// Note is told, line by line, what is to be said besides, if there is no
	// screen for it.
	Note func(string)

	before *tally
	shown  map[string][][]any // lines of the log, by router
	last   []string           // notes that have been told
}

// Run watches until the context is done, which is no error.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.Interval)
	defer ticker.Stop()
	if w.Screen != nil && !w.scrolls() {
		io.WriteString(w.Out, clearScreen)
	}
	for first := true; ; first = false {
		if err := w.look(ctx, first); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// scrolls tells whether what is new is printed after what there was even on a
// screen.
func (w *Watch) scrolls() bool { return w.View.latest || w.JSON }

// look looks once and shows it.
func (w *Watch) look(ctx context.Context, first bool) error {
	var out bytes.Buffer
	l := &Look{Options: w.Options, Out: &out, before: w.before, tally: newTally(), at: time.Now()}
	height := 0
	if w.Screen != nil {
		l.Width, height = w.Screen()
	}
	switch {
	case w.View.latest:
		l.fresh, l.goesOn = w.fresh, w.before != nil
	case w.Screen != nil && !w.JSON:
		l.height = max(height-frame, 1)
	}
	routers, err := w.Routers(ctx)
	if err == nil {
		err = l.Run(ctx, routers)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil && !w.Lost(err):
		return err
	case err != nil:
		l.Notes = append(l.Notes, err.Error())
	default:
		w.before = l.tally
	}
	for _, err := range l.Failed {
		l.Notes = append(l.Notes, err.Error())
	}
	title := w.title(l.at, routers)
	switch {
	case w.scrolls():
		w.Out.Write(out.Bytes())
		w.tell(l.Notes)
	case w.Screen != nil:
		w.paint(title, out.String(), l.Notes, l.Width, height)
	default:
		if !first {
			title = "\n" + title
		}
		fmt.Fprintln(w.Out, title)
		w.Out.Write(out.Bytes())
		w.tell(l.Notes)
	}
	return nil
}

// tell tells notes that have not been told at the look before.
func (w *Watch) tell(notes []string) {
	for _, n := range notes {
		if !contains(w.last, n) {
			w.Note(n)
		}
	}
	w.last = notes
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func (w *Watch) title(at time.Time, routers []Router) string {
	var ids []string
	for _, r := range routers {
		ids = append(ids, r.ID)
	}
	who := "router " + strings.Join(ids, ", ")
	switch {
	case len(ids) == 0:
		who = "no router"
	case len(ids) > 1:
		who = fmt.Sprintf("%d routers", len(ids))
	}
	return fmt.Sprintf("%s  %s of %s, every %v", at.Format(time.DateTime), w.View.Name, who, w.Interval)
}

// frame is how many lines a frame has besides its rows: the title, an empty line,
// the head of the table, and notes.
const frame = 7

const (
	clearScreen = "\x1b[2J"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
)

// paint shows a frame in place of the last one. It never is more than the
// screen holds.
func (w *Watch) paint(title, body string, notes []string, width, height int) {
	lines := append([]string{title, ""}, strings.Split(strings.TrimSuffix(body, "\n"), "\n")...)
	for _, n := range notes {
		lines = append(lines, management.Printable(n))
	}
	if height > 0 && len(lines) > height-1 {
		lines = lines[:max(height-1, 1)]
	}
	var b strings.Builder
	b.WriteString(home)
	for _, line := range lines {
		if width > 0 {
			line = table.Fit(line, width)
		}
		b.WriteString(line)
		b.WriteString(clearLine)
		b.WriteByte('\n')
	}
	b.WriteString(clearRest)
	io.WriteString(w.Out, b.String())
}

// fresh takes the lines from a page that the page before has had.
func (w *Watch) fresh(router string, p *management.Page) {
	before, now := w.shown[router], p.Rows
	if w.shown == nil {
		w.shown = make(map[string][][]any)
	}
	w.shown[router] = now
	for n := min(len(before), len(now)); n > 0; n-- {
		if reflect.DeepEqual(before[len(before)-n:], now[:n]) {
			p.Rows = now[n:]
			return
		}
	}
}
