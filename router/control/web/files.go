package web

import (
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"strings"
)

func init() {
	// What systems without a table of types do not know.
	mime.AddExtensionType(".json", "application/json")
	mime.AddExtensionType(".woff2", "font/woff2")
}

// files serves the regular files below a directory, index.html for a directory.
// Nothing outside of it is reached, by whatever name or symbolic link; what begins
// with a dot, and the contents of directories, are not shown.
func files(dir string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			plain(w, http.StatusMethodNotAllowed, "files can be read only")
			return
		}
		// Opened for each request, so that the directory may be replaced.
		root, err := os.OpenRoot(dir)
		if err != nil {
			plain(w, http.StatusNotFound, "the directory of files (httpRootDir) is not there")
			return
		}
		defer root.Close()
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		if name == "" {
			name = "."
		}
		info, err := stat(root, name)
		if err == nil && info.IsDir() {
			if !strings.HasSuffix(r.URL.Path, "/") {
				w.Header().Set("Location", path.Base(name)+"/") // relative links work from there
				w.WriteHeader(http.StatusMovedPermanently)
				return
			}
			name = path.Join(name, "index.html")
			info, err = stat(root, name)
		}
		if err != nil || !info.Mode().IsRegular() {
			plain(w, http.StatusNotFound, "there is no such file")
			return
		}
		f, err := root.Open(name)
		if err != nil {
			plain(w, http.StatusNotFound, "there is no such file")
			return
		}
		defer f.Close()
		if mime.TypeByExtension(path.Ext(name)) == "" {
			w.Header().Set("Content-Type", "application/octet-stream") // it is not guessed
		}
		http.ServeContent(w, r, name, info.ModTime(), f)
	})
}

var errHidden = errors.New("hidden")

func stat(root *os.Root, name string) (fs.FileInfo, error) {
	if name != "." {
		for part := range strings.SplitSeq(name, "/") {
			if strings.HasPrefix(part, ".") {
				return nil, errHidden
			}
		}
	}
	return root.Stat(name)
}
