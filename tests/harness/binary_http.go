package harness

import (
	"io"
	"net/http"
	"strings"
)

// Get asks the router's HTTP listener for a path. Status 0 is no answer; the
// text is then why.
func (b *Binary) Get(path string) (status int, text string) {
	b.t.Helper()
	res, err := http.Get("http://" + b.HTTP[0] + path)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	return res.StatusCode, strings.TrimSpace(string(body))
}
