package mcp

import (
	"cmp"
	"context"
	"fmt"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// The states of a task that are used here. failed is for errors of the protocol: an agent that has failed has given a result, which says so.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskCancelled = "cancelled"
)

// taskPollMs is how often a client is to ask.
const taskPollMs = 1000

// task is a session as a task.
type task struct {
	protocol.ResultBase
	ResultType    string           `json:"resultType"`
	TaskID        string           `json:"taskId"`
	Status        string           `json:"status"`
	StatusMessage string           `json:"statusMessage,omitempty"`
	CreatedAt     parley.Timestamp `json:"createdAt"`
	LastUpdatedAt parley.Timestamp `json:"lastUpdatedAt"`
	// TTLMs is null: as long as the hub keeps its log.
	TTLMs          *int64                   `json:"ttlMs"`
	PollIntervalMs int64                    `json:"pollIntervalMs"`
	InputRequests  protocol.InputRequestMap `json:"inputRequests,omitempty"`
	// Result is what the call would have answered.
	Result *protocol.CallToolResult `json:"result,omitempty"`
}

// taskDone acknowledges.
type taskDone struct {
	protocol.ResultBase
	ResultType string `json:"resultType"`
}

func viewTask(s *parley.Session) *task {
	t := &task{
		TaskID: s.SessionID, Status: taskWorking, CreatedAt: s.CreatedAt, LastUpdatedAt: cmp.Or(s.EndedAt, s.StartedAt, s.CreatedAt), PollIntervalMs: taskPollMs,
		StatusMessage: s.AgentName + " is " + string(s.Status) + ".",
	}
	if s.Progress != nil {
		t.StatusMessage = cut(s.Progress.Text, maxStatusChars)
	}
	switch s.Status {
	case parley.SessionStopped:
		t.Status = taskCancelled
	case parley.SessionCompleted, parley.SessionFailed:
		view := viewSession(s)
		t.Status = taskCompleted
		t.Result = &protocol.CallToolResult{
			Content: []protocol.Content{&protocol.TextContent{Text: view.text()}}, StructuredContent: view, IsError: s.Status == parley.SessionFailed,
		}
	}
	if s.Result != nil && s.Result.Error != "" {
		t.StatusMessage = cut(s.Result.Error, maxStatusChars)
	}
	return t
}

const (
	// maxStatusChars bounds what is told of how a task stands, and maxQuestionChars a question.
	maxStatusChars, maxQuestionChars = 500, 8000
	// answerField is the field of the form in which a person answers.
	answerField = "answer"
)

// question is what a session wants to know of its caller.
type question struct {
	session string
	// key names it among all questions of the session: each is asked in a turn of its own.
	key string
	// latest is where the log of the session stood.
	latest int64
}

func questionOf(ctx context.Context, c parley.Client, s *parley.Session) (*question, error) {
	g, err := c.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: s.SessionID})
	if err != nil {
		return nil, err
	}
	return &question{s.SessionID, fmt.Sprintf("turn-%d", g.Guidance.Turn), g.LatestSeq}, nil
}

// ask puts the question of a session into the task, for a client that can ask its user. For others the task goes on, and says what it waits for.
func (t *task) ask(ctx context.Context, c parley.Client, s *parley.Session, forms bool) error {
	if !forms {
		t.StatusMessage = viewSession(s).Next
		return nil
	}
	q, err := questionOf(ctx, c, s)
	if err != nil {
		return taskFault(err)
	}
	text := s.AgentName + " waits for an answer."
	if s.Result != nil && s.Result.ResultText != nil {
		text = *s.Result.ResultText
	}
	t.Status = taskAsks
	t.InputRequests = protocol.InputRequestMap{q.key: &protocol.ElicitParams{Mode: "form", Message: cut(text, maxQuestionChars), RequestedSchema: answerSchema}}
	return nil
}

var answerSchema = map[string]any{
	"type": "object", "required": []string{answerField},
	"properties": map[string]any{answerField: map[string]any{"type": "string", "title": "Answer", "minLength": 1}},
}

// answer says the answer in the session, once, and only if the question is still the last that was said.
func (q *question) answer(ctx context.Context, c parley.Client, text string) error {
	payload, err := messageOf(text, nil)
	if err != nil {
		return fault(err, hints{})
	}
	_, err = c.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: q.session, Payload: payload, Finality: parley.FinalityTurn, AfterSeq: &q.latest, ClientRequestID: "mcp-task-" + q.key,
	})
	if err != nil && !passed(err) {
		return fault(err, hints{conversation: q.session})
	}
	return nil
}
