package hub_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestApprovalFences: a request is made under the claim of its connection, or under one that it
// names.
func TestApprovalFences(t *testing.T) {
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		a := asks(t, h, r.p, may(id, "k"))
		named := may(id, "k")
		named.ClaimID = claim
		if got := asks(t, h, h.LocalPrincipal("a"), named); !got.Duplicate || got.ApprovalID != a.ApprovalID {
			t.Fatalf("%+v", got)
		}
		for name, c := range map[string]struct {
			p     *hub.Principal
			claim string
			want  error
		}{
			"no claim":        {h.LocalPrincipal("a"), "", parley.ErrClaimRequired},
			"another's claim": {h.LocalPrincipal("a"), "clm_1_guess", parley.ErrClaimLost},
			"no claim's id":   {h.LocalPrincipal("a"), "guess", parley.ErrValidationFailed},
			"a human":         {approver(h, "b"), "", parley.ErrNotYourTurn},
			"a foreigner":     {approver(h, "z"), claim, parley.ErrNotFound},
			"only read":       {h.LocalPrincipal("a", parley.ScopeRead), claim, parley.ErrForbidden},
		} {
			q := may(id, "k")
			q.ClaimID = c.claim
			_, err := h.RequestApproval(t.Context(), c.p, q)
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		say(t, h, r.p, message(id, "done", parley.FinalityTurn, ""))
		_, err := h.RequestApproval(t.Context(), r.p, may(id, "k"))
		refused(t, err, parley.ErrNotYourTurn)
		if _, err := h.Client(h.LocalPrincipal("b")).CloseConversation(t.Context(),
			&parley.CloseConversationParams{ConversationID: id}); err != nil {
			t.Fatal(err)
		}
		_, err = h.RequestApproval(t.Context(), r.p, may(id, "k"))
		refused(t, err, parley.ErrConversationClosed)
	})
}

// TestApprovalParams: every bound is enforced by name, and nothing is written of what is refused.
func TestApprovalParams(t *testing.T) {
	atWork(t, nil, func(t *testing.T, h *hub.Hub, j journal.Journal, r *host, id, claim string) {
		long := func(n int) string { return string(slices.Repeat([]byte("x"), n)) }
		object := func(n int) json.RawMessage { return json.RawMessage(`{"x":"` + long(n-8) + `"}`) }
		deep := func(n int) json.RawMessage {
			return json.RawMessage(string(slices.Repeat([]byte(`{"x":`), n)) + `1` + string(slices.Repeat([]byte(`}`), n)))
		}
		before := j.Last()
		for words, change := range map[string]func(q *parley.RequestApprovalParams){
			"key is empty":             func(q *parley.RequestApprovalParams) { q.Key = "" },
			"key has 129 bytes":        func(q *parley.RequestApprovalParams) { q.Key = long(129) },
			"key has the character":    func(q *parley.RequestApprovalParams) { q.Key = "a\nb" },
			"title is empty":           func(q *parley.RequestApprovalParams) { q.Title = "" },
			"title has 257 bytes":      func(q *parley.RequestApprovalParams) { q.Title = long(257) },
			"title has the character":  func(q *parley.RequestApprovalParams) { q.Title = "two\nlines" },
			"details has 65537 bytes":  func(q *parley.RequestApprovalParams) { q.Details = object(65537) },
			"details is an array":      func(q *parley.RequestApprovalParams) { q.Details = json.RawMessage(`[1]`) },
			"details is null":          func(q *parley.RequestApprovalParams) { q.Details = json.RawMessage(`null`) },
			"details: JSON nests":      func(q *parley.RequestApprovalParams) { q.Details = deep(limits.MaxDepth - 5) },
			"answerSchema: type":       func(q *parley.RequestApprovalParams) { q.AnswerSchema = json.RawMessage(`{"type":"nonsense"}`) },
			"answerSchema has 65537":   func(q *parley.RequestApprovalParams) { q.AnswerSchema = object(65537) },
			"expiresInMs is 99":        func(q *parley.RequestApprovalParams) { q.ExpiresInMs = 99 },
			"expiresInMs is -1":        func(q *parley.RequestApprovalParams) { q.ExpiresInMs = -1 },
			"expiresInMs is 604800001": func(q *parley.RequestApprovalParams) { q.ExpiresInMs = limits.MaxApprovalMs + 1 },
		} {
			q := may(id, "k")
			change(q)
			if _, err := h.RequestApproval(t.Context(), r.p, q); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%v, want %q", err, words)
			}
		}
		if j.Last() != before {
			t.Fatal("something was written")
		}
		q := may(id, "k")
		q.Key, q.Title, q.Details, q.ExpiresInMs = long(128), long(256), object(65536), limits.MinApprovalMs
		q.AnswerSchema = json.RawMessage(` { "type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "maximum": 5}} } `)
		asks(t, h, r.p, q)
		q.Key, q.Details, q.ExpiresInMs = "next", deep(limits.MaxDepth-6), limits.MaxApprovalMs
		a := asks(t, h, r.p, q)
		if string(a.AnswerSchema) != `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":5}}}` {
			t.Fatalf("%s", a.AnswerSchema)
		}
		before = j.Last()
		b := approver(h, "b")
		for words, change := range map[string]func(q *parley.ResolveApprovalParams){
			`decision is ""`:            func(q *parley.ResolveApprovalParams) { q.Decision = "" },
			`decision is "yes"`:         func(q *parley.ResolveApprovalParams) { q.Decision = "yes" },
			`decision is "timed_out"`:   func(q *parley.ResolveApprovalParams) { q.Decision = "timed_out" },
			"with the decision":         func(q *parley.ResolveApprovalParams) { q.Decision, q.Answer = "rejected", json.RawMessage(`{"n":1}`) },
			"answer: 'n' is a required": func(q *parley.ResolveApprovalParams) { q.Answer = json.RawMessage(`{}`) },
			"answer.n: ":                func(q *parley.ResolveApprovalParams) { q.Answer = json.RawMessage(`{"n":6}`) },
			"answer has 65537":          func(q *parley.ResolveApprovalParams) { q.Answer = object(65537) },
			"answer: JSON nests":        func(q *parley.ResolveApprovalParams) { q.Answer = deep(limits.MaxDepth - 5) },
			"comment has 1025 bytes":    func(q *parley.ResolveApprovalParams) { q.Comment = long(1025) },
			"clientRequestId has 129":   func(q *parley.ResolveApprovalParams) { q.ClientRequestID = long(129) },
		} {
			q := &parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved}
			change(q)
			if _, err := h.ResolveApproval(t.Context(), b, q); err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%v, want %q", err, words)
			}
		}
		if j.Last() != before {
			t.Fatal("something was written")
		}
		got, err := h.ResolveApproval(t.Context(), b, &parley.ResolveApprovalParams{
			ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved, Answer: json.RawMessage(` {"n": 5}`), Comment: long(1024), ClientRequestID: long(128),
		})
		if err != nil || string(got.Answer) != `{"n":5}` || string(approval(t, h, r.p, a.ApprovalID).Answer) != `{"n":5}` {
			t.Fatalf("%+v, %v", got, err)
		}
		a = asks(t, h, r.p, may(id, "no schema"))
		_, err = h.ResolveApproval(t.Context(), b, &parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved, Answer: json.RawMessage(`1`)})
		refused(t, err, parley.ErrValidationFailed)
	})
}
