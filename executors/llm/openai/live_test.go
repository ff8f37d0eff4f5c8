//go:build live

package openai_test

import "testing"

func TestLive(t *testing.T) { vendor.TestLive(t, "OPENAI", "gpt-4.1-mini,gpt-5-mini", "gpt-none") }
