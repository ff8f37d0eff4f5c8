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
	// maxHistory is the default number of messages in the history of a task.
	// maxListed is the default in lists.
	maxHistory = 100
	maxListed  = 10
	// maxContexts limits the contexts that a list reads: the ones with the latest events.
	maxContexts = 1000
	defaultPage = 50
	maxPage     = 100
)

// trimHistory cuts the history of a task to its newest messages.
func trimHistory(t *a2a.Task, length *int, unset int) {
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

// taskResult returns a task in the form for the caller.
func (s *Server) taskResult(ctx context.Context, c *caller, p *conversationInfo, t *a2a.Task, accepted []string,
	length *int, unset int) (*a2a.Task, error) {
	trimHistory(t, length, unset)
	e, err := s.resolve(ctx, c, p.conversation, accepted, t)
	if shown, ok := e.(*a2a.Task); err == nil && ok {
		return shown, nil
	}
	return nil, errOr(err, "resolve did not return a task")
}

func (s *Server) get(ctx context.Context, c *caller, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, invalidArgument("historyLength is negative")
	}
	p, t, modes, err := s.loadTask(ctx, c, req.ID)
	if err != nil {
		return nil, err
	}
	return s.taskResult(ctx, c, p, t, modes, req.HistoryLength, maxHistory)
}

// loadTask returns the current state of a task.
func (s *Server) loadTask(ctx context.Context, c *caller, id a2a.TaskID) (p *conversationInfo, t *a2a.Task,
	modes []string, err error) {
	if p, err = s.find(ctx, c, id); err != nil {
		return nil, nil, nil, err
	}
	err = s.read(ctx, c, p, func(tape *foldState) { t, modes = tape.tasks.task(id), tape.tasks.modes(id) })
	if err == nil && t == nil {
		err = errNoTask
	}
	return p, t, modes, err
}

// listed is a task in a list.
type listed struct {
	at    time.Time
	id    a2a.TaskID
	place *conversationInfo
	task  *a2a.Task
	modes []string
}

// compareNewest is the order of lists.
func compareNewest(a, b listed) int {
	return cmp.Or(b.at.Compare(a.at), cmp.Compare(b.id, a.id))
}

// page is a page token: the last task of the previous page.
type page struct {
	At int64      `json:"t"` // Unix ns
	ID a2a.TaskID `json:"id"`
}

// list has no index. It requests all conversations of the caller, 100 at a time, reads each unknown
// one once, and updates the cached folds of this agent. So the first list of a caller reads all its
// logs, and later ones only the new events. With more than maxContexts contexts, those whose last
// event is oldest are left out.
func (s *Server) list(ctx context.Context, c *caller, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := cmp.Or(req.PageSize, defaultPage)
	if size < 1 || size > maxPage {
		return nil, invalidArgument("invalid pageSize %d (expected: 1 to %d)", size, maxPage)
	}
	if req.HistoryLength != nil && *req.HistoryLength < 0 {
		return nil, invalidArgument("historyLength is negative")
	}
	if req.Status != "" && req.Status != a2a.TaskStateUnspecified && !slices.Contains(allStates, req.Status) {
		return nil, invalidArgument("invalid status %q (expected: a task state such as %s)", req.Status, a2a.TaskStateWorking)
	}
	behind, err := parsePage(req.PageToken)
	if err != nil {
		return nil, err
	}
	places, err := s.callerContexts(ctx, c, req.ContextID)
	if err != nil {
		return nil, err
	}
	var all []listed
	for _, p := range places {
		err := s.read(ctx, c, p, func(t *foldState) { all = append(all, matchingTasks(t, p, req)...) })
		if err != nil && !errors.Is(err, errNoTask) {
			return nil, err
		}
	}
	slices.SortFunc(all, compareNewest)
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, TotalSize: len(all), PageSize: size}
	if behind != nil {
		all = slices.DeleteFunc(all, func(l listed) bool { return compareNewest(l, *behind) <= 0 })
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
		t, err := s.taskResult(ctx, c, l.place, l.task, l.modes, req.HistoryLength, maxListed)
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
		return nil, invalidArgument("invalid pageToken (expected: nextPageToken of an earlier response)")
	}
	return &listed{at: time.Unix(0, p.At), id: p.ID}, nil
}

// allStates are the states of a task.
var allStates = []a2a.TaskState{
	a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
	a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled, a2a.TaskStateRejected,
}

// matchingTasks returns the tasks of a conversation that match a list request.
func matchingTasks(t *foldState, p *conversationInfo, req *a2a.ListTasksRequest) []listed {
	if req.ContextID != "" && p.context != req.ContextID {
		return nil
	}
	var out []listed
	for _, id := range t.tasks.tasks() {
		task := t.tasks.task(id)
		l := listed{id: id, place: p, task: task, modes: t.tasks.modes(id)}
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

// callerContexts returns the conversations of the caller at its agent, latest event first. It looks
// up a contextId that the caller named, and never creates it.
func (s *Server) callerContexts(ctx context.Context, c *caller, contextID string) ([]*conversationInfo, error) {
	sessions, err := s.isDeterministic(ctx, c)
	if err != nil {
		return nil, err
	}
	if contextID != "" && !sessions {
		id := contextID
		if !isHubID(id) {
			id = parley.DerivedConversationID(c.client.AgentID(), contextKey(c.agent, id))
		}
		p, err := s.locate(ctx, c, id)
		if errors.Is(err, errNoTask) {
			return nil, nil
		}
		return []*conversationInfo{p}, err
	}
	var all []*conversationInfo
	moved := map[*conversationInfo]time.Time{}
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
	slices.SortStableFunc(all, func(a, b *conversationInfo) int { return moved[b].Compare(moved[a]) })
	return all[:min(len(all), maxContexts)], nil
}

// locateRow is locate for a listed conversation. It returns nil for one that is not of the caller
// at this agent.
func (s *Server) locateRow(ctx context.Context, c *caller, row *parley.ConversationSummary) (*conversationInfo, error) {
	if !slices.Contains(row.Participants, c.client.AgentID()) {
		return nil, nil // the list of an admin has all conversations
	}
	p, err := s.locate(ctx, c, row.ConversationID)
	if errors.Is(err, errNoTask) {
		return nil, nil
	}
	return p, err
}
