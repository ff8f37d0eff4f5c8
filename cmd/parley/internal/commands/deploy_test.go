package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// TestDeployedJournals: the addresses of shared logs that are there to be copied are good ones.
func TestDeployedJournals(t *testing.T) {
	t.Parallel()
	for name, least := range map[string]int{
		"deploy/compose.yaml": 2, "deploy/kubernetes.yaml": 2, "guides/several-hubs.md": 4,
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`nats://[A-Za-z][^\s"'`+"`"+`]+`).FindAllString(string(text), -1)
		if len(found) < least {
			t.Errorf("%s: only %d addresses: %q", name, len(found), found)
		}
		for _, address := range found {
			if _, err := config.ParseJournal(address); err != nil {
				t.Errorf("%s: %s: %v", name, address, err)
			}
		}
	}
}

// TestDeployedConfiguration: the configuration of docs/deploy is valid and has no warnings.
func TestDeployedConfiguration(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "..", "docs", "deploy", "parley.yaml")
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"config", "check", file}, strings.NewReader(""), &out,
		&errs); code != exit.CodeOK {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
	if strings.Contains(out.String(), "warning") {
		t.Errorf("%s", &out)
	}
}
