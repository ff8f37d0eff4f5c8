//go:build live

package anthropic_test

import "testing"

func TestLive(t *testing.T) { vendor.TestLive(t, "ANTHROPIC", "claude-haiku-4-5", "claude-none") }
