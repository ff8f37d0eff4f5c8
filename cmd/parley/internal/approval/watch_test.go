package approval

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// listingClient answers listApprovals with the next part of a story, and getApproval with the end
// of each approval.
type listingClient struct {
	parley.Client
	story [][]parley.Approval
	ends  map[string]*parley.Approval
	end   context.CancelFunc
}

func (c *listingClient) ListApprovals(context.Context, *parley.ListApprovalsParams) (*parley.ListApprovalsResult,
	error) {
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

// TestWatchTellsEachOnce: the watch prints an approval once when it appears and once when it ends,
// also when the hub was away. Its texts are harmless.
func TestWatchTellsEachOnce(t *testing.T) {
	t.Parallel()
	newApproval := func(id, title string, status parley.ApprovalStatus, by string) parley.Approval {
		return parley.Approval{ApprovalID: id, AgentID: "bot", Title: title, Status: status, By: by,
			MayAnswer: status == parley.ApprovalPending && id != "c.9"}
	}
	a, b, c := newApproval("c.3", "pay\x1b[2J", parley.ApprovalPending, ""),
		newApproval("c.5", "send", parley.ApprovalPending, ""), newApproval("c.9", "mine", parley.ApprovalPending, "")
	approved, late := newApproval("c.3", "pay", parley.ApprovalApproved, "ann"),
		newApproval("c.5", "send", parley.ApprovalTimedOut, "")
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	client := &listingClient{
		story: [][]parley.Approval{{a}, nil, {a, b}, {b, c}, {b, c}, {}},
		ends:  map[string]*parley.Approval{"c.3": &approved, "c.5": &late}, end: cancel,
	}
	w := &watcher{
		app: &cli.App{Out: cli.NewStream(&out), Format: cli.FormatText, Timeout: cli.DefaultTimeout}, client: client,
		flags: &listFlags{}, waiting: map[string]parley.Approval{}, every: 1,
	}
	if err := w.run(ctx); err != nil {
		t.Fatal(err)
	}
	const until = ", until 1970-01-01T00:00:00.000Z)"
	want := "bot asks: pay\\x1b[2J (c.3" + until + "\nbot asks: send (c.5" + until + "\nbot asks: mine (c.9" + until +
		", for others to answer\nc.3 is approved by ann\nc.5 has timed out: not approved\n"
	if out.String() != want {
		t.Errorf("told\n%s, expected\n%s", out.String(), want)
	}
}
