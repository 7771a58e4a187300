package tlsprofile

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How long to wait after a change for the others that come with it: tools write
// certificate and key one after the other.
const (
	settle    = 250 * time.Millisecond // of silence …
	maxSettle = 5 * time.Second        // … but not longer, from the first change
)

// files returns the names of all the files that a profile reads.
func (s *Spec) files() []string {
	var files []string
	for _, f := range []string{s.CACertFile, s.CertFile, s.PrivateKeyFile, s.UIDNameMappingFile} {
		if f != "" {
			files = append(files, f)
		}
	}
	if f, ok := strings.CutPrefix(s.Password, "file:"); ok {
		files = append(files, strings.TrimSpace(f))
	}
	return files
}

// watch watches the directories of the files, not the files: certificates are
// usually replaced by renaming, or by turning a symbolic link of a directory
// next to them, which is what Kubernetes does.
func watch(ctx context.Context, p *Profile) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("sslProfile %s: cannot watch files: %w", p.spec.Name, err)
	}
	defer w.Close()
	var dirs []string
	for _, f := range p.spec.files() {
		if dir := filepath.Dir(f); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
			if err := w.Add(dir); err != nil {
				return fmt.Errorf("sslProfile %s: cannot watch %s: %w", p.spec.Name, dir, err)
			}
		}
	}
	// What changed before the watch began is seen here.
	p.reloadChanged()
	var quiet <-chan time.Time // nil when nothing has changed
	var deadline time.Time
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, ok := <-w.Events:
			if !ok {
				return fmt.Errorf("sslProfile %s: watching files ended", p.spec.Name)
			}
			now := time.Now()
			if quiet == nil {
				deadline = now.Add(maxSettle)
			}
			quiet = time.After(min(settle, max(0, deadline.Sub(now))))
		case err, ok := <-w.Errors:
			if ok {
				p.log.Warn().Err(err).Msg("watching the files of an sslProfile; changes may be missed until SIGHUP")
			}
		case <-quiet:
			quiet = nil
			p.reloadChanged()
		}
	}
}

// reloadChanged reloads the profile if a file has another content, and logs
// that. Most events are about other files of the directory.
func (p *Profile) reloadChanged() {
	changed, err := p.Reload()
	switch {
	case err != nil && err.Error() == p.lastError:
	case err != nil:
		p.lastError = err.Error()
		p.log.Error().Err(err).Msg("changed files of sslProfile cannot be used; new connections use the old ones")
	case changed:
		p.lastError = ""
		p.log.Info().Msg("sslProfile reloaded its files")
	default:
		p.lastError = ""
	}
}
