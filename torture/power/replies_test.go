package power

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/workload"
	"golang.org/x/sync/errgroup"
)

var replies = flag.Int("power.replies", 1, "how many rounds of lost replies TestLostReplies has")

const (
	askers   = 16 // who lose replies in one round, four to a conversation
	askKeys  = 6  // messages of one of them
	retries  = 5  // of each key
	askAfter = 2  // how many of them come after the kill, at least
)

// TestLostReplies checks that a lost reply has no effect. A caller that repeats the call gets the
// first answer: over another connection or protocol, before or after a kill of the hub.
func TestLostReplies(t *testing.T) {
	if testing.Short() {
		t.Skip("short: lost replies left out")
	}
	dir := t.TempDir()
	h := program.Start(t, dir)
	var sum lostReplies
	for round := range *replies {
		all := newAskers(t, h, round)
		each(t, all, func(a *asker) error { return a.ask(h) })
		h.Kill(t)
		h = program.Start(t, dir)
		each(t, all, func(a *asker) error { return a.askAgain(h) })
		each(t, all, func(a *asker) error { return a.askOtherwise(h) })
		sum.check(t, h, all)
	}
	h.Stop(t)
	t.Log(verify(t, dir))
	if least := int64(*replies * askers * askKeys); sum.stolen < least {
		t.Errorf("%d replies were lost, expected %d at least: the run proves too little", sum.stolen, least)
	}
	t.Logf("%d keys: %d replies lost, %d retries told the first answer, %d other texts under a key refused", sum.keys,
		sum.stolen, sum.told, sum.conflicts)
	promise.ID(3).Kept(t, promise.Tried{
		Faults: int(sum.stolen) + *replies, Operations: sum.told + sum.conflicts, Unknown: int(sum.stolen),
		Violations: sum.violations,
		Figure:     fmt.Sprintf("%d replies lost", sum.stolen),
	})
}

// lostReplies sums up.
type lostReplies struct {
	keys, told, conflicts, violations int
	stolen                            int64
}

// asker sends messages of which the replies are lost.
type asker struct {
	id, conversation string
	thief            *thief
	asked            []*asked
	created          asked // a conversation made under a key
	told, conflicts  int
}

// asked is a call under a key, and the first answer to it.
type asked struct {
	method string
	params any
	sent   int
	answer *firstAnswer
}

// String is the call as it is sent.
func (m *asked) String() string {
	params, _ := json.Marshal(m.params) // it is sent so
	return fmt.Sprintf("%s %s", m.method, params)
}

// firstAnswer is what every answer to the calls of a key must say.
type firstAnswer struct {
	Seq            int64  `json:"seq,omitempty"`
	Turn           int64  `json:"turn,omitempty"`
	ConversationID string `json:"conversationId,omitempty"`
}

