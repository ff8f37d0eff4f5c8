package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
)

type askersKey struct{}

// asker is an agent at work on a turn of a conversation, for a script.
type asker struct {
	client *sdk.Client
	claim  string
}

// askerOf takes the turn that the token of the script has, or stays with it.
func askerOf(ts *testscript.TestScript, id string) *asker {
	askers := ts.Value(askersKey{}).(map[string]*asker)
	if a := askers[id]; a != nil {
		return a
	}
	ctx := context.Background()
	client, err := sdk.Dial(ctx, ts.Getenv(envURL), &sdk.Options{Token: ts.Getenv(envToken)})
	ts.Check(err)
	ts.Defer(func() { client.Close() })
	g, err := client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: id})
	ts.Check(err)
	c, err := client.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: id, Turn: g.Guidance.Turn})
	ts.Check(err)
	askers[id] = &asker{client: client, claim: c.ClaimID}
	return askers[id]
}

func askInScript(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) >= 3 && len(args) <= 5, "asks ID KEY TITLE [DETAILS [SCHEMA]]")
	a := askerOf(ts, args[0])
	p := &parley.RequestApprovalParams{ConversationID: args[0], ClaimID: a.claim, Key: args[1], Title: args[2]}
	for i, text := range args[3:] {
		*[]*json.RawMessage{&p.Details, &p.AnswerSchema}[i] = json.RawMessage(text)
	}
	asked, err := a.client.RequestApproval(context.Background(), p)
	ts.Check(err)
	ts.Setenv("APPROVAL", asked.ApprovalID)
}

func endTurnInScript(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 1, "ends-turn ID")
	a := askerOf(ts, args[0])
	_, err := a.client.SendMessage(context.Background(), &parley.SendMessageParams{
		ConversationID: args[0], ClaimID: a.claim, Payload: json.RawMessage(`{"text":"done"}`), Finality: parley.FinalityTurn,
	})
	ts.Check(err)
	delete(ts.Value(askersKey{}).(map[string]*asker), args[0])
}

// listingClient answers listApprovals with the next part of a story, and getApproval with how each has ended.
type listingClient struct {
	parley.Client
	story [][]parley.Approval
	ends  map[string]*parley.Approval
	end   context.CancelFunc
}

func (c *listingClient) ListApprovals(context.Context, *parley.ListApprovalsParams) (*parley.ListApprovalsResult, error) {
	if len(c.story) == 0 {
		c.end()
		return nil, errors.New("the hub is gone")
	}
	now := c.story[0]
	c.story = c.story[1:]
	if now == nil {
		return nil, parley.Refuse(parley.ErrUnavailable, "the hub is draining", "")
	}
	return &parley.ListApprovalsResult{Approvals: now}, nil
}

func (c *listingClient) GetApproval(_ context.Context, p *parley.GetApprovalParams) (*parley.Approval, error) {
	if a := c.ends[p.ApprovalID]; a != nil {
		return a, nil
	}
	return nil, parley.Refuse(parley.ErrNotFound, "there is no such approval", "")
}

// TestWatchTellsEachOnce: an approval is told when it comes and when it has ended, once each, over a hub that is away; what it says is harmless.
func TestWatchTellsEachOnce(t *testing.T) {
	t.Parallel()
	newApproval := func(id, title string, status parley.ApprovalStatus, by string) parley.Approval {
		return parley.Approval{ApprovalID: id, AgentID: "bot", Title: title, Status: status, By: by, MayAnswer: status == parley.ApprovalPending && id != "c.9"}
	}
	a, b, c := newApproval("c.3", "pay\x1b[2J", parley.ApprovalPending, ""), newApproval("c.5", "send", parley.ApprovalPending, ""), newApproval("c.9", "mine", parley.ApprovalPending, "")
	approved, late := newApproval("c.3", "pay", parley.ApprovalApproved, "ann"), newApproval("c.5", "send", parley.ApprovalTimedOut, "")
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	client := &listingClient{
		story: [][]parley.Approval{{a}, nil, {a, b}, {b, c}, {b, c}, {}},
		ends:  map[string]*parley.Approval{"c.3": &approved, "c.5": &late}, end: cancel,
	}
	w := &approvalsWatch{
		app: &app{out: newStream(&out), format: formatText, timeout: defaultTimeout}, client: client, flags: &approvalsFlags{}, waiting: map[string]parley.Approval{}, every: 1,
	}
	if err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	const until = ", until 1970-01-01T00:00:00.000Z)"
	want := "bot asks: pay\\x1b[2J (c.3" + until + "\nbot asks: send (c.5" + until + "\nbot asks: mine (c.9" + until + ", for others to answer\nc.3 is approved by ann\nc.5 has timed out: not approved\n"
	if out.String() != want {
		t.Errorf("told\n%s, expected\n%s", out.String(), want)
	}
}

// TestApprovalEvents: the events of approvals are lines that people read, whatever others wrote into them.
func TestApprovalEvents(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"kind":"approval_requested","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","key":"k","title":"pay \u001b[2J","expiresAt":"2026-11-20T09:00:00.000Z"}}`: `bot asks: pay \x1b[2J (c.3, until 2026-11-20T09:00:00.000Z)`,
		`{"kind":"approval_details","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","details":{"eur":1},"answerSchema":{}}}`:                                      `c.3 is about {"eur":1}, and takes an answer`,
		`{"kind":"approval_details","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","hash":"x"}}`:                                                                 `c.3 is about what its title says`,
		`{"kind":"approval_resolved","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","status":"rejected","by":"ann","comment":"no\nway"}}`:                        `c.3 is rejected by ann: no\nway`,
		`{"kind":"approval_resolved","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","status":"timed_out"}}`:                                                      `c.3 has timed out: not approved`,
		`{"kind":"approval_answer","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","answer":{"eur":2}}}`:                                                          `c.3 is answered with {"eur":2}`,
		`{"kind":"approval_resolved","turn":1}`: `approval_resolved {"kind":"approval_resolved","turn":1}`,
	} {
		var out bytes.Buffer
		v := newView(newStream(&out))
		v.event(&parley.Event{Seq: 7, Type: parley.TypeSystem, From: parley.HubID, Payload: json.RawMessage(payload)})
		if got := strings.TrimSuffix(out.String(), "\n"); !strings.HasSuffix(got, "  "+want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", payload, got)
		}
	}
}
