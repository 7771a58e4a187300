package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"

	"sluice/router/control/files"
)

// Users is the content of a users file: who may log in with PLAIN. It is safe
// for concurrent use.
//
// The file has a line for each user, in the form of htpasswd -B:
//
//	# comment
//	alice@example.com:$2y$05$…        bcrypt
//	test:{plain}secret                the password itself; for tests only
//
// The identity that a user proves is the name.
//
// A bcrypt comparison takes from milliseconds to a second of CPU on purpose.
// So that a thousand clients that reconnect at once do not cost that much
// each, the last password that was right is remembered for every user, and the
// last one that was wrong, as a keyed hash. No more than half of the processors
// compare at a time; the rest goes on routing.
type Users struct {
	path   string
	key    [32]byte      // of the remembered hashes; not stored anywhere
	slots  chan struct{} // one is held while comparing
	absent []byte        // what passwords of unknown users are compared with

	mu    sync.Mutex // guards users and the fields of each
	users map[string]*user
}

type user struct {
	hash   []byte // bcrypt, or nil
	secret string // plain, if hash is nil

	right, wrong [sha256.Size]byte // of the last such passwords; zero: none
}

// maxUsersFile is the longest users file, in bytes: a million users.
const maxUsersFile = 128 << 20

// maxWrongUsers is how many lines of a users file are reported.
const maxWrongUsers = 20

// A UsersError says what is wrong with each line of a users file.
type UsersError struct{ Lines []error }

func (e *UsersError) Error() string { return errors.Join(e.Lines...).Error() }

// LoadUsers reads a users file. If lines of it are wrong the error is a UsersError.
func LoadUsers(path string) (*Users, error) {
	u := &Users{path: path, slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	rand.Read(u.key[:]) // never fails
	if _, err := u.Reload(); err != nil {
		return nil, err
	}
	return u, nil
}

// Reload reads the file again, and reports whether users have changed. If it
// cannot be used they stay as they are.
func (u *Users) Reload() (changed bool, err error) {
	data, err := files.Read(u.path, maxUsersFile)
	if err != nil {
		return false, err
	}
	users, err := parseUsers(u.path, string(data))
	if err != nil {
		return false, err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	changed = !maps.EqualFunc(u.users, users, func(was, now *user) bool {
		return string(was.hash) == string(now.hash) && was.secret == now.secret
	})
	for name, now := range users {
		if was := u.users[name]; was != nil && string(was.hash) == string(now.hash) {
			now.right, now.wrong = was.right, was.wrong
		}
	}
	u.users = users
	// The cost of an unknown user is that of the costliest known one, or the
	// time of an answer would tell which names exist.
	u.absent = nil
	for _, now := range users {
		if cost, err := bcrypt.Cost(now.hash); err == nil {
			if costliest, _ := bcrypt.Cost(u.absent); cost > costliest {
				u.absent = now.hash
			}
		}
	}
	return changed, nil
}

func parseUsers(path, text string) (map[string]*user, error) {
	users := map[string]*user{}
	var wrong []error
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		bad := func(format string, args ...any) {
			wrong = append(wrong, fmt.Errorf("%s:%d: %s", path, i+1, fmt.Sprintf(format, args...)))
		}
		if len(wrong) == maxWrongUsers {
			break
		}
		name, proof, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			bad("expected name:bcrypt-hash, as htpasswd -B writes it, or name:{plain}password")
			continue
		}
		if users[name] != nil {
			bad("user %q is given twice", name)
			continue
		}
		if secret, ok := strings.CutPrefix(proof, "{plain}"); ok {
			users[name] = &user{secret: secret}
			continue
		}
		hash := []byte(strings.TrimSpace(proof))
		if _, err := bcrypt.Cost(hash); err != nil {
			bad("the password of user %q is no bcrypt hash; htpasswd -B makes one, and {plain} before it keeps it as it is", name)
			continue
		}
		users[name] = &user{hash: hash}
	}
	if wrong != nil {
		return nil, &UsersError{wrong}
	}
	return users, nil
}

// Len returns the number of users.
func (u *Users) Len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.users)
}

// Verify checks a user name and password and returns the identity they prove.
// It may take as long as a bcrypt comparison, so it must not run on the message
// path.
func (u *Users) Verify(name, password string) (identity string, ok bool) {
	mac := u.mac(name, password)
	u.mu.Lock()
	known := u.users[name]
	hash := u.absent
	if known != nil {
		if known.hash == nil {
			secret := known.secret
			u.mu.Unlock()
			if subtle.ConstantTimeCompare([]byte(secret), []byte(password)) != 1 {
				return "", false
			}
			return name, true
		}
		if hmac.Equal(known.right[:], mac[:]) {
			u.mu.Unlock()
			return name, true
		}
		if hmac.Equal(known.wrong[:], mac[:]) {
			u.mu.Unlock()
			return "", false
		}
		hash = known.hash
	}
	u.mu.Unlock()
	if hash == nil {
		return "", false
	}
	u.slots <- struct{}{}
	// The same password may have been verified while this one waited: a storm
	// of clients costs one comparison.
	verified := known != nil && u.remembered(known, mac)
	if !verified {
		verified = bcrypt.CompareHashAndPassword(hash, []byte(password)) == nil && known != nil
	}
	<-u.slots
	if known == nil {
		return "", false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if !verified {
		known.wrong = mac
		return "", false
	}
	known.right = mac
	return name, true
}

func (u *Users) remembered(known *user, mac [sha256.Size]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return hmac.Equal(known.right[:], mac[:])
}

// mac returns the keyed hash by which a password is remembered.
func (u *Users) mac(name, password string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, u.key[:])
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write([]byte(password))
	copy(sum[:], h.Sum(nil))
	return sum
}
