package hub

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
)

// approvals know which open conversations have approvals, and those of them that are pending. They are derived: the start of the hub shows every open conversation.
type approvals struct {
	mu   sync.Mutex // guards the field below
	open map[string]*fold.State
}

func newApprovals() *approvals { return &approvals{open: make(map[string]*fold.State)} }

// committed updates the pending approvals of the conversation.
func (a *approvals) Committed(c conv.Commit) {
	s := c.State
	if len(s.Approvals) == 0 {
		return // and never had one
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Closed() {
		delete(a.open, s.ID)
		return
	}
	a.open[s.ID] = &fold.State{
		ID: s.ID, Seq: s.Seq, CreatedBy: s.CreatedBy, Participants: s.Participants, Session: s.Session, Approvals: s.Pending(),
	}
}

// all gives what is known of each, in no order: of the approvals, only those that are pending.
func (a *approvals) all() []*fold.State {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*fold.State, 0, len(a.open))
	for _, s := range a.open {
		out = append(out, s)
	}
	return out
}

// ListApprovals gives the approvals that the caller may answer or has asked for, the oldest first. All that are pending are among them. Of those that are
// resolved it has what the state of each conversation keeps: all of the current turn, and the last MaxKeptApprovals; without ConversationID, of the conversations
// that are open, one conversation after the other, and a page looks at approvalConversations of them: it may be empty where others follow.
func (h *Hub) ListApprovals(ctx context.Context, p *auth.Principal, q *parley.ListApprovalsParams) (*parley.ListApprovalsResult, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.ListApprovalsResult, error) { return h.listApprovals(ctx, p, q) })
}

func (h *Hub) listApprovals(ctx context.Context, p *auth.Principal, q *parley.ListApprovalsParams) (*parley.ListApprovalsResult, error) {
	if err := h.auth.Allow(p, parley.MethodListApprovals); err != nil {
		return nil, err
	}
	limit, err := page.CheckLimit(q.Limit, parley.MaxPage, parley.DefaultPage)
	if err != nil {
		return nil, err
	}
	status := cmp.Or(q.Status, parley.ApprovalPending)
	if !slices.Contains(parley.ApprovalStatuses, status) {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("status is %q", policy.Clip(string(q.Status))), "pending, approved, rejected, timed_out or canceled")
	}
	after, err := parseApprovalCursor(q.Cursor)
	if err != nil {
		return nil, err
	}
	if err := h.sessions.WaitRecovered(ctx); err != nil {
		return nil, err
	}
	w := h.newAnswerer(p)
	switch {
	case q.ConversationID != "":
		s, err := h.approvalsIn(w, q.ConversationID)
		if err != nil {
			return nil, err
		}
		return h.pageApprovals(ctx, w, listed([]*fold.State{s}, status, after, approvalPlace.compare), limit)
	case status == parley.ApprovalPending:
		return h.pageApprovals(ctx, w, listed(h.approvals.all(), status, after, approvalPlace.compare), limit)
	}
	states, rest, err := h.withApprovals(ctx, w, after)
	if err != nil {
		return nil, err
	}
	out, err := h.pageApprovals(ctx, w, listed(states, status, after, approvalPlace.compareIn), limit)
	if err == nil && out.NextCursor == "" && rest != "" {
		out.NextCursor = approvalPlace{conversation: rest, seq: math.MaxInt64}.String()
	}
	return out, err
}

// approvalConversations bounds how many conversations one page of approvals that are resolved looks at.
const approvalConversations = 100

// withApprovals gives the whole states of the next conversations, from the place on, that may have approvals for the caller; rest is the last that was looked at where
// others follow.
func (h *Hub) withApprovals(ctx context.Context, w *answerer, from approvalPlace) (states []*fold.State, rest string, err error) {
	all := slices.DeleteFunc(h.approvals.all(), func(s *fold.State) bool { return s.ID < from.conversation })
	slices.SortFunc(all, func(a, b *fold.State) int { return cmp.Compare(a.ID, b.ID) })
	if len(all) > approvalConversations {
		all = all[:approvalConversations]
		rest = all[approvalConversations-1].ID
	}
	for _, s := range all {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if !w.near(s) {
			continue
		}
		whole, err := h.conv.StateOf(s.ID)
		if err != nil && h.conv.Serving() != nil {
			return nil, "", err
		}
		if err == nil { // one that is damaged does not hide the others
			states = append(states, &whole)
		}
	}
	return states, rest, nil
}

