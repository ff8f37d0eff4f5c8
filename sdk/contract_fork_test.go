package sdk_test

import (
	"errors"

	"github.com/parleyhub/parley"
)

// forkCase: a fork shares the events up to a seq, and its later events are separate. A repeated
// call creates no second fork.
func forkCase(s *scene) {
	s.must(s.say(s.a, parley.FinalityTurn, "", "one"))
	s.must(s.say(s.b, parley.FinalityTurn, "", "two"))
	q := &parley.ForkConversationParams{ConversationID: s.id, Seq: 2, Title: "other", ClientRequestID: "fork"}
	fork, err := s.a.ForkConversation(s.Context(), q)
	if err != nil || fork.Fork == nil || fork.Fork.ConversationID != s.id || fork.Fork.Seq != 2 || fork.LatestSeq != 3 ||
		fork.Title != "other" ||
		fork.Turn != 2 {
		s.Fatalf("%+v, %v", fork, err)
	}
	if len(fork.Events) != 1 || fork.Events[0].Seq != 3 {
		s.Errorf("%+v", fork.Events)
	}
	there, err := s.a.Tail(s.Context(), &parley.TailParams{ConversationID: s.id, Limit: 2})
	if err != nil {
		s.Fatal(err)
	}
	here, err := s.b.Tail(s.Context(), &parley.TailParams{ConversationID: fork.ConversationID, Limit: 2})
	if err != nil {
		s.Fatal(err)
	}
	for i := range there.Events {
		if string(there.Events[i].Raw()) != string(here.Events[i].Raw()) {
			s.Errorf("%s, in the fork %s", there.Events[i].Raw(), here.Events[i].Raw())
		}
	}
	again, err := s.a.ForkConversation(s.Context(), q)
	if err != nil || !again.Duplicate || again.ConversationID != fork.ConversationID {
		s.Errorf("%+v, %v", again, err)
	}
	q.Seq = 1
	if _, err = s.a.ForkConversation(s.Context(), q); !errors.Is(err, parley.ErrIdempotencyConflict) {
		s.Errorf("another fork under the key: %v", err)
	}
}
