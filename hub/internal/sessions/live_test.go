package sessions

import (
	"slices"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// A session takes one place in its tree, from its reservation to its end.
func TestLive_Places(t *testing.T) {
	open := &fold.State{ID: "s", Seq: 1, Sessions: fold.Sessions{Session: &parley.SessionRecord{Root: "root"}}}
	closed := *open
	closed.Status = parley.StatusClosed
	reserve := func(l *Live) { _ = l.reserve("root", "s") }
	release := func(l *Live) { l.release("root", "s", true) }
	start, end := func(l *Live) { l.track("s", open) }, func(l *Live) { l.track("s", &closed) }
	for _, c := range []struct {
		name             string
		steps            []func(*Live)
		sessions, places int
		freed            []string
	}{
		{"reserved", []func(*Live){reserve, reserve}, 0, 1, nil},
		{"not started", []func(*Live){reserve, release}, 0, 0, []string{"root"}},
		{"started", []func(*Live){reserve, start, release, start}, 1, 1, nil},
		{"ended", []func(*Live){reserve, start, end}, 0, 0, []string{"root"}},
	} {
		var freed []string
		l := newLive(func(string) {}, func(root string) { freed = append(freed, root) })
		for _, step := range c.steps {
			step(l)
		}
		if n, places := l.Size(); n != c.sessions || places != c.places || !slices.Equal(freed, c.freed) {
			t.Errorf("%s: %d sessions in %d places, freed %v", c.name, n, places, freed)
		}
	}
}