// approvalsIn gives the state of a conversation that is there for the caller, by its seat in it or in one above.
func (h *Hub) approvalsIn(w *answerer, id string) (*fold.State, error) {
	if conv.Reserved(id) || !parley.ValidConversationID(id) {
		return nil, auth.ErrNotFound
	}
	s, err := h.conv.StateOf(id)
	if err != nil {
		return nil, err
	}
	if !s.Exists() {
		return nil, auth.ErrNotFound
	}
	if !w.near(&s) {
		return nil, auth.ErrNotFound
	}
	return &s, nil
}

// listedApproval is one that a page may have.
type listedApproval struct {
	state *fold.State
	fold.Approval
}

func (a *listedApproval) place() approvalPlace {
	return approvalPlace{a.RequestedAt, a.state.ID, a.Seq}
}

// approvalPlace is where an approval stands among all.
type approvalPlace struct {
	at           parley.Timestamp
	conversation string
	seq          int64
}

func (p approvalPlace) compare(o approvalPlace) int {
	return cmp.Or(cmp.Compare(p.at, o.at), cmp.Compare(p.conversation, o.conversation), cmp.Compare(p.seq, o.seq))
}

// compareIn orders by conversation.
func (p approvalPlace) compareIn(o approvalPlace) int {
	return cmp.Or(cmp.Compare(p.conversation, o.conversation), cmp.Compare(p.seq, o.seq))
}

func (p approvalPlace) String() string {
	return strconv.FormatInt(int64(p.at), 10) + "." + fold.ApprovalID(p.conversation, p.seq)
}

func parseApprovalCursor(cursor string) (p approvalPlace, err error) {
	if cursor == "" {
		return p, nil
	}
	number, id, _ := strings.Cut(cursor, ".")
	at, err := strconv.ParseInt(number, 10, 64)
	conversation, seq, ok := fold.ParseApprovalID(id)
	if err != nil || !ok {
		return p, parley.Refuse(parley.ErrValidationFailed, "cursor is not one of this hub's", "nextCursor of the page before")
	}
	return approvalPlace{parley.Timestamp(at), conversation, seq}, nil
}

// listed gives the approvals with a status after a place, in order.
func listed(states []*fold.State, status parley.ApprovalStatus, after approvalPlace, order func(a, b approvalPlace) int) []listedApproval {
	var all []listedApproval
	for _, s := range states {
		for _, a := range s.Approvals {
			l := listedApproval{s, a}
			if a.Status == status && order(l.place(), after) > 0 {
				all = append(all, l)
			}
		}
	}
	slices.SortFunc(all, func(a, b listedApproval) int { return order(a.place(), b.place()) })
	return all
}

// pageApprovals gives the first of those that are there for the caller, in at most MaxPageBytes.
func (h *Hub) pageApprovals(ctx context.Context, w *answerer, all []listedApproval, limit int) (*parley.ListApprovalsResult, error) {
	out := &parley.ListApprovalsResult{Approvals: []parley.Approval{}}
	size := 0
	for i := range all {
		may := w.of(all[i].state, &all[i].Approval)
		if !may.Reads() {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a, err := h.readApproval(all[i].state.ID, &all[i].Approval)
		if err != nil && h.conv.Serving() != nil {
			return nil, err
		}
		if err != nil { // one that is damaged does not hide the others
			h.log.Error("an approval cannot be read", "approval", fold.ApprovalID(all[i].state.ID, all[i].Seq), "error", err)
			continue
		}
		a.Seq, a.MayAnswer = all[i].state.Seq, may.pending()
		size += approvalSize(a)
		if len(out.Approvals) == limit || len(out.Approvals) > 0 && size > parley.MaxPageBytes {
			out.NextCursor = all[i-1].place().String()
			return out, nil
		}
		out.Approvals = append(out.Approvals, *a)
	}
	return out, nil
}

// approvalSize is about how many bytes an approval takes on the wire.
func approvalSize(a *parley.Approval) int {
	return 1<<10 + len(a.Title) + len(a.Details) + len(a.AnswerSchema) + len(a.Answer) + len(a.Comment)
}
