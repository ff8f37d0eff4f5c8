package approvals

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// Committed implements conv.Observer.
func (s *Service) Committed(c conv.Commit) {
	state := c.State
	if len(state.Approvals) == 0 {
		return // it never had an approval
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if state.Closed() {
		delete(s.open, state.ID)
		return
	}
	s.open[state.ID] = &fold.State{
		ID: state.ID, Seq: state.Seq, CreatedBy: state.CreatedBy, Roster: fold.Roster{Participants: state.Participants},
		Sessions: fold.Sessions{Session: state.Session}, ApprovalList: fold.ApprovalList{Approvals: state.Pending()},
	}
}

// openStates returns what the list has of the open conversations: of the approvals, the pending ones.
func (s *Service) openStates() []*fold.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*fold.State, 0, len(s.open))
	for _, state := range s.open {
		out = append(out, state)
	}
	return out
}

// List returns the approvals with a status that the caller may answer or requested, the oldest first.
//
// It finds all pending approvals. It finds the resolved approvals that the states of the conversations
// keep: those of the current turn, and the last MaxKeptApprovals. Without a ConversationID, a list of
// resolved approvals is ordered by open conversation. A page covers up to maxListed conversations, and
// may be empty although there is a next page.
func (s *Service) List(
	ctx context.Context, p *auth.Principal, q *parley.ListApprovalsParams,
) (*parley.ListApprovalsResult, error) {
	return auth.CallFresh(ctx, s.auth, func() (*parley.ListApprovalsResult, error) { return s.list(ctx, p, q) })
}

func (s *Service) list(
	ctx context.Context, p *auth.Principal, q *parley.ListApprovalsParams,
) (*parley.ListApprovalsResult, error) {
	if err := s.auth.Allow(p, methods.ListApprovals); err != nil {
		return nil, err
	}
	limit, err := page.CheckLimit(q.Limit, parley.MaxPage, limits.DefaultPage)
	if err != nil {
		return nil, err
	}
	status := cmp.Or(q.Status, parley.ApprovalPending)
	if !slices.Contains(parley.ApprovalStatuses, status) {
		return nil, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("status is %q", policy.Clip(string(q.Status))),
			"pending, approved, rejected, timed_out or canceled")
	}
	after, err := parseCursor(q.Cursor)
	if err != nil {
		return nil, err
	}
	if err := s.turns.AwaitRecovery(ctx); err != nil {
		return nil, err
	}
	w := s.newAnswerer(p)
	switch {
	case q.ConversationID != "":
		state, err := s.findState(w, q.ConversationID)
		if err != nil {
			return nil, err
		}
		return s.readPage(ctx, w, selectApprovals([]*fold.State{state}, status, after, position.compare), limit)
	case status == parley.ApprovalPending:
		return s.readPage(ctx, w, selectApprovals(s.openStates(), status, after, position.compare), limit)
	}
	states, last, err := s.loadStates(ctx, w, after)
	if err != nil {
		return nil, err
	}
	out, err := s.readPage(ctx, w, selectApprovals(states, status, after, position.compareInConversations), limit)
	if err == nil && out.NextCursor == "" && last != "" {
		out.NextCursor = position{conversation: last, seq: math.MaxInt64}.String()
	}
	return out, err
}

// maxListed bounds the conversations that one page of resolved approvals covers.
const maxListed = 100

// loadStates returns the whole states of the next conversations that may have approvals for the
// caller. If more follow, last is the last conversation that it covered.
func (s *Service) loadStates(
	ctx context.Context, w *answerer, from position,
) (states []*fold.State, last string, err error) {
	all := slices.DeleteFunc(s.openStates(), func(state *fold.State) bool { return state.ID < from.conversation })
	slices.SortFunc(all, func(a, b *fold.State) int { return cmp.Compare(a.ID, b.ID) })
	if len(all) > maxListed {
		all = all[:maxListed]
		last = all[maxListed-1].ID
	}
	for _, state := range all {
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		if !w.mayRead(state) {
			continue
		}
		whole, err := s.engine.StateOf(state.ID)
		if err != nil && s.engine.Serving() != nil {
			return nil, "", err
		}
		if err == nil { // a damaged conversation does not hide the others
			states = append(states, &whole)
		}
	}
	return states, last, nil
}

