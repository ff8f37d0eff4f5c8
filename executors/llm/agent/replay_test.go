package agent_test

import (
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/replay"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// A tool result is recorded together with the model calls, and replayed without the tool.
func TestReplayedTools(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	for _, mode := range []replay.Mode{replay.Record, replay.Play} {
		c, err := replay.Open(path, &replay.Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		add := &adder{name: "add"}
		w := newWorld(t, inTurn(wants("add", `{"n":1}`), says("done")))
		w.options.Functions, w.options.Wrap = []tool.Tool{add}, c.Tool
		w.options.Runtimes = llm.NewRuntimes(llm.NewRuntime(c.Provider(w.vendor), w.models))
		stop := w.run(blueprint(`"tools":["add"]`))
		w.completed(w.hello(), "done")
		stop()
		if asked := mode == replay.Record; (len(add.ran()) == 1) != asked || (len(w.vendor.calls()) == 2) != asked ||
			len(add.ran()) > 1 {
			t.Errorf("%s: the tool ran with %q, and the model was asked %d times", mode, add.ran(), len(w.vendor.calls()))
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A call with possibly incomplete arguments is not run, and the model reads that.
func TestCutOffCall(t *testing.T) {
	t.Parallel()
	add := &adder{name: "add"}
	long := wants("add", `{"n":1}`, "add", `{}`)
	long.Finish = llm.FinishLength
	w := newWorld(t, inTurn(long, says("done")))
	w.options.Functions = []tool.Tool{add}
	w.run(blueprint(`"tools":["add"],"max_tokens":100`))
	w.completed(w.hello(), "done")
	if got := add.ran(); len(got) != 1 || got[0] != `{"n":1}` {
		t.Errorf("the tool ran with %q", got)
	}
}
