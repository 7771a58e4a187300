package auth

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All lines that are wrong are told at once, up to a number.
func TestBadUsersFiles_AllLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	for text, want := range map[string]int{
		"a\nb:{plain}x\n:c\nb:{plain}y\nd:x\n": 4,
		strings.Repeat("x\n", 100):             maxWrongUsers,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadUsers(path)
		var lines *UsersError
		if !errors.As(err, &lines) || len(lines.Lines) != want {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
