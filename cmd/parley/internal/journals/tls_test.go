package journals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// TestSharedLogOverTLS: servers that want TLS, a certificate and a password get them; and where
// something of it is wrong, a hub that is to be started says what, and does not wait for it to
// become right.
func TestSharedLogOverTLS(t *testing.T) {
	ours, others := clitest.NewAuthority(t), clitest.NewAuthority(t)
	dir, stranger := t.TempDir(), t.TempDir()
	pair, strange := ours.Write(dir, time.Hour), others.Write(stranger, time.Hour)
	ca := clitest.WriteFile(t, filepath.Join(dir, "ca.pem"), ours.PEM())
	wrongCA := clitest.WriteFile(t, filepath.Join(stranger, "ca.pem"), others.PEM())
	servers, err := natscluster.Start(t.Context(), t.TempDir(),
		&natscluster.Options{TLS: &natscluster.TLS{Cert: pair.Cert, Key: pair.Key, CA: ca}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(servers.Close)
	const password = "loopback" // of natscluster
	at := func(scheme, user, files string) string {
		return fmt.Sprintf("%s://%s%s?monitor=%s%s", scheme, user, servers.Address(0), servers.Monitors()[0], files)
	}
	trusted, shown := "&ca="+ca, "&cert="+pair.Cert+"&key="+pair.Key
	for name, tt := range map[string]struct{ address, password, says string }{
		"all is right":     {at("tls", "parley@", trusted+shown), password, ""},
		"another password": {at("tls", "parley@", trusted+shown), "guessed", "Authorization Violation"},
		"no password":      {at("tls", "parley@", trusted+shown), "", "Authorization Violation"},
		"no user":          {at("tls", "", trusted+shown), password, "Authorization Violation"},
		"another authority": {at("tls", "parley@", "&ca="+wrongCA+shown), password,
			"certificate signed by unknown authority"},
		"no certificate": {at("tls", "parley@", trusted), password, "certificate required"},
		"a stranger's certificate": {at("tls", "parley@", trusted+"&cert="+strange.Cert+"&key="+strange.Key), password,
			"remote error: tls: "},
		"in clear": {at("nats", "parley@", ""), password, "certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(cli.EnvNATSPassword, tt.password)
			data := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			j, err := openServeShared(ctx, tt.address, data, slog.New(slog.DiscardHandler))
			if tt.says == "" {
				if err != nil {
					t.Fatal(err)
				}
				journaltest.Append(t, j, "c", 0, "over TLS")
				if err := j.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, jetstream.ErrRefused) || !strings.Contains(err.Error(), tt.says) || tt.password != "" &&
				strings.Contains(err.Error(), tt.password) {
				t.Errorf("expected a refusal that says %q: %v", tt.says, err)
			}
			if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
				t.Errorf("%v, %v: expected that nothing was begun", left, err)
			}
		})
	}
}
