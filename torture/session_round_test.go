package torture

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/parleyhub/parley"
)

// children is how many sessions one conversation starts.
const children = 10

// failingChild is the one whose command ends with exit code failingCode.
const (
	failingChild = 7
	failingCode  = 3
)

// phase says how far a round is.
type phase int

const (
	starting  phase = iota // the sessions are being started
	running                // all are, and wait at the gate
	finishing              // the gate is open
	calling                // the boss ended its turn: the callbacks come
	phases
)

// round is one parent conversation, whose boss starts children and is busy while they end.
type round struct {
	f      *family
	parent string
	gate   *gate
	// patient is true for a boss that ends its turn only when its conversation knows that all ended:
	// then all callbacks come in one message.
	patient bool
	ids     []string
	reached [phases]chan struct{} // closed at each phase
}

func (f *family) newRound(n int, patient bool) *round {
	f.t.Helper()
	r := &round{f: f, parent: fmt.Sprintf("parent-%d", n), patient: patient}
	for i := range r.reached {
		r.reached[i] = make(chan struct{})
	}
	var err error
	if r.gate, err = newGate(filepath.Join(f.dir, r.parent+".gate")); err != nil {
		f.t.Fatal(err)
	}
	return r
}

// play is the whole round, as the boss lives it.
func (r *round) play(ctx context.Context) error {
	defer r.gate.close()
	if err := r.begin(ctx); err != nil {
		return err
	}
	close(r.reached[running])
	if !eventually(ctx, func() bool { return r.haveRun() == children }) {
		return fmt.Errorf("%s: %d of %d commands run", r.parent, r.haveRun(), children)
	}
	close(r.reached[finishing])
	return r.finish(ctx)
}

// finish opens the gate, waits for the ends, and ends the turn of the boss; when all callbacks have
// come the boss closes the conversation.
func (r *round) finish(ctx context.Context) error {
	if err := r.gate.open(children); err != nil {
		return err
	}
	if err := r.awaitEnds(ctx); err != nil {
		return err
	}
	close(r.reached[calling])
	if err := say(ctx, r.f.boss, r.parent, "that was all", parley.FinalityTurn); err != nil {
		return err
	}
	if _, err := r.collect(ctx, func(k *kinship) bool { return len(k.told) >= children }); err != nil {
		return err
	}
	return say(ctx, r.f.boss, r.parent, "thank you", parley.FinalityConversation)
}

// begin makes the conversation, opens a turn of the boss and starts the children.
func (r *round) begin(ctx context.Context) error {
	_, err := r.f.boss.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: r.parent, StartsWith: sessionBoss,
		Participants: []parley.Participant{{ID: sessionBoss, Kind: parley.KindPeer}, {ID: "ann", Kind: parley.KindHuman}},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", r.parent, err)
	}
	if err := say(ctx, r.f.boss, r.parent, "one moment", parley.FinalityNone); err != nil {
		return err
	}
	close(r.reached[starting])
	for n := range children {
		code := 0
		if n == failingChild {
			code = failingCode
		}
		parameters, err := json.Marshal(map[string]any{"n": n, "gate": r.gate.path, "code": code})
		if err != nil {
			return err
		}
		s, err := r.f.boss.StartSession(ctx, &parley.StartSessionParams{
			AgentName: childAgent, Parameters: parameters, Mode: parley.ModeAsyncCallback, ParentConversationID: r.parent,
			ClientRequestID: fmt.Sprintf("child-%d", n),
		})
		if err != nil {
			return fmt.Errorf("%s: child %d: %w", r.parent, n, err)
		}
		r.ids = append(r.ids, s.SessionID)
	}
	return nil
}

// haveRun counts the children whose command was started.
func (r *round) haveRun() int {
	ran, n := r.f.ran(), 0
	for _, id := range r.ids {
		n += min(ran[id], 1)
	}
	return n
}

// awaitEnds waits for the end of each child, and a patient boss for the log of the parent too.
func (r *round) awaitEnds(ctx context.Context) error {
	for _, id := range r.ids {
		for {
			s, err := r.f.boss.GetSession(ctx, &parley.GetSessionParams{SessionID: id, TimeoutMs: 10_000})
			if err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			if s.Status.Ended() {
				break
			}
		}
	}
	if !r.patient {
		return nil
	}
	_, err := r.collect(ctx, func(k *kinship) bool { return len(k.ended) >= children })
	return err
}

// collect reads the parent until enough returns true.
func (r *round) collect(ctx context.Context, enough func(*kinship) bool) (*kinship, error) {
	k := newKinship()
	for since := int64(0); ; {
		page, err := r.f.boss.Tail(ctx, &parley.TailParams{ConversationID: r.parent, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return nil, fmt.Errorf("%s after seq %d: %w", r.parent, since, err)
		}
		for i := range page.Events {
			since = page.Events[i].Seq
			if err := k.take(&page.Events[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", r.parent, err)
			}
		}
		if enough(k) {
			return k, nil
		}
		if _, err := r.f.boss.WaitForChange(ctx, &parley.WaitForChangeParams{ConversationID: r.parent, SinceSeq: since,
			TimeoutMs: 10_000}); err != nil {
			return nil, fmt.Errorf("%s after seq %d: %w", r.parent, since, err)
		}
	}
}
