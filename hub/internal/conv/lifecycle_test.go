package conv

import (
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// A lifecycle that drains or failed refuses calls, and only the drain refuses to begin a command.
func TestLifecycle_Refusals(t *testing.T) {
	for _, c := range []struct {
		name           string
		drain          bool
		failure        error
		serving, begin error
	}{
		{name: "works"},
		{name: "drains", drain: true, serving: ErrDraining, begin: ErrDraining},
		{name: "failed", failure: errors.New("disk"), serving: parley.ErrUnavailable},
		{name: "newer log", drain: true, failure: journal.ErrFormat, serving: errNewer, begin: ErrDraining},
	} {
		var l Lifecycle
		l.init(slog.New(slog.DiscardHandler))
		if c.drain {
			l.Drain()
			l.Drain()
		}
		if c.failure != nil {
			l.fail(c.failure)
			l.fail(errors.New("later"))
		}
		if err := l.Serving(); !errors.Is(err, c.serving) {
			t.Errorf("%s: Serving returned %v, want %v", c.name, err, c.serving)
		}
		if err := l.Begin(); !errors.Is(err, c.begin) {
			t.Errorf("%s: Begin returned %v, want %v", c.name, err, c.begin)
		}
		if err := l.Err(); !errors.Is(err, c.failure) {
			t.Errorf("%s: Err returned %v, want %v", c.name, err, c.failure)
		}
	}
}

// The end waits for every command that began.
func TestLifecycle_AwaitsCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lifecycle
		l.init(slog.New(slog.DiscardHandler))
		for range 2 {
			if err := l.Begin(); err != nil {
				t.Fatal(err)
			}
		}
		done := false
		go func() { l.awaitCommands(); done = true }()
		for _, want := range []bool{false, true} {
			l.End()
			if synctest.Wait(); done != want {
				t.Errorf("the wait ended: %t, want %t", done, want)
			}
		}
	})
}
