//go:build linux

package command_test

import (
	"slices"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/command"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/spantest"
)

// A program is a span that it gets in TRACEPARENT. Without a span it gets that of its turn, and
// never that of this process.
func TestTraceparent(t *testing.T) {
	const asker, inherited = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-2af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	t.Setenv("TRACEPARENT", inherited)
	r := &spantest.Recorder{}
	for name, c := range map[string]struct {
		parent string
		told   bool
	}{"none": {}, "asked": {parent: asker}, "told": {asker, true}} {
		ctx, want := parley.WithTraceparent(t.Context(), c.parent), "turn told "+c.parent
		if c.told {
			ctx = parley.WithTracer(ctx, r)
		}
		s := newStage(t)
		if _, err := s.handle(t, ctx,
			&command.Agent{Argv: []string{"sh", "-c", `echo "{\"text\":\"told $TRACEPARENT\"}"`}}); err != nil {
			t.Fatal(err)
		}
		if c.told {
			all := r.Spans()
			if len(all) != 1 || all[0].Parent != asker || all[0].Ends != 1 || all[0].Failure != "" ||
				all[0].Attributes[spannames.AttrProcessExitCode] != 0 {
				t.Fatalf("the spans are %+v", all)
			}
			want = "turn told " + all[0].Traceparent
		}
		if got := s.said(t); !slices.Contains(got, want) {
			t.Errorf("%s: the program printed %q, expected %q", name, got, want)
		}
	}
	if err := command.CheckVariable("TRACEPARENT=" + asker); err == nil {
		t.Error("a program may get another TRACEPARENT")
	}
}

// The span of a program has its exit.
func TestSpanOfFailedProgram(t *testing.T) {
	t.Parallel()
	for argv, want := range map[string]string{"exit 3": "exit_code", "kill -9 $$": "signal"} {
		r, s := &spantest.Recorder{}, newStage(t)
		if _, err := s.handle(t, parley.WithTracer(t.Context(), r),
			&command.Agent{Argv: []string{"sh", "-c", argv}}); err == nil {
			t.Error("the program did not fail")
		}
		if all := r.Named("parley.process sh"); len(all) != 1 || all[0].Failure != want || all[0].Ends != 1 {
			t.Errorf("%s: the spans are %+v", argv, all)
		}
	}
}
