package jetstream_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
)

// operator is who signs the accounts of a server that knows users by what they have signed.
type operator struct {
	t   testing.TB
	key nkeys.KeyPair
}

// account creates an account, and returns its key, its name and its JWT.
func (o *operator) account(name string, limits jwt.JetStreamLimits) (key nkeys.KeyPair, id, token string) {
	o.t.Helper()
	key = newKey(o.t, nkeys.CreateAccount)
	id = publicOf(o.t, key)
	c := jwt.NewAccountClaims(id)
	c.Name, c.Limits.JetStreamLimits = name, limits
	return key, id, signed(o.t, c, o.key)
}

// credentials writes the file of a user of an account, whose right ends at a time.
func credentials(t testing.TB, account nkeys.KeyPair, until time.Time) string {
	t.Helper()
	key := newKey(t, nkeys.CreateUser)
	c := jwt.NewUserClaims(publicOf(t, key))
	c.Name, c.Expires = "hub", until.Unix()
	seed, err := key.Seed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := jwt.FormatUserConfig(signed(t, c, account), seed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "hub.creds")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func newKey(t testing.TB, create func() (nkeys.KeyPair, error)) nkeys.KeyPair {
	t.Helper()
	key, err := create()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func publicOf(t testing.TB, key nkeys.KeyPair) string {
	t.Helper()
	id, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func signed(t testing.TB, c jwt.Claims, by nkeys.KeyPair) string {
	t.Helper()
	token, err := c.Encode(by)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// operated starts a server whose users have credentials. It returns its URL, its monitoring
// address, and the key of the account with the streams.
func operated(t testing.TB) (url, monitor string, account nkeys.KeyPair) {
	t.Helper()
	o := &operator{t, newKey(t, nkeys.CreateOperator)}
	_, systemID, system := o.account("SYS", jwt.JetStreamLimits{})
	account, id, parley := o.account("PARLEY", jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1})
	claims := jwt.NewOperatorClaims(publicOf(t, o.key))
	claims.SystemAccount = systemID
	dir := t.TempDir()
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("listen: \"127.0.0.1:-1\"\nhttp: \"127.0.0.1:-1\"\njetstream { store_dir: %q, sync_interval: always }\noperator: %s\nsystem_account: %s\nresolver: MEMORY\nresolver_preload: { %s: %s, %s: %s }\n",
		filepath.Join(dir, "data"), signed(t, claims, o.key), systemID, systemID, system, id, parley)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	opts, err := server.ProcessConfigFile(file)
	if err != nil {
		t.Fatal(err)
	}
	opts.NoSigs, opts.NoLog = true, true
	s, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(calm) {
		t.Fatal("the server is not ready")
	}
	return s.ClientURL(), "http://" + s.MonitorAddr().String(), account
}

// TestCredentials: a node whose user is in a file with a signed JWT writes and reads. One of
// another account, without the file, or with expired rights is refused.
func TestCredentials(t *testing.T) {
	t.Parallel()
	url, monitor, account := operated(t)
	dir := t.TempDir()
	other, bare := filepath.Join(dir, "other"), filepath.Join(dir, "bare")
	seed, err := newKey(t, nkeys.CreateUser).Seed()
	if err := errors.Join(err, os.WriteFile(other, []byte("a secret"), 0o600),
		os.WriteFile(bare, seed, 0o600)); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	try := func(file string) (*jetstream.Journal, error) {
		return tryOpen(t, url, filepath.Join(t.TempDir(), "replica"),
			jetstream.Options{Monitors: []string{monitor}, Credentials: file, Patience: calm})
	}
	for name, file := range map[string]string{
		"none":            "",
		"another account": credentials(t, newKey(t, nkeys.CreateAccount), later),
		"ended":           credentials(t, account, time.Now().Add(-time.Minute)),
		"no file":         filepath.Join(t.TempDir(), "missing"),
		"something else":  other,
		"a key alone":     bare,
	} {
		if _, err := try(file); !errors.Is(err, jetstream.ErrRefused) || strings.Contains(err.Error(), "secret") ||
			strings.Contains(err.Error(), string(seed)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	j, err := try(credentials(t, account, later))
	if err != nil {
		t.Fatal(err)
	}
	journaltest.Append(t, j, "c", 0, "by a user who is known by a signature")
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if j, err = try(credentials(t, account, later)); err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	journaltest.Append(t, j, "c", 1, "by another user of the account")
}
