package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/methods"
)

// ListConversations returns a page of the conversations that the caller created or has a seat in, or of a
// workspace that its token grants.
func (h *Hub) ListConversations(
	ctx context.Context, p *auth.Principal, q *parley.ListConversationsParams,
) (*parley.ListConversationsResult, error) {
	if err := h.auth.Allow(p, methods.ListConversations); err != nil {
		return nil, err
	}
	l, err := newListing(p, q)
	if err != nil {
		return nil, err
	}
	return h.list(ctx, l)
}

// maxListed bounds the conversations that one page examines.
const maxListed = 500

// listing is one call of ListConversations.
type listing struct {
	p           *auth.Principal
	scope       listScope
	label       string // a label of the journal that all matching conversations have
	status      parley.Status
	participant string
	text        string // as foldCase returns it
	newest      bool
	from        journal.Position
	limit       int
}

func newListing(p *auth.Principal, q *parley.ListConversationsParams) (*listing, error) {
	limit, err := page.CheckLimit(q.Limit, page.MaxSummaries, page.PresetSummaries)
	if err != nil {
		return nil, err
	}
	if q.Status != "" && q.Status != parley.StatusActive && q.Status != parley.StatusClosed {
		return nil, page.Invalid("active or closed", "status is %q", q.Status)
	}
	if q.Participant != "" && !parley.ValidParticipantID(q.Participant) {
		return nil, page.Invalid("an id of a participant", "participant: %.80q is not acceptable", q.Participant)
	}
	if n := len(q.Text); n > parley.MaxTitleBytes {
		return nil, page.Invalid(fmt.Sprintf("at most %d", parley.MaxTitleBytes), "text has %d bytes", n)
	}
	l := &listing{
		p: p, status: q.Status, participant: q.Participant, text: foldCase(q.Text), newest: q.Newest, limit: limit,
	}
	if l.scope, err = listScopeOf(p, q.Workspace); err != nil {
		return nil, err
	}
	if l.from, err = page.ParseCursor(q.Cursor, q.Newest); err != nil {
		return nil, err
	}
	if l.label = l.scope.label(p); l.label == "" && q.Participant != "" {
		l.label = eventdata.SeatLabel(q.Participant)
	}
	return l, nil
}

// listScope is the set of conversations that a caller may list: those of a workspace or, if it is empty, those
// that the caller created or has a seat in. An admin lists all.
type listScope struct{ workspace string }

// listScopeOf returns the scope of a call; workspace may be empty.
func listScopeOf(p *auth.Principal, workspace string) (listScope, error) {
	if workspace == "" {
		return listScope{}, nil
	}
	return listScope{workspace}, p.CheckGrants(workspace)
}

// label returns the label of all conversations of the scope. The empty label is that of all conversations.
func (l listScope) label(p *auth.Principal) string {
	switch {
	case l.workspace != "":
		return eventdata.WorkspaceLabel(l.workspace)
	case p.Admin():
		return ""
	}
	return eventdata.SeatLabel(p.AgentID)
}

// has reports whether a conversation is in the scope. No scope has the conversations of the hub itself.
func (l listScope) has(p *auth.Principal, s *fold.State) bool {
	if l.workspace != "" {
		return s.Workspace == l.workspace && p.Reads(s)
	}
	return p.Sees(s)
}

func (h *Hub) list(ctx context.Context, l *listing) (*parley.ListConversationsResult, error) {
	read := h.journal.Labeled
	if l.newest {
		read = h.journal.LabeledBefore
	}
	rows, err := read(l.label, l.from, maxListed)
	if err != nil {
		return nil, fmt.Errorf("list conversations: %w", err)
	}
	out := &parley.ListConversationsResult{Conversations: []parley.ConversationSummary{}}
	for i, row := range rows {
		if len(out.Conversations) == l.limit {
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		summary, err := h.summary(l.p, row.Conversation, l.matches)
		if err != nil {
			return nil, err
		}
		if summary != nil {
			out.Conversations = append(out.Conversations, *summary)
		}
		out.NextCursor = page.FormatCursor(row.Position, l.newest)
		if i == len(rows)-1 && len(rows) < maxListed {
			out.NextCursor = ""
		}
	}
	return out, nil
}

func (l *listing) matches(s *fold.State) bool {
	return l.scope.has(l.p, s) && (l.status == "" || s.Status == l.status) &&
		(l.participant == "" || s.HasParticipant(l.participant)) &&
		(l.text == "" || strings.Contains(foldCase(s.ID), l.text) || strings.Contains(foldCase(s.Title), l.text))
}

// summary returns the row of a conversation, or nil if the conversation does not match. It also returns nil
// if the conversation cannot be read, so that it does not hide the others.
func (h *Hub) summary(
	p *auth.Principal, id string, matches func(*fold.State) bool,
) (*parley.ConversationSummary, error) {
	if conv.Reserved(id) || !p.Reaches(id) {
		return nil, nil
	}
	c, err := h.conv.Pin(id)
	if errors.Is(err, parley.ErrUnavailable) {
		return nil, err
	}
	if err != nil { // the engine has logged it
		return nil, nil
	}
	defer h.conv.Unpin(c)
	var s *fold.State
	c.View(func(durable, _ *fold.State) {
		if matches(durable) { // copy the state only then: it is large
			found := *durable
			s = &found
		}
	})
	if s == nil {
		return nil, nil
	}
	return h.summaryOf(s), nil
}

// summarizeListed returns the row of a conversation that p may list, or nil.
func (h *Hub) summarizeListed(p *auth.Principal, workspace, id string) (*parley.ConversationSummary, error) {
	return h.summary(p, id, func(s *fold.State) bool { return listScope{workspace}.has(p, s) })
}

func (h *Hub) summaryOf(s *fold.State) *parley.ConversationSummary {
	ids := make([]string, len(s.Participants))
	for i, seat := range s.Participants {
		ids[i] = seat.ID
	}
	out := &parley.ConversationSummary{
		ConversationID: s.ID, Status: s.Status, Title: s.Title, CreatedBy: s.CreatedBy, CreatedAt: s.CreatedAt,
		UpdatedAt: s.LastAt, Participants: ids, LatestSeq: s.Seq, Turn: s.CurrentTurn(), Workspace: s.Workspace,
		Outcome: clone(s.Outcome), Floor: h.floor(s), Fork: clone(s.Fork),
	}
	if r := s.Session; r != nil {
		out.Session = &parley.SessionSummary{
			Agent: r.Agent, Caller: r.Caller, Parent: r.Parent, Status: s.SessionStatus(),
		}
	}
	return out
}

// foldCase returns s after the simple case folding of Unicode.
func foldCase(s string) string { return strings.Map(foldRune, s) }

// foldRune returns the smallest of the runes that differ from r only in case.
func foldRune(r rune) rune {
	if r < unicode.MaxASCII {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
