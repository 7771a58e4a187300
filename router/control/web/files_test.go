package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func get(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, "/", nil)
	r.URL.Path = target // as it is, not cleaned
	h.ServeHTTP(w, r)
	return w
}

// What is below the directory is served, and nothing else.
func TestFiles(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	for name, text := range map[string]string{
		"index.html": "<p>home", "a.json": "{}", "font.woff2": "w", "raw": "r", "sub/index.html": "sub", "bare/x.txt": "x",
		".hidden": "h", ".git/config": "c", "../secret": "s",
	} {
		path := filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("../secret", filepath.Join(root, "escape"))
	os.Symlink("/etc/hostname", filepath.Join(root, "outside"))
	os.Symlink("a.json", filepath.Join(root, "inside"))
	syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644)
	h := Handler(Options{Root: root, Healthz: true})
	for _, test := range []struct {
		path   string
		status int
		want   string // of the body, or the type after a colon
	}{
		{"/", 200, "<p>home"},
		{"/index.html", 200, "<p>home"},
		{"/a.json", 200, ":application/json"},
		{"/font.woff2", 200, ":font/woff2"},
		{"/raw", 200, ":application/octet-stream"},
		{"/inside", 200, "{}"},
		{"/sub/", 200, "sub"},
		{"/healthz", 200, "OK"},
		{"/sub", 301, ""},
		{"/bare/", 404, "no such file"}, // not its contents
		{"/bare/x.txt", 200, "x"},
		{"/none", 404, "no such file"},
		{"/.hidden", 404, "no such file"},
		{"/.git/config", 404, "no such file"},
		{"/../secret", 404, "no such file"},
		{"/sub/../../secret", 404, "no such file"},
		{"/escape", 404, "no such file"},
		{"/outside", 404, "no such file"},
		{"/fifo", 404, "no such file"},
		{"/a.json\x00", 404, "no such file"},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil)
		r.URL.Path = test.path
		files(root).ServeHTTP(w, r)
		if test.path == "/healthz" {
			w = get(h, "GET", test.path)
		}
		kind, is := strings.CutPrefix(test.want, ":")
		if w.Code != test.status || !is && !strings.Contains(w.Body.String(), test.want) || is && w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d %v %q", test.path, w.Code, w.Header(), w.Body)
		}
	}
	if w := get(h, "POST", "/a.json"); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", w.Code)
	}
	if w := get(h, "HEAD", "/a.json"); w.Code != 200 || w.Body.Len() != 0 || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("HEAD: %d %q", w.Code, w.Body)
	}
	os.RemoveAll(root)
	if w := get(h, "GET", "/"); w.Code != 404 || !strings.Contains(w.Body.String(), "httpRootDir") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
