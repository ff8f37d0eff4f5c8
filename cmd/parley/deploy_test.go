package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestDeployedConfiguration: the configuration that is there to be copied is a good one, and nothing about it is doubtful.
func TestDeployedConfiguration(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "deploy", "parley.yaml")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"config", "check", file}, strings.NewReader(""), &out, &errs); code != exitOK {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
	if strings.Contains(out.String(), "warning") {
		t.Errorf("%s", &out)
	}
}
