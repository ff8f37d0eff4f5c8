package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/internal/history"
)

// route is one connection to a hub.
type route struct {
	node     *node
	conn     *Connection
	p        *auth.Principal
	notes    chan parley.ExecutorNotification
	replaced chan struct{}
}

// saying is a message or trace, however often it was sent.
type saying struct {
	conversation, from, claim string
	seqs                      []int64 // that were acknowledged
	unknown                   bool
}

// registering is one registration. Its end is the zero time if its answer was lost.
type registering struct {
	executor   string
	names      map[string]bool
	goesOn     []string
	began, end time.Time
}

// errGone is the answer of a hub that has crashed.
var errGone = fmt.Errorf("%w: the hub is gone", parley.ErrOutcomeUnknown)

// ask makes a call and waits for its answer.
func ask[T any](n *node, f func(done func(T, error))) (T, error) {
	type answer struct {
		v   T
		err error
	}
	answered := make(chan answer, 1)
	f(func(v T, err error) { answered <- answer{v, err} })
	select {
	case a := <-answered:
		return a.v, a.err
	case <-n.dead:
		var none T
		return none, errGone
	}
}

// mayRepeat reports whether a call with this answer is worth repeating.
func mayRepeat(err error) bool {
	return errors.Is(err, parley.ErrOutcomeUnknown) || errors.Is(err, parley.ErrUnavailable) ||
		errors.Is(err, parley.ErrStorageFull)
}

// note puts a call into the history.
func (d *duel) note(o history.Op, began time.Time, err error) {
	o.Result, o.End = history.ResultOf(err, history.Refused), d.stamps.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.history = append(d.history, o)
	if o.Result == history.Lost && o.Claim != "" {
		d.lost = append(d.lost, losing{o.Claim, began, time.Now()})
	}
}

// losing is a call that was answered with claim_lost.
type losing struct {
	claim      string
	began, end time.Time
}

// words is something to say.
type words struct {
	conversation, text string
	turn               int64
	claim              string // that it is said under, as far as the speaker knows
	implied            bool   // it is not named: the connection took it
	finality           parley.Finality
	trace              bool
}

// say says something once.
func (d *duel) say(l *route, who string, w words) (parley.SendResult, error) {
	began := time.Now()
	op := history.Op{
		Conversation: w.conversation, Client: who, Kind: history.Say, Turn: w.turn, Claim: w.claim, Key: w.text, Begin: d.stamps.Add(1),
		Closes: w.finality == parley.FinalityConversation,
	}
	if w.finality.Final() {
		op.Kind = history.Final
	}
	named := w.claim
	if w.implied {
		named = ""
	}
	r, err := ask(l.node, func(done func(parley.SendResult, error)) {
		if w.trace {
			payload, _ := json.Marshal(map[string]string{"kind": "k", "text": w.text})
			l.node.hub.SendTrace(l.p, &parley.SendTraceParams{
				ConversationID: w.conversation, Payload: payload, Turn: w.turn, ClaimID: named, ClientRequestID: w.text,
			}, done)
			return
		}
		payload, _ := json.Marshal(parley.Message{Text: w.text})
		l.node.hub.SendMessage(l.p, &parley.SendMessageParams{
			ConversationID: w.conversation, Payload: payload, Turn: w.turn, ClaimID: named, ClientRequestID: w.text, Finality: w.finality,
		}, done)
	})
	op.Seq = r.Seq
	if w.claim == "" && err == nil && op.Kind == history.Say {
		op.Claim, op.Takes = r.ClaimID, r.ClaimID != ""
	}
	d.heard(l, w, r, err)
	d.note(op, began, err)
	return r, err
}

// heard records the answer to a message.
func (d *duel) heard(l *route, w words, r parley.SendResult, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.said[w.text]
	if s == nil {
		s = &saying{conversation: w.conversation, from: l.p.AgentID}
		d.said[w.text] = s
	}
	switch {
	case err == nil:
		s.seqs = append(s.seqs, r.Seq)
		if !r.Duplicate {
			s.claim = w.claim
		}
	case mayRepeat(err): // also a refusal may be of a repetition
		s.unknown = s.unknown || errors.Is(err, parley.ErrOutcomeUnknown)
	}
}

// claim takes a turn: an offered one by the id of the offer, else by its number.
func (d *duel) claim(l *route, who, conversation, id string, turn int64) (parley.ClaimTurnResult, error) {
	began := time.Now()
	op := history.Op{Conversation: conversation, Client: who, Kind: history.Claim, Turn: turn, Claim: id,
		Begin: d.stamps.Add(1)}
	q := &parley.ClaimTurnParams{ConversationID: conversation, ClaimID: id}
	if id == "" {
		q.Turn = turn
	}
	r, err := ask(l.node, func(done func(parley.ClaimTurnResult, error)) { l.node.hub.ClaimTurn(l.p, q, done) })
	if err == nil {
		op.Claim = r.ClaimID
	}
	d.note(op, began, err)
	return r, err
}

func (d *duel) renew(l *route, who, conversation, id string, turn int64) (parley.RenewClaimResult, error) {
	began := time.Now()
	op := history.Op{Conversation: conversation, Client: who, Kind: history.Renew, Turn: turn, Claim: id,
		Begin: d.stamps.Add(1)}
	r, err := ask(l.node, func(done func(parley.RenewClaimResult, error)) {
		l.node.hub.RenewClaim(l.p, &parley.RenewClaimParams{ConversationID: conversation, ClaimID: id}, done)
	})
	d.note(op, began, err)
	return r, err
}

func (d *duel) release(l *route, who, conversation, id string, turn int64, outcome parley.ReleaseOutcome) error {
	began := time.Now()
	op := history.Op{Conversation: conversation, Client: who, Kind: history.Release, Turn: turn, Claim: id,
		Begin: d.stamps.Add(1)}
	if outcome == parley.ReleaseYield {
		op.Kind = history.Yield
	}
	_, err := ask(l.node, func(done func(parley.EmptyResult, error)) {
		l.node.hub.ReleaseClaim(l.p, &parley.ReleaseClaimParams{ConversationID: conversation, ClaimID: id, Outcome: outcome}, done)
	})
	d.note(op, began, err)
	return err
}
