package approvals

import (
	"cmp"
	"context"
	"maps"
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
	return slices.Collect(maps.Values(s.open))
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
	if err := s.auth.Allow(p, methods.ListApprovals); err != nil {
		return nil, err
	}
	limit, err := page.CheckLimit(q.Limit, parley.MaxPage, limits.DefaultPage)
	if err != nil {
		return nil, err
	}
	status := cmp.Or(q.Status, parley.ApprovalPending)
	if !slices.Contains(parley.ApprovalStatuses, status) {
		return nil, page.Invalid("pending, approved, rejected, timed_out or canceled",
			"status is %q", policy.Clip(string(q.Status)))
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
		return position{}, page.Invalid("nextCursor of the page before", "cursor is not one of this hub's")
	}
	return position{parley.Timestamp(at), conversation, seq}, nil
}

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
			s.engine.Log().Error("an approval cannot be read", "approval", eventdata.ApprovalID(l.state.ID, l.Seq), "error", err)
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

// answerer finds the rights of one caller to approvals, during one call.
type answerer struct {
	engine *conv.Engine
	caller *auth.Principal
	known  map[string]standing
}

func (s *Service) newAnswerer(p *auth.Principal) *answerer {
	return &answerer{engine: s.engine, caller: p, known: make(map[string]standing)}
}

// standing has the rights of a caller to all approvals of a conversation.
type standing struct {
	principal *auth.Principal // as which the caller answers
	sees      bool            // the caller sees the conversation
	err       error           // why the caller may answer none of the approvals, or nil
}

type rights struct {
	standing
	isRequester bool
	isAdmin     bool
	isResolved  bool
}

func (r *rights) canAnswerNow() bool { return r.err == nil && !r.isResolved }

func (r *rights) canRead() bool { return r.err == nil || r.isRequester || r.isAdmin }

// refuseAnswer returns why the caller may not answer, or nil. A caller that can read neither the
// approval nor the conversation does not learn that the approval exists.
func (r *rights) refuseAnswer() error {
	if r.err != nil && !r.sees && !r.canRead() {
		return errNotFound
	}
	return r.err
}

func (w *answerer) findStanding(s *fold.State) standing {
	found, ok := w.known[s.ID]
	if !ok {
		found = w.computeStanding(s)
		w.known[s.ID] = found
	}
	return found
}

// mayRead reports whether the caller may read any approval of a conversation.
func (w *answerer) mayRead(s *fold.State) bool {
	if in := w.findStanding(s); in.sees || in.err == nil || w.isAdminOf(s) {
		return true
	}
	_, visible := w.caller.Resolve(s, "")
	return visible
}

func (w *answerer) isAdminOf(s *fold.State) bool { return w.caller.Admin() && w.caller.Reaches(s.ID) }

func (w *answerer) findRights(s *fold.State, a *fold.Approval) *rights {
	r := &rights{standing: w.findStanding(s), isAdmin: w.isAdminOf(s), isResolved: a.Status.Resolved()}
	seat, visible := w.caller.Resolve(s, a.AgentID)
	r.isRequester = visible && w.caller.Reaches(s.ID) && seat.AgentID == a.AgentID
	if err := checkIndependence(r.principal, s, a); err != nil {
		r.err = err
	}
	return r
}

func forbid(message, expected string) error {
	return parley.Refuse(parley.ErrForbidden, message, expected)
}

var (
	errAgent  = forbid("agents and tools do not answer approvals", "an answer of a person or peer with the scope approve")
	errNoSeat = forbid("approvals are answered by people and peers who take part in the conversation, "+
		"or in one above it in the tree of sessions, and by admins", "a seat of kind human or peer")
	errNoScope   = forbid("the token does not have the scope approve", "a token with scope approve")
	errRequester = forbid("the requester of an approval does not answer it", "an answer from another participant")
	errSameToken = forbid("the approval was asked for with this token",
		"another token, that counts under another account")
	errSameAccount = forbid("the token counts under the same account as the one that requested the approval",
		"a token of another account")
	errMaySpeakAs = forbid("the token may speak as who asks for the approval", "a token that may not")
)

// checkIndependence refuses callers without the scope approve, and callers that requested the
// approval or could have.
func checkIndependence(p *auth.Principal, s *fold.State, a *fold.Approval) error {
	switch {
	case p.AgentID == a.AgentID:
		return errRequester
	case a.TokenID != "" && p.TokenID == a.TokenID:
		return errSameToken
	case !p.Has(parley.ScopeApprove):
		return errNoScope
	case p.Admin():
		return nil
	case a.Account != "" && p.Account == a.Account:
		return errSameAccount
	case mayRequestFrom(p, s, a.AgentID):
		return errMaySpeakAs
	}
	return nil
}

// mayRequestFrom reports whether the token of p may speak from a seat, or run the agent of the seat,
// as any of its ids.
func mayRequestFrom(p *auth.Principal, s *fold.State, seat string) bool {
	if p.MaySpeakAs(seat) {
		return true
	}
	if session := s.Session; session.OfRunner() && session.AgentID == seat {
		return session.Runner != nil && p.MaySpeakAs(session.Runner.ParticipantID)
	}
	i := s.Seat(seat)
	return i >= 0 && p.MaySpeakAs(fold.AgentName(s.Participants[i]))
}

// holdsWithoutParent reports whether the standing of the caller in s is valid whatever seat it has in
// the parent. It is for admins and people. A peer of a session may be an agent in the parent.
func (w *answerer) holdsWithoutParent(in standing, s *fold.State) bool {
	if in.err != nil {
		return false
	}
	seat := s.Seat(in.principal.AgentID)
	return w.caller.Admin() || seat >= 0 && s.Participants[seat].Kind == parley.KindHuman
}

// computeStanding looks for a seat of the caller in a conversation and in those above it. A caller
// with a seat as an agent or tool in any of them answers nothing. The caller of a session has a seat
// of kind peer in it, whatever its kind is in the parent.
func (w *answerer) computeStanding(s *fold.State) standing {
	here := w.caller.In(s.ID)
	out := standing{principal: here, sees: here.Sees(s), err: errNoSeat}
	if w.isAdminOf(s) {
		out.err = nil
	}
	for x, depth := s, 0; depth <= limits.MaxSessionDepth; depth++ {
		p := w.caller.In(x.ID)
		if seat := x.Seat(p.AgentID); seat >= 0 {
			if x.Participants[seat].Kind.Claims() {
				out.err = errAgent
				return out
			}
			if out.err != nil && w.caller.Reaches(x.ID) {
				out.principal, out.err = p, nil
			}
		}
		if x.Session == nil || x.Session.Parent == "" {
			break
		}
		parent, err := w.engine.StateOf(x.Session.Parent)
		if err != nil {
			if !w.holdsWithoutParent(out, x) {
				out.err = err
			}
			return out
		}
		x = &parent
	}
	return out
}
