package certs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// TestTLSFilesThatAreRefused: what makes no whole is refused by name, before anything listens.
func TestTLSFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	ca := clitest.NewAuthority(t)
	for name, c := range map[string]struct {
		change func(t *testing.T, f *certs.Files)
		want   string
	}{
		"no key":           {func(t *testing.T, f *certs.Files) { f.Key = "" }, "both a certificate and its key"},
		"no certificate":   {func(t *testing.T, f *certs.Files) { f.Cert = "" }, "both a certificate and its key"},
		"only a client CA": {func(t *testing.T, f *certs.Files) { *f = certs.Files{ClientCA: f.Cert} }, "needs TLS"},
		"absent":           {func(t *testing.T, f *certs.Files) { f.Cert += "x" }, "no such file"},
		"a directory":      {func(t *testing.T, f *certs.Files) { f.Cert = filepath.Dir(f.Cert) }, "no regular file"},
		"too large": {func(t *testing.T,
			f *certs.Files) {
			clitest.WriteFile(t, f.Cert, make([]byte, certs.MaxFileBytes+1))
		}, "expected at most"},
		"key for all": {func(t *testing.T, f *certs.Files) { clitest.Chmod(t, f.Key, 0o644) },
			"mode 0644: others may read"},
		"key for the world": {func(t *testing.T, f *certs.Files) { clitest.Chmod(t, f.Key, 0o604) },
			"mode 0604: others may read"},
		"key to be changed": {func(t *testing.T, f *certs.Files) { clitest.Chmod(t, f.Key, 0o620) },
			"mode 0620: others may read"},
		"no PEM": {func(t *testing.T, f *certs.Files) { clitest.WriteFile(t, f.Cert, []byte("hello")) },
			"cert.pem"},
		"key as certificate": {func(t *testing.T, f *certs.Files) { f.Cert = f.Key }, "key.pem"},
		"another's key": {func(t *testing.T, f *certs.Files) {
			_, key := ca.Certificate(clitest.Month)
			clitest.WriteFile(t, f.Key, key)
		}, "does not match"},
		"no names": {func(t *testing.T, f *certs.Files) {
			cert, key := ca.Nameless()
			clitest.WriteFile(t, f.Cert, cert)
			clitest.WriteFile(t, f.Key, key)
		}, "names no host"},
		"empty client CA": {func(t *testing.T, f *certs.Files) {
			f.ClientCA = clitest.WriteFile(t, filepath.Join(t.TempDir(), "clients.pem"), nil)
		}, "holds no certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			files := ca.Write(t.TempDir(), clitest.Month)
			c.change(t, &files)
			contents, err := files.Read()
			if err == nil {
				_, err = certs.LoadServer(files, contents)
			}
			if err == nil {
				t.Fatal("taken")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; expected %q", err, c.want)
			}
			if strings.Contains(err.Error(), "PRIVATE") {
				t.Errorf("the error shows a key: %v", err)
			}
		})
	}
}

// TestKeyOfRootForAGroup: a key of root that a group may read is accepted, the same of another user
// is not.
func TestKeyOfRootForAGroup(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		clitest.LeaveOut(t, "root, who makes files of others,")
	}
	files := clitest.NewAuthority(t).Write(t.TempDir(), clitest.Month)
	clitest.Chmod(t, files.Key, 0o440)
	if _, err := files.Read(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(files.Key, 1234, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Read(); err == nil {
		t.Error("a key of user 1234 that the group may read was taken")
	}
}
