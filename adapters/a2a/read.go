package a2a

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

const (
	// maxHistory is how many messages of its history a task is given with, the newest, where nobody says how many; in lists, maxListed.
	maxHistory = 100
	maxListed  = 10
	// maxContexts is how many contexts a list looks into: those in which something has happened last.
	maxContexts = 1000
	defaultPage = 50
	maxPage     = 100
)

// trim cuts the history of a task to its newest messages.
func trim(t *a2a.Task, length *int, unset int) {
	n := unset
	if length != nil {
		n = *length
	}
	if n <= 0 {
		t.History = nil
	} else if len(t.History) > n {
		t.History = t.History[len(t.History)-n:]
	}
}

// show gives a task as an answer.
func (s *Server) show(ctx context.Context, c *caller, p *place, t *a2a.Task, accepted []string, length *int, unset int) (*a2a.Task, error) {
	trim(t, length, unset)
	e, err := s.resolve(ctx, c, p.conversation, accepted, t)
	if shown, ok := e.(*a2a.Task); err == nil && ok {
		return shown, nil
	}
	return nil, errOr(err, "a task became something else")
}

func (s *Server) get(ctx context.Context, c *caller, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, wrong("historyLength is negative")
	}
	p, t, modes, err := s.look(ctx, c, req.ID)
	if err != nil {
		return nil, err
	}
	return s.show(ctx, c, p, t, modes, req.HistoryLength, maxHistory)
}

// look gives a task as it is now.
func (s *Server) look(ctx context.Context, c *caller, id a2a.TaskID) (p *place, t *a2a.Task, modes []string, err error) {
	if p, err = s.find(ctx, c, id); err != nil {
		return nil, nil, nil, err
	}
	err = s.read(ctx, c, p, func(tape *tape) { t, modes = tape.ledger.task(id), tape.ledger.modes(id) })
	if err == nil && t == nil {
		err = errNoTask
	}
	return p, t, modes, err
}

// listed is a task in a list.
type listed struct {
	at    time.Time
	id    a2a.TaskID
	place *place
	task  *a2a.Task
	modes []string
}

// newer is the order of lists.
func newer(a, b listed) int {
	return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id, a.id))
}

// page is a page token: the last task of the page before.
type page struct {
	At int64      `json:"t"` // Unix ns
	ID a2a.TaskID `json:"id"`
}

// list has no index: it asks for all conversations of the caller, a hundred at a time, looks once into each that it does not know, and brings the ledgers of this agent's
// up to date. So the first list of a caller costs as much as reading its logs, and each further one as much as what is new in them. Of more than maxContexts contexts
// with this agent those are left out in which nothing has happened for longest.
func (s *Server) list(ctx context.Context, c *caller, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := cmp.Or(req.PageSize, defaultPage)
	if size < 1 || size > maxPage {
		return nil, wrong("pageSize is %d: 1 to %d", size, maxPage)
	}
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, wrong("historyLength is negative")
	}
	if req.Status != "" && req.Status != a2a.TaskStateUnspecified && !slices.Contains(allStates, req.Status) {
		return nil, wrong("status %q is no state of a task, such as %s", req.Status, a2a.TaskStateWorking)
	}
	behind, err := parsePage(req.PageToken)
	if err != nil {
		return nil, err
	}
	places, err := s.contexts(ctx, c, req.ContextID)
	if err != nil {
		return nil, err
	}
	var all []listed
	for _, p := range places {
		err := s.read(ctx, c, p, func(t *tape) { all = append(all, listedIn(t, p, req)...) })
		if err != nil && !errors.Is(err, errNoTask) {
			return nil, err
		}
	}
	slices.SortFunc(all, newer)
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: len(all), PageSize: size}
	if behind != nil {
		all = slices.DeleteFunc(all, func(l listed) bool { return newer(l, *behind) <= 0 })
	}
	if len(all) > size {
		all = all[:size]
		last := all[size-1]
		token, err := json.Marshal(page{last.at.UnixNano(), last.id})
		if err != nil {
			return nil, err
		}
		out.NextPageToken = base64.RawURLEncoding.EncodeToString(token)
	}
	for _, l := range all {
		if !req.IncludeArtifacts {
			l.task.Artifacts = nil
		}
		t, err := s.show(ctx, c, l.place, l.task, l.modes, req.HistoryLength, maxListed)
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, t)
	}
	return out, nil
}

func parsePage(token string) (*listed, error) {
	if token == "" {
		return nil, nil
	}
	var p page
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(raw, &p) != nil || p.ID == "" {
		return nil, wrong("pageToken is none that was given")
	}
	return &listed{at: time.Unix(0, p.At), id: p.ID}, nil
}

// allStates are those that a task can have.
var allStates = []a2a.TaskState{
	a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
	a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected,
}

// listedIn gives the tasks of a conversation that a list asks for.
func listedIn(t *tape, p *place, req *a2a.ListTasksRequest) []listed {
	if req.ContextID != "" && p.context != req.ContextID {
		return nil
	}
	var out []listed
	for _, id := range t.ledger.tasks() {
		task := t.ledger.task(id)
		l := listed{id: id, place: p, task: task, modes: t.ledger.modes(id)}
		if task.Status.Timestamp != nil {
			l.at = *task.Status.Timestamp
		}
		if req.Status != "" && req.Status != a2a.TaskStateUnspecified && task.Status.State != req.Status {
			continue
		}
		if req.StatusTimestampAfter != nil && l.at.Before(*req.StatusTimestampAfter) {
			continue
		}
		out = append(out, l)
	}
	return out
}

// contexts gives the conversations of the caller at its agent, those that have moved last first. A contextId that names one is looked up and never created.
func (s *Server) contexts(ctx context.Context, c *caller, contextID string) ([]*place, error) {
	sessions, err := s.deterministic(ctx, c)
	if err != nil {
		return nil, err
	}
	if contextID != "" && !sessions {
		id := contextID
		if !made(id) {
			id = parley.DerivedConversationID(c.client.AgentID(), contextKey(c.agent, id))
		}
		p, err := s.locate(ctx, c, id)
		if errors.Is(err, errNoTask) {
			return nil, nil
		}
		return []*place{p}, err
	}
	var all []*place
	moved := map[*place]time.Time{}
	for cursor := ""; ; {
		got, err := c.client.ListConversations(ctx, &parley.ListConversationsParams{Limit: 100, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, row := range got.Conversations {
			p, err := s.locateRow(ctx, c, &row)
			if err != nil {
				return nil, err
			}
			if p != nil {
				all = append(all, p)
				moved[p] = row.UpdatedAt.Time()
			}
		}
		if cursor = got.NextCursor; cursor == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b *place) int { return moved[b].Compare(moved[a]) })
	return all[:min(len(all), maxContexts)], nil
}

// locateRow is locate for what the hub has listed; nil for what is not the caller's at this agent.
func (s *Server) locateRow(ctx context.Context, c *caller, row *parley.ConversationSummary) (*place, error) {
	if !slices.Contains(row.Participants, c.client.AgentID()) {
		return nil, nil // an admin's list has all
	}
	p, err := s.locate(ctx, c, row.ConversationID)
	if errors.Is(err, errNoTask) {
		return nil, nil
	}
	return p, err
}
