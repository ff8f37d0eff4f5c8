package replay_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/replay"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// refund is a tool that counts its runs.
type refund struct{ runs int }

func (r *refund) Spec() llm.ToolSpec { return llm.ToolSpec{Name: "refund"} }

func (r *refund) Run(ctx context.Context, c *tool.Call) (*tool.Result, error) {
	r.runs++
	c.Progress(tool.Progress{Done: 1, Total: 2, Text: "half"})
	switch string(c.Arguments) {
	case `{"order": 1}`:
		return &tool.Result{Text: "done \xff"}, nil
	case `{"order": 2}`:
		return &tool.Result{Text: "there is none", IsError: true}, nil
	}
	return nil, errors.New("the till is shut")
}

type repeatableRefund struct{ refund }

func (*repeatableRefund) Repeatable() {}

// The result and the progress of a tool are replayed by its arguments, without running it.
func TestTool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	inner := &refund{}
	c := open(t, path, &replay.Options{Mode: replay.Record})
	run := func(of tool.Tool, again bool) {
		t.Helper()
		for _, one := range []struct {
			arguments, later string
			want             *tool.Result
			fails            string
		}{
			{`{"order": 1}`, `{ "order" : 1 }`, &tool.Result{Text: "done \xff"}, ""},
			{`{"order": 2}`, `{"order":2}`, &tool.Result{Text: "there is none", IsError: true}, ""},
			{`{"order": 3, "of": "x"}`, `{"of": "x", "order": 3}`, nil, "the till is shut"},
		} {
			arguments := one.arguments
			if again {
				arguments = one.later // the same JSON in another form
			}
			var told []tool.Progress
			got, err := of.Run(t.Context(),
				&tool.Call{Arguments: []byte(arguments), Progress: func(p tool.Progress) { told = append(told, p) }})
			if !reflect.DeepEqual(got, one.want) || (err == nil) != (one.fails == "") || err != nil && err.Error() != one.fails {
				t.Errorf("%s: %+v, %v: expected %+v, %s", arguments, got, err, one.want, one.fails)
			}
			if !reflect.DeepEqual(told, []tool.Progress{{Done: 1, Total: 2, Text: "half"}}) {
				t.Errorf("%s: told %+v", arguments, told)
			}
		}
	}
	run(c.Tool(inner), false)
	played := open(t, path, nil).Tool(inner)
	run(played, true)
	if inner.runs != 3 {
		t.Errorf("the tool ran %d times: expected 3", inner.runs)
	}
	_, err := played.Run(t.Context(), &tool.Call{Arguments: []byte(`{"order": 4}`)})
	var missing *replay.MissingError
	if !errors.As(err, &missing) || missing.What != "the tool refund" || missing.Path != "order" {
		t.Errorf("%v", err)
	}
	if inner.runs != 3 {
		t.Error("a tool that was not recorded ran")
	}
}

// A recorded tool is Repeatable if the inner tool is.
func TestRepeatable(t *testing.T) {
	c := open(t, filepath.Join(t.TempDir(), "run.jsonl"), &replay.Options{Mode: replay.Record})
	if _, ok := c.Tool(&refund{}).(tool.Repeatable); ok {
		t.Error("a tool that is not repeatable became repeatable")
	}
	if _, ok := c.Tool(&repeatableRefund{}).(tool.Repeatable); !ok {
		t.Error("a repeatable tool is no longer repeatable")
	}
}
