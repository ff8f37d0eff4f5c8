package replay_test

import (
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/replay"
)

// A recording provider conforms like any other.
func TestRecordConforms(t *testing.T) {
	llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
		return llmtest.Setup{Model: "model-1", Provider: func(t *testing.T, s *llmtest.Script) llm.Provider {
			return open(t, filepath.Join(t.TempDir(), "run.jsonl"), &replay.Options{Mode: replay.Record}).Provider(
				llmtest.Vendor(s))
		}}
	})
}

// A replaying provider conforms like any other, without the vendor.
func TestPlayConforms(t *testing.T) {
	for _, at := range []string{"file", "directory"} {
		t.Run(at, func(t *testing.T) {
			llmtest.Conformance(t, func(t *testing.T) llmtest.Setup {
				return llmtest.Setup{Model: "model-1",
					Provider: func(t *testing.T, s *llmtest.Script) llm.Provider { return played(t, s, at) }}
			})
		})
	}
}

// played runs a script once and replays it.
func played(t *testing.T, s *llmtest.Script, at string) llm.Provider {
	t.Helper()
	path := t.TempDir()
	if at == "file" {
		path = filepath.Join(path, "run.jsonl")
	}
	c := open(t, path, &replay.Options{Mode: replay.Record})
	s.Run(t.Context(), c.Provider(llmtest.Vendor(s)))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	s.Rewind()
	return open(t, path, nil).Player("fake")
}

func open(t *testing.T, path string, o *replay.Options) *replay.Cassette {
	t.Helper()
	c, err := replay.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}
