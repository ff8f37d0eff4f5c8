package mcp

import (
	"cmp"
	"context"
	"fmt"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// The states of a task. failed is not used: it is for protocol errors, and an agent that failed has
// a result with isError.
const (
	taskWorking   = "working"
	taskAsks      = "input_required"
	taskCompleted = "completed"
	taskCancelled = "cancelled"
)

// taskPollMs is the suggested interval between polls.
const taskPollMs = 1000

// task is a session in the form of a task.
type task struct {
	protocol.ResultBase
	ResultType    string           `json:"resultType"`
	TaskID        string           `json:"taskId"`
	Status        string           `json:"status"`
	StatusMessage string           `json:"statusMessage,omitempty"`
	CreatedAt     parley.Timestamp `json:"createdAt"`
	LastUpdatedAt parley.Timestamp `json:"lastUpdatedAt"`
	// TTLMs is null: the task exists as long as the hub keeps its log.
	TTLMs          *int64                   `json:"ttlMs"`
	PollIntervalMs int64                    `json:"pollIntervalMs"`
	InputRequests  protocol.InputRequestMap `json:"inputRequests,omitempty"`
	// Result is what the call would have returned without a task.
	Result *protocol.CallToolResult `json:"result,omitempty"`
}

// taskDone is an empty acknowledgment.
type taskDone struct {
	protocol.ResultBase
	ResultType string `json:"resultType"`
}

func viewTask(s *parley.Session) *task {
	t := &task{
		TaskID: s.SessionID, Status: taskWorking, CreatedAt: s.CreatedAt, LastUpdatedAt: cmp.Or(s.EndedAt, s.StartedAt,
			s.CreatedAt), PollIntervalMs: taskPollMs,
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
			Content: []protocol.Content{&protocol.TextContent{Text: view.text()}}, StructuredContent: view,
			IsError: s.Status == parley.SessionFailed,
		}
	}
	if s.Result != nil && s.Result.Error != "" {
		t.StatusMessage = cut(s.Result.Error, maxStatusChars)
	}
	return t
}

const (
	// maxStatusChars limits the status message of a task, and maxQuestionChars a question.
	maxStatusChars, maxQuestionChars = 500, 8000
	// answerField is the field of the form for the answer of a person.
	answerField = "answer"
)

// question is a question of a session to its caller.
type question struct {
	session string
	// key identifies the question within the session. Each question has a separate turn.
	key string
	// latest is the last seq of the session when the question was read.
	latest int64
}

func questionOf(ctx context.Context, c parley.Client, s *parley.Session) (*question, error) {
	g, err := c.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: s.SessionID})
	if err != nil {
		return nil, err
	}
	return &question{s.SessionID, fmt.Sprintf("turn-%d", g.Guidance.Turn), g.LatestSeq}, nil
}

// addQuestion adds the question of a session to the task if the client supports forms. For other
// clients the task stays "working", and its status message names the question.
func (t *task) addQuestion(ctx context.Context, c parley.Client, s *parley.Session, forms bool) error {
	if !forms {
		t.StatusMessage = viewSession(s).Next
		return nil
	}
	q, err := questionOf(ctx, c, s)
	if err != nil {
		return taskError(err)
	}
	text := s.AgentName + " waits for an answer."
	if s.Result != nil && s.Result.ResultText != nil {
		text = *s.Result.ResultText
	}
	t.Status = taskAsks
	t.InputRequests = protocol.InputRequestMap{q.key: &protocol.ElicitParams{Mode: "form",
		Message: cut(text, maxQuestionChars), RequestedSchema: answerSchema}}
	return nil
}

var answerSchema = map[string]any{
	"type": "object", "required": []string{answerField},
	"properties": map[string]any{answerField: map[string]any{"type": "string", "title": "Answer", "minLength": 1}},
}

// postAnswer posts the answer once, and only if no message followed the question.
func (q *question) postAnswer(ctx context.Context, c parley.Client, text string) error {
	payload, err := messagePayload(text, nil)
	if err != nil {
		return protocolError(err, hints{})
	}
	_, err = c.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: q.session, Payload: payload, Finality: parley.FinalityTurn, AfterSeq: &q.latest,
		ClientRequestID: "mcp-task-" + q.key,
	})
	if err != nil && !isObsolete(err) {
		return protocolError(err, hints{conversation: q.session})
	}
	return nil
}
