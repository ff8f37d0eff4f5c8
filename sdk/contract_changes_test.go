package sdk_test

import (
	"github.com/parleyhub/parley"
)

// watchCase: a change after the cursor is reported once, also to a waiting caller, with the floor.
func watchCase(s *scene) {
	watch := func(q parley.WatchConversationsParams) *parley.WatchConversationsResult {
		s.Helper()
		r, err := s.b.WatchConversations(s.Context(), &q)
		if err != nil {
			s.Fatal(err)
		}
		return r
	}
	first := watch(parley.WatchConversationsParams{TimeoutMs: 5000})
	if len(first.Conversations) != 0 || first.Cursor == "" || first.TimedOut || first.Reset {
		s.Fatalf("%+v", first)
	}
	if r := watch(parley.WatchConversationsParams{Cursor: first.Cursor, TimeoutMs: 20}); len(r.Conversations) != 0 ||
		!r.TimedOut {
		s.Errorf("without change: %+v", r)
	}
	s.must(s.say(s.a, parley.FinalityTurn, "", "one"))
	changed := watch(parley.WatchConversationsParams{Cursor: first.Cursor, TimeoutMs: 5000, Limit: 1})
	if len(changed.Conversations) != 1 || changed.TimedOut || changed.More {
		s.Fatalf("%+v", changed)
	}
	c := changed.Conversations[0]
	if c.ConversationID != s.id || c.LatestSeq < 2 || c.Floor == nil || c.Floor.Speaker != "b" || c.Floor.Turn != 2 ||
		c.Floor.Since == 0 {
		s.Errorf("%+v, %+v", c, c.Floor)
	}
	if r := watch(parley.WatchConversationsParams{Cursor: changed.Cursor}); len(r.Conversations) != 0 || r.TimedOut {
		s.Errorf("told again: %+v", r)
	}
	if r := watch(parley.WatchConversationsParams{Cursor: "another.1", TimeoutMs: 5000}); !r.Reset || r.Cursor == "" {
		s.Errorf("a cursor of another start: %+v", r)
	}
}
