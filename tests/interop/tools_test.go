package interop

import (
	"io"
	"net/http"
	"os/exec"
	"testing"

	"sluice/tests/harness"
)

func get(t testing.TB, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return res.StatusCode, string(body)
}

// command runs the binary as a client.
func command(t testing.TB, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx(t), harness.Path(t), args...).CombinedOutput()
	return string(out), err
}
