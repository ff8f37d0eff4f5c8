package sdk_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// ask has a claim its turn and ask for an approval.
func (s *scene) ask(key string) *parley.Approval {
	s.Helper()
	claim := s.claim(s.a, 1)
	asked, err := s.a.RequestApproval(
		s.Context(),
		&parley.RequestApprovalParams{ConversationID: s.id, ClaimID: claim.ClaimID, Key: key, Title: "May I?"},
	)
	if err != nil {
		s.Fatal(err)
	}
	return asked
}

// person is b with a token that lets it answer.
func (s *scene) person() parley.Client {
	return s.door.client(s.T, s.hub, "b", parley.ScopeRead, parley.ScopeWrite, parley.ScopeApprove)
}

// TestContractApproval: an approval from the request to the answer, with its events.
func TestContractApproval(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		claim, person := s.claim(s.a, 1), s.person()
		p := &parley.RequestApprovalParams{
			ConversationID: s.id, ClaimID: claim.ClaimID, Key: "refund", Title: "Refund <120> EUR",
			Details:      json.RawMessage(`{"eur":120,"to":"<&>"}`),
			AnswerSchema: json.RawMessage(`{"type":"object","properties":{"eur":{"type":"integer","maximum":120}}}`),
		}
		asked, err := s.a.RequestApproval(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.a.RequestApproval(t.Context(), p); err != nil || !again.Duplicate ||
			again.ApprovalID != asked.ApprovalID ||
			again.Status != parley.ApprovalPending {
			t.Errorf("once more: %+v, %v", again, err)
		}
		other := *p
		other.Title = "Refund 1200 EUR"
		if _, err := s.a.RequestApproval(t.Context(), &other); !errors.Is(err, parley.ErrIdempotencyConflict) {
			t.Errorf("another question under the same key: %v", err)
		}
		seen, err := person.ListApprovals(t.Context(), &parley.ListApprovalsParams{ConversationID: s.id, Limit: 1})
		if err != nil || len(seen.Approvals) != 1 || !seen.Approvals[0].MayAnswer ||
			string(seen.Approvals[0].Details) != string(p.Details) {
			t.Fatalf("listed: %+v, %v", seen, err)
		}
		answer := &parley.ResolveApprovalParams{
			ApprovalID:      asked.ApprovalID,
			Decision:        parley.DecisionApproved,
			Answer:          json.RawMessage(`{"eur":100}`),
			Comment:         "less",
			ClientRequestID: "k",
		}
		answered := make(chan struct{})
		time.AfterFunc(50*time.Millisecond, func() {
			defer close(answered)
			if got, err := person.ResolveApproval(s.Context(), answer); err != nil || got.Duplicate {
				t.Errorf("answered: %+v, %v", got, err)
			}
		})
		got, err := s.a.GetApproval(t.Context(), &parley.GetApprovalParams{ApprovalID: asked.ApprovalID, TimeoutMs: 20_000})
		<-answered
		if err != nil || got.Status != parley.ApprovalApproved || got.By != "b" || got.Comment != "less" ||
			string(got.Answer) != `{"eur":100}` ||
			got.TimedOut ||
			got.ResolvedAt < got.RequestedAt {
			t.Fatalf("the answer: %+v, %v", got, err)
		}
		if again, err := person.ResolveApproval(t.Context(), answer); err != nil || !again.Duplicate ||
			again.Status != parley.ApprovalApproved {
			t.Errorf("answered once more: %+v, %v", again, err)
		}
		if _, err := person.ResolveApproval(t.Context(), &parley.ResolveApprovalParams{ApprovalID: asked.ApprovalID,
			Decision: parley.DecisionRejected}); !errors.Is(
			err,
			parley.ErrAlreadyResolved,
		) ||
			!strings.Contains(err.Error(), "approved") {
			t.Errorf("answered otherwise: %v", err)
		}
		if again, err := s.a.RequestApproval(t.Context(), p); err != nil || !again.Duplicate ||
			again.Status != parley.ApprovalApproved ||
			string(again.Answer) != `{"eur":100}` {
			t.Errorf("asked after the answer: %+v, %v", again, err)
		}
		if _, err := s.say(s.a, parley.FinalityTurn, "", "done"); err != nil {
			t.Errorf("the claim does not stand after the answer: %v", err)
		}
	})
}

