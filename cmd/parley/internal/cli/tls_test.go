package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// TestClientEnvironment: what PARLEY_CA, PARLEY_CERT and PARLEY_KEY name and is not there is
// refused by name.
func TestClientEnvironment(t *testing.T) {
	dir := t.TempDir()
	mine := clitest.NewAuthority(t).Write(dir, clitest.Month)
	junk := clitest.WriteFile(t, filepath.Join(dir, "junk.pem"), []byte("junk"))
	for _, c := range []struct{ ca, cert, key, want string }{
		{"", "", "", ""},
		{mine.Cert, mine.Cert, mine.Key, ""},
		{filepath.Join(dir, "absent.pem"), "", "", cli.EnvCA + ": "},
		{junk, "", "", cli.EnvCA + ": "},
		{"", mine.Cert, "", "needs both PARLEY_CERT and PARLEY_KEY"},
		{"", "", mine.Key, "needs both PARLEY_CERT and PARLEY_KEY"},
		{"", junk, mine.Key, "cannot be used"},
	} {
		t.Setenv(cli.EnvCA, c.ca)
		t.Setenv(cli.EnvCert, c.cert)
		t.Setenv(cli.EnvKey, c.key)
		_, err := cli.NewHTTPClient()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