// newAskers makes their conversations.
func newAskers(t *testing.T, h *hubproc.Hub, round int) []*asker {
	t.Helper()
	c, err := dial(h.URL, auditor)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all []*asker
	for i := range askers {
		a := &asker{id: fmt.Sprintf("a%d", i), conversation: fmt.Sprintf("lost%d-%d", round, i/4), thief: newThief(t)}
		a.compose(round)
		all = append(all, a)
	}
	for i := 0; i < askers; i += 4 {
		p := parley.CreateConversationParams{ConversationID: all[i].conversation,
			Policy: &parley.Policy{Kind: parley.PolicyOpen}}
		for _, a := range all[i : i+4] {
			p.Participants = append(p.Participants, parley.Participant{ID: a.id, Kind: parley.KindAgent})
		}
		if err := c.Call(methods.CreateConversation, p, &parley.Snapshot{}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// compose makes all calls: messages, and a conversation of the asker's own.
func (a *asker) compose(round int) {
	for n := range askKeys {
		key := fmt.Sprintf("%s-%d", a.id, n)
		payload := json.RawMessage(fmt.Sprintf(`{"text":%q}`, key))
		m := &asked{method: methods.SendMessage, params: parley.SendMessageParams{
			ConversationID: a.conversation, Payload: payload, Finality: parley.FinalityTurn, ClientRequestID: key,
		}}
		a.asked = append(a.asked, m)
	}
	a.created = asked{method: methods.CreateConversation, params: parley.CreateConversationParams{
		Participants:    []parley.Participant{{ID: a.id, Kind: parley.KindAgent}},
		ClientRequestID: fmt.Sprintf("%s-%d", a.id, round),
	}}
	a.asked = append(a.asked, &a.created)
}

// each lets all of them do something at the same time.
func each(t *testing.T, all []*asker, f func(*asker) error) {
	t.Helper()
	var g errgroup.Group
	for _, a := range all {
		g.Go(func() error {
			if err := f(a); err != nil {
				return fmt.Errorf("%s in %s: %w", a.id, a.conversation, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// ask makes the first call of each key, the reply to which is lost, and some more.
func (a *asker) ask(h *hubproc.Hub) error {
	for _, m := range a.asked {
		if err := a.lose(h, m); err != nil {
			return err
		}
		for range rand.IntN(retries - askAfter + 1) {
			if err := a.once(h, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// askAgain makes the calls of each key that are still to be made. The last one is answered.
func (a *asker) askAgain(h *hubproc.Hub) error {
	for _, m := range a.asked {
		for m.sent < retries {
			if err := a.once(h, m); err != nil {
				return err
			}
		}
		if err := a.hear(h, m); err != nil {
			return err
		}
	}
	return nil
}

// once makes a call of which the reply is lost, or not.
func (a *asker) once(h *hubproc.Hub, m *asked) error {
	if rand.IntN(2) == 0 {
		return a.lose(h, m)
	}
	return a.hear(h, m)
}

// lose makes a call on a new connection, the reply to which is lost.
func (a *asker) lose(h *hubproc.Hub, m *asked) error {
	url := a.thief.before(h.URL)
	if rand.IntN(3) == 0 {
		a.thief.rob(true)
		return a.lost(m, post(url, a.id, m, &firstAnswer{}))
	}
	c, err := dial(url, a.id)
	if err != nil {
		return err
	}
	defer c.Close()
	a.thief.rob(false)
	return a.lost(m, c.Call(m.method, m.params, &firstAnswer{}))
}

// lost holds that there was no answer.
func (a *asker) lost(m *asked, err error) error {
	m.sent++
	if !errors.Is(err, hubproc.ErrGone) {
		return fmt.Errorf("call %d of %v was answered (%v), and the answer should have been lost", m.sent, m, err)
	}
	return nil
}

// hear makes a call that is answered, by a new connection or plain HTTP, and holds the answer
// against the first one.
func (a *asker) hear(h *hubproc.Hub, m *asked) error {
	m.sent++
	var r struct {
		firstAnswer
		Duplicate bool `json:"duplicate"`
	}
	err := knock(h.URL, a.id, m, &r)
	switch {
	case err != nil:
		return fmt.Errorf("call %d of %v: %w", m.sent, m, err)
	case !r.Duplicate:
		return fmt.Errorf("call %d of %v is no duplicate: %+v", m.sent, m, r)
	case m.answer == nil:
		m.answer = &r.firstAnswer
	case *m.answer != r.firstAnswer:
		return fmt.Errorf("call %d of %v was answered %+v, and the first answer was %+v", m.sent, m, r.firstAnswer, *m.answer)
	}
	a.told++
	return nil
}

// knock makes one call, at either door.
func knock(url, agent string, m *asked, result any) error {
	if rand.IntN(3) == 0 {
		return post(url, agent, m, result)
	}
	c, err := dial(url, agent)
	if err != nil {
		return err
	}
	defer c.Close()
	return c.Call(m.method, m.params, result)
}

// post makes a call by plain HTTP.
func post(url, agent string, m *asked, result any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": m.method, "params": m.params})
	if err != nil {
		return err
	}
	req, err := http.NewRequest(http.MethodPost, "http"+strings.TrimPrefix(url, "ws"), strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Authorization": {"Bearer " + hubproc.Token}, "Parley-Agent": {agent},
		"Content-Type": {"application/json"}}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: callTime}
	resp, err := client.Do(req)
	if err != nil {
		return hubproc.ErrGone
	}
	defer resp.Body.Close()
	var r hubproc.Frame[struct{}]
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return hubproc.ErrGone
	}
	return r.Into(1, result)
}

// askOtherwise asks for something else under each key: that is refused. Then the conversation is
// closed, which changes nothing of it.
func (a *asker) askOtherwise(h *hubproc.Hub) error {
	for _, m := range a.asked {
		if err := a.conflict(h, m); err != nil {
			return err
		}
	}
	last := &asked{method: methods.SendMessage, params: parley.SendMessageParams{
		ConversationID: a.conversation, Payload: json.RawMessage(`{"text":"the end"}`),
		Finality: parley.FinalityConversation, ClientRequestID: a.id + "-end",
	}}
	a.asked = append(a.asked, last)
	if err := a.lose(h, last); err != nil {
		return err
	}
	for _, m := range a.asked {
		if m == last && !a.first(h, m) {
			continue // another one was first, and this one must not be there
		}
		if err := a.hear(h, m); err != nil {
			return err
		}
	}
	return nil
}

// first reports whether a closing message has closed its conversation; else it is refused.
func (a *asker) first(h *hubproc.Hub, m *asked) bool {
	err := knock(h.URL, a.id, m, &firstAnswer{})
	return !errors.Is(err, parley.ErrConversationClosed)
}

// conflict sends other texts, and the same one with another meaning, under the key of a call.
func (a *asker) conflict(h *hubproc.Hub, m *asked) error {
	var others []any
	switch p := m.params.(type) {
	case parley.SendMessageParams:
		text, end := p, p
		text.Payload, end.Finality = json.RawMessage(`{"text":"something else"}`), parley.FinalityConversation
		others = []any{text, end, parley.SendTraceParams{ConversationID: p.ConversationID,
			Payload: json.RawMessage(`{"kind":"note"}`), ClientRequestID: p.ClientRequestID}}
	case parley.CreateConversationParams:
		p.Title = "something else"
		others = []any{p}
	}
	for _, other := range others {
		o := &asked{method: m.method, params: other}
		if _, trace := other.(parley.SendTraceParams); trace {
			o.method = methods.SendTrace
		}
		if err := knock(h.URL, a.id, o, &firstAnswer{}); !errors.Is(err, parley.ErrIdempotencyConflict) {
			return fmt.Errorf("%v under a key that is taken: %v, expected idempotency_conflict", o, err)
		}
		a.conflicts++
	}
	return nil
}

// check looks into the logs: each key once, where its answers said.
func (s *lostReplies) check(t *testing.T, h *hubproc.Hub, all []*asker) {
	t.Helper()
	c, err := dial(h.URL, auditor)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, a := range all {
		counts, seqs := keysOf(t, c, a)
		for _, m := range a.asked {
			s.keys++
			p, message := m.params.(parley.SendMessageParams)
			switch want := min(1, m.told()); {
			case !message:
			case counts[p.ClientRequestID] != want || seqs[p.ClientRequestID] != m.seq():
				s.violations++
				t.Errorf("%s: %s is in the log %d times, last at seq %d; expected %d, at seq %d", a.conversation, p.ClientRequestID,
					counts[p.ClientRequestID], seqs[p.ClientRequestID], want, m.seq())
			}
		}
		s.told, s.conflicts, s.stolen = s.told+a.told, s.conflicts+a.conflicts, s.stolen+a.thief.stolen.Load()
	}
}

// told returns 1 if the call was acknowledged.
func (m *asked) told() int {
	if m.answer == nil {
		return 0
	}
	return 1
}

func (m *asked) seq() int64 {
	if m.answer == nil {
		return 0
	}
	return m.answer.Seq
}

// keysOf counts the keys of an asker in its conversation, and returns the seq of each.
func keysOf(t *testing.T, c *workload.Caller, a *asker) (counts map[string]int, seqs map[string]int64) {
	t.Helper()
	var page parley.TailResult
	if err := c.Call(methods.Tail, parley.TailParams{ConversationID: a.conversation, Limit: parley.MaxPage},
		&page); err != nil {
		t.Fatal(err)
	}
	counts, seqs = map[string]int{}, map[string]int64{}
	for i := range page.Events {
		if e := &page.Events[i]; e.From == a.id {
			counts[e.ClientRequestID]++
			seqs[e.ClientRequestID] = e.Seq
		}
	}
	return counts, seqs
}
