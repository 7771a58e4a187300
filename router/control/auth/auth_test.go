package auth

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "users")
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func hash(t *testing.T, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

func TestVerify(t *testing.T) {
	u, err := LoadUsers(write(t, "", "# users\n\nalice@d.com:"+hash(t, "wonder")+"\r\nbob:{plain}builder:1\nempty:{plain}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		user, password string
		want           bool
	}{
		{"alice@d.com", "wonder", true},
		{"alice@d.com", "wonde", false},
		{"alice@d.com", "", false},
		{"alice", "wonder", false},
		{"bob", "builder:1", true},
		{"bob", "builder", false},
		{"bob", "{plain}builder:1", false},
		{"empty", "", true},
		{"nobody", "wonder", false},
		{"", "", false},
	} {
		for range 3 { // from memory, too
			id, ok := u.Verify(test.user, test.password)
			if ok != test.want || ok && id != test.user || !ok && id != "" {
				t.Errorf("Verify(%q, %q) = %q, %v", test.user, test.password, id, ok)
			}
		}
	}
}

func TestReloadForgetsPasswordsThatChanged(t *testing.T) {
	path := write(t, "", "a:"+hash(t, "old"))
	u, err := LoadUsers(path)
	if err != nil {
		t.Fatal(err)
	}
	u.Verify("a", "old")
	u.Verify("a", "new") // remembered as wrong
	write(t, path, "a:"+hash(t, "new"))
	if changed, err := u.Reload(); err != nil || !changed {
		t.Fatal(err)
	}
	if _, ok := u.Verify("a", "old"); ok {
		t.Error("the old password still works")
	}
	if _, ok := u.Verify("a", "new"); !ok {
		t.Error("the new password does not work")
	}
	write(t, path, "a:x")
	if _, err := u.Reload(); err == nil {
		t.Error("a bad file was taken")
	}
	if _, ok := u.Verify("a", "new"); !ok {
		t.Error("a bad file changed the users")
	}
}

// A storm of clients with one right password costs few comparisons: the test
// would take minutes otherwise.
func TestReconnectStorm(t *testing.T) {
	h, _ := bcrypt.GenerateFromPassword([]byte("p"), 8)
	u, err := LoadUsers(write(t, "", "a:"+string(h)))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 5000 {
		wg.Go(func() {
			if _, ok := u.Verify("a", "p"); !ok {
				t.Error("refused")
			}
		})
	}
	wg.Wait()
}

func TestBadUsersFiles(t *testing.T) {
	for text, want := range map[string]string{
		"alice\n":                         ":1: expected name:bcrypt-hash",
		"# ok\n:x\n":                      ":2: expected name:bcrypt-hash",
		"a:{plain}x\na:{plain}y\n":        `:2: user "a" is given twice`,
		"a:secret\n":                      `:1: the password of user "a" is no bcrypt hash`,
		"a:$apr1$abc$9kUgg5vWnkR8ZiQC8\n": `:1: the password of user "a" is no bcrypt hash`,
	} {
		_, err := LoadUsers(write(t, "", text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := LoadUsers("/no/such/file"); err == nil {
		t.Error("no error for a missing file")
	}
}

func TestResolvePassword(t *testing.T) {
	t.Setenv("SLUICE_TEST_PASSWORD", "from env")
	path := write(t, "", "first line\r\nsecond\n")
	long := write(t, "", strings.Repeat("x", 300)+"\n")
	for _, test := range []struct {
		text    string
		literal bool
		want    string
		plain   bool
		fails   bool
	}{
		{text: "env:SLUICE_TEST_PASSWORD", want: "from env"},
		{text: "env:  SLUICE_TEST_PASSWORD", want: "from env"},
		{text: "env:SLUICE_TEST_UNSET", fails: true},
		{text: "file:" + path, want: "first line"},
		{text: "file:" + long, want: strings.Repeat("x", 199)},
		{text: "file:/no/such/file", fails: true},
		{text: "file:" + write(t, "", "\n"), fails: true},
		{text: "pass:a:b", want: "a:b", plain: true},
		{text: "literal:x", literal: true, want: "x", plain: true},
		{text: "literal:x", want: "literal:x", plain: true},
		{text: "bare", want: "bare", plain: true},
	} {
		got, plain, err := ResolvePassword(test.text, PasswordForms{Literal: test.literal})
		if test.fails != (err != nil) || got.Reveal() != test.want || plain != test.plain {
			t.Errorf("%q: %q, plain %v, error %v", test.text, got.Reveal(), plain, err)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	s := struct{ P Secret }{"hunter2"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, s); strings.Contains(text, "hunter2") {
			t.Errorf("%s shows the secret: %s", format, text)
		}
	}
	if text, _ := s.P.MarshalText(); strings.Contains(string(text), "hunter2") {
		t.Errorf("marshalled: %s", text)
	}
}

func BenchmarkVerifyRemembered(b *testing.B) {
	h, _ := bcrypt.GenerateFromPassword([]byte("p"), bcrypt.MinCost)
	path := filepath.Join(b.TempDir(), "users")
	os.WriteFile(path, []byte("a:"+string(h)), 0o600)
	u, err := LoadUsers(path)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		u.Verify("a", "p")
	}
}