// TestContractBadApprovals are refused by name.
func TestContractBadApprovals(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		person := s.person()
		ask := func(c parley.Client, change func(*parley.RequestApprovalParams)) error {
			p := &parley.RequestApprovalParams{ConversationID: s.id, Key: "k", Title: "May I?"}
			change(p)
			_, err := c.RequestApproval(t.Context(), p)
			return err
		}
		if err := ask(s.b, func(*parley.RequestApprovalParams) {}); !errors.Is(err, parley.ErrNotYourTurn) {
			t.Errorf("asked by who has not the floor: %v", err)
		}
		claim := s.claim(s.a, 1).ClaimID
		for name, c := range map[string]struct {
			change func(*parley.RequestApprovalParams)
			want   error
		}{
			"another claim": {func(p *parley.RequestApprovalParams) { p.ClaimID = "clm_1_x" }, parley.ErrClaimLost},
			"no key":        {func(p *parley.RequestApprovalParams) { p.Key = "" }, parley.ErrValidationFailed},
			"no title":      {func(p *parley.RequestApprovalParams) { p.Title = "" }, parley.ErrValidationFailed},
			"two lines":     {func(p *parley.RequestApprovalParams) { p.Title = "a\nb" }, parley.ErrValidationFailed},
			"a long title": {func(p *parley.RequestApprovalParams) { p.Title = strings.Repeat("a", parley.MaxTitleBytes+1) },
				parley.ErrValidationFailed},
			"much to say": {func(p *parley.RequestApprovalParams) {
				p.Details = json.RawMessage(`{"a":"` + strings.Repeat("a", limits.MaxApprovalBytes) + `"}`)
			}, parley.ErrValidationFailed},
			"no schema": {func(p *parley.RequestApprovalParams) { p.AnswerSchema = json.RawMessage(`{"type":7}`) },
				parley.ErrValidationFailed},
			"a short time": {func(p *parley.RequestApprovalParams) { p.ExpiresInMs = limits.MinApprovalMs - 1 },
				parley.ErrValidationFailed},
			"a long time": {func(p *parley.RequestApprovalParams) { p.ExpiresInMs = limits.MaxApprovalMs + 1 },
				parley.ErrValidationFailed},
			"not UTF-8":      {func(p *parley.RequestApprovalParams) { p.Title = "\xff" }, nil},
			"details no map": {func(p *parley.RequestApprovalParams) { p.Details = json.RawMessage(`[1]`) }, nil},
		} {
			err := ask(s.a, func(p *parley.RequestApprovalParams) { p.ClaimID = claim; c.change(p) })
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		asked, err := s.a.RequestApproval(
			t.Context(),
			&parley.RequestApprovalParams{ConversationID: s.id, ClaimID: claim, Key: "k", Title: "May I?"},
		)
		if err != nil {
			t.Fatal(err)
		}
		id := asked.ApprovalID
		for name, c := range map[string]struct {
			by   parley.Client
			p    parley.ResolveApprovalParams
			want error
		}{
			"no decision": {person, parley.ResolveApprovalParams{ApprovalID: id}, parley.ErrValidationFailed},
			"an odd one": {person, parley.ResolveApprovalParams{ApprovalID: id, Decision: "maybe"},
				parley.ErrValidationFailed},
			"an answer, unasked": {person, parley.ResolveApprovalParams{ApprovalID: id, Decision: parley.DecisionApproved,
				Answer: json.RawMessage(`{}`)}, parley.ErrValidationFailed},
			"nowhere":    {person, parley.ResolveApprovalParams{ApprovalID: "none.3", Decision: parley.DecisionApproved}, parley.ErrNotFound},
			"none there": {person, parley.ResolveApprovalParams{ApprovalID: s.id + ".1", Decision: parley.DecisionApproved}, parley.ErrNotFound},
			"without the scope": {s.b, parley.ResolveApprovalParams{ApprovalID: id, Decision: parley.DecisionApproved},
				parley.ErrForbidden},
			"by who asks": {s.door.client(t, s.hub, "a", parley.ScopeRead, parley.ScopeApprove),
				parley.ResolveApprovalParams{ApprovalID: id, Decision: parley.DecisionApproved}, parley.ErrForbidden},
			"by somebody elsewhere": {s.door.client(t, s.hub, "zed", parley.ScopeRead, parley.ScopeApprove),
				parley.ResolveApprovalParams{ApprovalID: id, Decision: parley.DecisionApproved}, parley.ErrNotFound},
		} {
			if got, err := c.by.ResolveApproval(t.Context(), &c.p); !errors.Is(err, c.want) {
				t.Errorf("%s: %+v, %v, want %v", name, got, err, c.want)
			}
		}
		if got, err := s.a.GetApproval(t.Context(), &parley.GetApprovalParams{ApprovalID: id}); err != nil ||
			got.Status != parley.ApprovalPending {
			t.Errorf("after all refusals: %+v, %v", got, err)
		}
		for name, c := range map[string]parley.Client{"who may not answer": s.b,
			"a stranger": s.door.client(t, s.hub, "zed")} {
			if got, err := c.GetApproval(t.Context(), &parley.GetApprovalParams{ApprovalID: id, TimeoutMs: 5000}); !errors.Is(
				err,
				parley.ErrNotFound,
			) {
				t.Errorf("read by %s: %+v, %v", name, got, err)
			}
		}
	})
}
