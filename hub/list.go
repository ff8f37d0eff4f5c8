package hub

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/journal"
)

// ListConversations gives a page of what the caller takes part in or created, or of a workspace that its token grants.
func (h *Hub) ListConversations(ctx context.Context, p *auth.Principal, q *parley.ListConversationsParams) (*parley.ListConversationsResult, error) {
	if err := h.auth.Allow(p, parley.MethodListConversations); err != nil {
		return nil, err
	}
	l, err := newListing(p, q)
	if err != nil {
		return nil, err
	}
	return h.list(ctx, l)
}

// The bounds of Limit of what lists conversations.
const (
	maxSummaries    = 100
	presetSummaries = 50
)

// listing is one call of ListConversations.
type listing struct {
	p           *auth.Principal
	scope       listScope
	label       string // under which the journal has all that may be meant
	status      parley.Status
	participant string
	text        string // as foldCase gives it
	newest      bool
	from        journal.Position
	limit       int
}

func newListing(p *auth.Principal, q *parley.ListConversationsParams) (*listing, error) {
	limit, err := page.CheckLimit(q.Limit, maxSummaries, presetSummaries)
	if err != nil {
		return nil, err
	}
	if q.Status != "" && q.Status != parley.StatusActive && q.Status != parley.StatusClosed {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("status is %q", q.Status), "active or closed")
	}
	if q.Participant != "" && !parley.ValidParticipantID(q.Participant) {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("participant: %.80q is not acceptable", q.Participant), "an id of a participant")
	}
	if n := len(q.Text); n > parley.MaxTitleBytes {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("text has %d bytes", n), fmt.Sprintf("at most %d", parley.MaxTitleBytes))
	}
	l := &listing{p: p, status: q.Status, participant: q.Participant, text: foldCase(q.Text), newest: q.Newest, limit: limit}
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

// listScopeOf is which conversations a caller is listed: those of a workspace or, where that is empty, those that it has a part in; an admin all.
type listScope struct{ workspace string }

// listScopeOf gives the scope of a call that names a workspace, or none.
func listScopeOf(p *auth.Principal, workspace string) (listScope, error) {
	if workspace == "" {
		return listScope{}, nil
	}
	return listScope{workspace}, p.CheckGrants(workspace)
}

// label gives the label under which the journal has all of the scope; empty is that of all conversations.
func (l listScope) label(p *auth.Principal) string {
	switch {
	case l.workspace != "":
		return eventdata.WorkspaceLabel(l.workspace)
	case p.Admin():
		return ""
	}
	return eventdata.SeatLabel(p.AgentID)
}

// has reports whether a conversation is one of the scope. Those of the hub's own are none of any.
func (l listScope) has(p *auth.Principal, s *fold.State) bool {
	if l.workspace != "" {
		return s.Workspace == l.workspace && p.Reads(s)
	}
	return p.Sees(s)
}

// listScan bounds the conversations that one page looks at to find some that are asked for.
const listScan = 500

func (h *Hub) list(ctx context.Context, l *listing) (*parley.ListConversationsResult, error) {
	read := h.journal.Labeled
	if l.newest {
		read = h.journal.LabeledBefore
	}
	rows, err := read(l.label, l.from, listScan)
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
		summary, err := h.summary(l.p, row.Conversation, l.wants)
		if err != nil {
			return nil, err
		}
		if summary != nil {
			out.Conversations = append(out.Conversations, *summary)
		}
		out.NextCursor = page.FormatCursor(row.Position, l.newest)
		if i == len(rows)-1 && len(rows) < listScan {
			out.NextCursor = ""
		}
	}
	return out, nil
}

// wants reports whether a conversation is to be listed.
func (l *listing) wants(s *fold.State) bool {
	return l.scope.has(l.p, s) && (l.status == "" || s.Status == l.status) && (l.participant == "" || s.HasParticipant(l.participant)) &&
		(l.text == "" || strings.Contains(foldCase(s.ID), l.text) || strings.Contains(foldCase(s.Title), l.text))
}

// summary gives the row of a conversation, nil when it is none that is wanted. One that cannot be read is as one that is not there: it does not hide the others.
func (h *Hub) summary(p *auth.Principal, id string, wants func(*fold.State) bool) (*parley.ConversationSummary, error) {
	if conv.Reserved(id) || !p.Reaches(id) {
		return nil, nil
	}
	c, err := h.conv.Pin(id)
	if errors.Is(err, parley.ErrUnavailable) {
		return nil, err
	}
	if err != nil { // logged by who loads it
		return nil, nil
	}
	defer h.conv.Unpin(c)
	var s *fold.State
	c.View(func(durable, _ *fold.State) {
		if wants(durable) { // most are not, and a state is large
			found := *durable
			s = &found
		}
	})
	if s == nil {
		return nil, nil
	}
	return h.summaryOf(s), nil
}

func (h *Hub) summaryOf(s *fold.State) *parley.ConversationSummary {
	ids := make([]string, len(s.Participants))
	for i, seat := range s.Participants {
		ids[i] = seat.ID
	}
	out := &parley.ConversationSummary{
		ConversationID: s.ID, Status: s.Status, Title: s.Title, CreatedBy: s.CreatedBy, CreatedAt: s.CreatedAt, UpdatedAt: s.LastAt,
		Participants: ids, LatestSeq: s.Seq, Turn: s.CurrentTurn(), Workspace: s.Workspace, Outcome: outcomeOf(s), Floor: h.floor(s), Fork: forkOf(s),
	}
	if r := s.Session; r != nil {
		out.Session = &parley.SessionSummary{Agent: r.Agent, Caller: r.Caller, Parent: r.Parent, Status: s.SessionStatus()}
	}
	return out
}