// findState returns the state of a conversation of which the caller may read approvals.
func (s *Service) findState(w *answerer, id string) (*fold.State, error) {
	if conv.Reserved(id) || !parley.ValidConversationID(id) {
		return nil, auth.ErrNotFound
	}
	state, err := s.engine.StateOf(id)
	if err != nil {
		return nil, err
	}
	if !state.Exists() || !w.mayRead(&state) {
		return nil, auth.ErrNotFound
	}
	return &state, nil
}

// listed is an approval that a page may have.
type listed struct {
	state *fold.State
	fold.Approval
}

func (l *listed) position() position { return position{l.RequestedAt, l.state.ID, l.Seq} }

// position is the place of an approval in a list. Its text is the cursor.
type position struct {
	at           parley.Timestamp
	conversation string
	seq          int64
}

func (a position) compare(b position) int {
	return cmp.Or(cmp.Compare(a.at, b.at), a.compareInConversations(b))
}

func (a position) compareInConversations(b position) int {
	return cmp.Or(cmp.Compare(a.conversation, b.conversation), cmp.Compare(a.seq, b.seq))
}

func (a position) String() string {
	return strconv.FormatInt(int64(a.at), 10) + "." + eventdata.ApprovalID(a.conversation, a.seq)
}

func parseCursor(cursor string) (position, error) {
	if cursor == "" {
		return position{}, nil
	}
	number, id, _ := strings.Cut(cursor, ".")
	at, err := strconv.ParseInt(number, 10, 64)
	conversation, seq, ok := eventdata.ParseApprovalID(id)
	if err != nil || !ok {
		return position{}, parley.Refuse(parley.ErrValidationFailed,
			"cursor is not one of this hub's", "nextCursor of the page before")
	}
	return position{parley.Timestamp(at), conversation, seq}, nil
}

// selectApprovals returns the approvals with a status after a position, in order.
func selectApprovals(
	states []*fold.State, status parley.ApprovalStatus, after position, compare func(a, b position) int,
) []listed {
	var all []listed
	for _, state := range states {
		for _, a := range state.Approvals {
			l := listed{state, a}
			if a.Status == status && compare(l.position(), after) > 0 {
				all = append(all, l)
			}
		}
	}
	slices.SortFunc(all, func(a, b listed) int { return compare(a.position(), b.position()) })
	return all
}

// readPage returns the first approvals that the caller may read, in at most MaxPageBytes.
func (s *Service) readPage(
	ctx context.Context, w *answerer, all []listed, limit int,
) (*parley.ListApprovalsResult, error) {
	out := &parley.ListApprovalsResult{Approvals: []parley.Approval{}}
	size := 0
	for i := range all {
		l := &all[i]
		r := w.findRights(l.state, &l.Approval)
		if !r.canRead() {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a, err := s.read(l.state, &l.Approval)
		if err != nil && s.engine.Serving() != nil {
			return nil, err
		}
		if err != nil { // a damaged approval does not hide the others
			s.engine.Log().Error("an approval cannot be read",
				"approval", eventdata.ApprovalID(l.state.ID, l.Seq), "error", err)
			continue
		}
		a.MayAnswer = r.canAnswerNow()
		size += estimateSize(a)
		if len(out.Approvals) == limit || len(out.Approvals) > 0 && size > limits.MaxPageBytes {
			out.NextCursor = all[i-1].position().String()
			return out, nil
		}
		out.Approvals = append(out.Approvals, *a)
	}
	return out, nil
}

// estimateSize returns about how many bytes an approval has on the wire.
func estimateSize(a *parley.Approval) int {
	return 1<<10 + len(a.Title) + len(a.Details) + len(a.AnswerSchema) + len(a.Answer) + len(a.Comment)
}
