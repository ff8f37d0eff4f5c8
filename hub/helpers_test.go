package hub_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/methods"
)

// counted returns options with counted ids. The prefix separates the ids of two hubs on one
// journal.
func counted(prefix string) *hub.Options {
	var ids, secrets atomic.Int64
	return &hub.Options{
		NewID:     func(p string) string { return fmt.Sprintf("%s%s%d", p, prefix, ids.Add(1)) },
		NewSecret: func() string { return fmt.Sprintf("SECRET%s%d", prefix, secrets.Add(1)) },
	}
}

// startOn starts a hub on j that is closed at the end of the test.
func startOn(t testing.TB, j journal.Journal, o *hub.Options) *hub.Hub {
	t.Helper()
	h, err := hub.Open(j, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// newJournal returns a journal whose log is checked at the end of the test, after its hubs.
func newJournal(t testing.TB) *memory.Journal {
	j := memory.New()
	t.Cleanup(func() { endJournal(t, j) })
	return j
}

// crash ends j as kill -9 would and returns its durable content, which is checked at the end of the
// test.
func crash(t testing.TB, j *memory.Journal) *memory.Journal {
	next := j.Crash()
	t.Cleanup(func() { endJournal(t, next) })
	return next
}

func endJournal(t testing.TB, j *memory.Journal) {
	t.Helper()
	if _, err := j.Head("any"); err == nil { // else it has crashed, and its successor is checked
		checkLog(t, j)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// checkLog holds a log against what must be true of it whatever was done.
func checkLog(t testing.TB, j journal.Journal) {
	t.Helper()
	journaltest.CheckInvariants(t, j)
	states := make(map[string]fold.State)
	keys := make(map[string]map[idempotency.KeyID]int64)
	var after journal.Position
	for {
		records, err := j.Scan(after, 1000, 8<<20)
		if err != nil {
			t.Fatalf("scan: %v", err)
		}
		if len(records) == 0 {
			break
		}
		for _, r := range records {
			after = r.Position
			var e parley.Event
			if err := json.Unmarshal(r.Data, &e); err != nil {
				t.Fatalf("log: %s/%d: %v", r.Conversation, r.Seq, err)
			}
			var claim *eventdata.ClaimHash
			if c := states[r.Conversation].Claim; c != nil && c.AgentID == e.From {
				claim = &c.Hash
			}
			next, err := states[r.Conversation].Apply(&e, len(r.Data))
			if err != nil {
				t.Fatalf("log: %s: %v", r.Conversation, err)
			}
			states[r.Conversation] = next
			if r.Final != next.Closed() {
				t.Fatalf("log: %s/%d: final %t, closed %t", r.Conversation, r.Seq, r.Final, next.Closed())
			}
			ids, _ := idempotency.KeysOf(&e, claim)
			if len(ids) == 0 {
				continue
			}
			id := ids[len(ids)-1] // within a claim a key is used once; without one, once in what was not withdrawn
			if keys[r.Conversation] == nil {
				keys[r.Conversation] = make(map[idempotency.KeyID]int64)
			}
			if first, twice := keys[r.Conversation][id]; twice && !next.IsWithdrawn(first) {
				t.Fatalf("log: %s: the key %q stands at %d and %d", r.Conversation, e.ClientRequestID, first, e.Seq)
			}
			keys[r.Conversation][id] = e.Seq
		}
	}
}

// events returns the whole log of a conversation.
func events(t testing.TB, j journal.Journal, id string) []parley.Event {
	t.Helper()
	var out []parley.Event
	for {
		records, err := j.Read(id, int64(len(out)), 1000, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(records) == 0 {
			return out
		}
		for _, r := range records {
			var e parley.Event
			if err := json.Unmarshal(r.Data, &e); err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
		}
	}
}

// create creates a conversation and returns its id.
func create(t testing.TB, h *hub.Hub, p *hub.Principal, q *parley.CreateConversationParams) string {
	t.Helper()
	s, err := h.Client(p).CreateConversation(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return s.ConversationID
}

func open2(ids ...string) *parley.CreateConversationParams {
	return &parley.CreateConversationParams{Participants: seats(ids...), Policy: &parley.Policy{Kind: parley.PolicyOpen}}
}

func message(id, words string, f parley.Finality, key string) *parley.SendMessageParams {
	return &parley.SendMessageParams{ConversationID: id, Payload: text(words), Finality: f, ClientRequestID: key}
}

func trace(id, words, key string) *parley.SendTraceParams {
	return &parley.SendTraceParams{ConversationID: id, Payload: json.RawMessage(`{"kind":"k","text":"` + words + `"}`), ClientRequestID: key}
}

func note(id, words, key string) *parley.SendNoteParams {
	return &parley.SendNoteParams{
		ConversationID: id, ClientRequestID: key, Payload: parley.Note{Schema: "s.v1", Data: json.RawMessage(`"` + words + `"`)},
	}
}

// sent is the answer to a write.
type sent struct {
	parley.SendResult
	err error
}

// post sends without waiting; the answer comes on the channel.
func post(h *hub.Hub, p *hub.Principal, q *parley.SendMessageParams) <-chan sent {
	c := make(chan sent, 1)
	h.SendMessage(p, q, func(r parley.SendResult, err error) { c <- sent{r, err} })
	return c
}

// say sends and waits, and fails the test if it is refused.
func say(t testing.TB, h *hub.Hub, p *hub.Principal, q *parley.SendMessageParams) parley.SendResult {
	t.Helper()
	r := <-post(h, p, q)
	if r.err != nil {
		t.Fatalf("%s says %s: %v", p.AgentID, q.Payload, r.err)
	}
	return r.SendResult
}

// refused fails the test unless err is the sentinel.
func refused(t testing.TB, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Fatalf("error %v, want %v", err, sentinel)
	}
	if row := parley.ErrorRowOf(err); row.Err != sentinel {
		t.Fatalf("error %v goes out as %v, want %v", err, row.Err, sentinel)
	}
}

// one waits for the answer of a write that was begun by f.
func one[T any](f func(done func(T, error))) (T, error) {
	type answer struct {
		v   T
		err error
	}
	c := make(chan answer, 1)
	f(func(v T, err error) { c <- answer{v, err} })
	a := <-c
	return a.v, a.err
}

// call is one method of the hub on a conversation, with valid params. It returns the whole answer
// as JSON.
type call struct {
	method string
	do     func(h *hub.Hub, p *hub.Principal, id string) (string, error)
}

var calls = []call{
	{methods.GetConversation, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		s, events, err := h.GetConversation(context.Background(), p, &parley.GetConversationParams{ConversationID: id})
		return told(err, s, events)
	}},
	{methods.Tail, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		page, err := h.Tail(context.Background(), p, &parley.TailParams{ConversationID: id})
		return told(err, page.NextSeq, page.Events)
	}},
	{methods.WaitForChange, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		r, err := h.WaitForChange(context.Background(), p, &parley.WaitForChangeParams{ConversationID: id})
		return told(err, r, nil)
	}},
	{methods.GetUpdates, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		r, events, err := h.GetUpdates(context.Background(), p, &parley.GetUpdatesParams{ConversationID: id})
		return told(err, r, events)
	}},
	{methods.Subscribe, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		s, err := h.Subscribe(context.Background(), p, &parley.SubscribeParams{ConversationID: id})
		if err != nil {
			return "", err
		}
		defer s.Close()
		var items []hub.Item
		for {
			more, err := s.Next(context.Background(), 10)
			if err != nil {
				return "", err
			}
			items = append(items, more...)
			if items[len(items)-1].Guidance != nil {
				break
			}
		}
		var out strings.Builder
		for _, i := range items {
			out.Write(i.Event)
			out.Write(i.Tail)
			fmt.Fprint(&out, i.Guidance, i.CaughtUp)
		}
		return out.String(), nil
	}},
	{methods.GetGuidance, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		r, err := h.GetGuidance(context.Background(), p, &parley.GetGuidanceParams{ConversationID: id, Explain: true})
		return told(err, r, nil)
	}},
	{methods.Explain, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		r, err := h.Explain(context.Background(), p, &parley.ExplainParams{ConversationID: id})
		return told(err, r, nil)
	}},
	{methods.AddParticipant, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.AddParticipant(p, &parley.AddParticipantParams{ConversationID: id,
				Participant: parley.Participant{ID: "new", Kind: parley.KindAgent}}, done)
		})
		return "", err
	}},
	{methods.SendMessage, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		r := <-post(h, p, message(id, "hi", parley.FinalityTurn, ""))
		return "", r.err
	}},
	{methods.SendTrace, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		_, err := one(func(done func(parley.SendResult, error)) { h.SendTrace(p, trace(id, "hi", ""), done) })
		return "", err
	}},
	{methods.SendNote, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		_, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(p, note(id, "hi", ""), done) })
		return "", err
	}},
	{methods.SendDelta, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		_, err := one(func(done func(int, error)) {
			h.SendDelta(p, &parley.SendDeltaParams{ConversationID: id, Turn: 1, Text: "hi"}, func(err error) { done(0, err) })
		})
		return "", err
	}},
	{methods.PutAttachment, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		r, err := h.PutAttachment(context.Background(), p, &parley.PutAttachmentParams{ConversationID: id, Data: []byte("hi")})
		return told(err, r, nil)
	}},
	{methods.GetAttachment, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		sum := sha256.Sum256([]byte("hi"))
		r, err := h.GetAttachment(context.Background(), p, &parley.GetAttachmentParams{ConversationID: id,
			SHA256: hex.EncodeToString(sum[:])})
		return told(err, r, nil)
	}},
	{methods.CloseConversation, func(h *hub.Hub, p *hub.Principal, id string) (string, error) {
		_, err := one(func(done func(parley.SeqResult, error)) {
			h.CloseConversation(p, &parley.CloseConversationParams{ConversationID: id}, done)
		})
		return "", err
	}},
}

// writes are the calls that write.
func writes() []call {
	return slices.DeleteFunc(slices.Clone(calls), func(c call) bool {
		m, _ := methods.ByName(c.method)
		return m.Scope != parley.ScopeWrite
	})
}

func told(err error, v any, events [][]byte) (string, error) {
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	for _, e := range events {
		b = append(append(b, '\n'), e...)
	}
	return string(b), nil
}
