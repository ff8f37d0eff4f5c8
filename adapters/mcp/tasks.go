package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// tasksExtension is the protocol extension in which the result of a call may be a task. Here a task
// is a session of an agent. It is in the log of the hub before the client receives its id, and a
// caller that may read the session may get the task.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskTool is the tool whose result may be a task.
const taskTool = "start_agent_session"

// taskOffer lets a tool answer with a task.
type taskOffer struct {
	session *parley.Session // the session of the task; nil if the tool returns its own result
}

func (s *Server) offersTasks() bool { return s.serves(Agents) && !s.opts.ReadOnly }

func (s *Server) addTasks() {
	s.handlers["tools/call"] = s.handleToolCall
	s.handlers["server/discover"] = hideTasks("server/discover")
	s.handlers["initialize"] = hideTasks("initialize")
	for _, err := range []error{
		protocol.AddReceivingCustomMethod(s.Server, "tasks/get", s.getTask),
		protocol.AddReceivingCustomMethod(s.Server, "tasks/update", s.updateTask),
		protocol.AddReceivingCustomMethod(s.Server, "tasks/cancel", s.cancelTask),
	} {
		if err != nil {
			panic(fmt.Sprintf("mcp: %v", err)) // the library already has the method
		}
	}
}

// declaresTasks reports whether the request declares the tasks extension.
func (o *requestInfo) declaresTasks() bool { return o.capabilities.Extensions[tasksExtension] != nil }

// hideTasks announces tasks only to clients that declare them.
func hideTasks(method string) methodHandler {
	return func(ctx context.Context, o *requestInfo, req protocol.Request, next protocol.MethodHandler) (protocol.Result,
		error) {
		got, err := next(ctx, method, req)
		if err != nil || o.declaresTasks() {
			return got, err
		}
		var caps *protocol.ServerCapabilities // a copy for this response
		switch r := got.(type) {
		case *protocol.DiscoverResult:
			caps = r.Capabilities
		case *protocol.InitializeResult:
			caps = r.Capabilities
		}
		if caps == nil {
			return got, nil
		}
		if delete(caps.Extensions, tasksExtension); len(caps.Extensions) == 0 {
			caps.Extensions = nil
		}
		return got, nil
	}
}

// handleToolCall answers with a task if the tool has started a session for a client that declares
// tasks.
func (s *Server) handleToolCall(ctx context.Context, o *requestInfo, req protocol.Request,
	next protocol.MethodHandler) (protocol.Result, error) {
	r, ok := req.(*protocol.CallToolRequest)
	if ok && r.Params.Name == taskTool && o.declaresTasks() {
		o.offer = &taskOffer{}
	}
	got, err := next(ctx, "tools/call", req)
	if err != nil || o.offer == nil || o.offer.session == nil {
		return got, err
	}
	t := viewTask(o.offer.session)
	t.ResultType = "task"
	t.Status, t.Result = taskWorking, nil
	return t, nil
}

type taskParams struct {
	protocol.ParamsBase
	TaskID string `json:"taskId"`
}

type updateTaskParams struct {
	protocol.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
}

// id returns "" for a request without params.
func (p *taskParams) id() string {
	if p == nil {
		return ""
	}
	return p.TaskID
}

func (p *updateTaskParams) id() string {
	if p == nil {
		return ""
	}
	return p.TaskID
}

// taskClient returns the client of a caller that declares tasks.
func (s *Server) taskClient(ctx context.Context, id string) (parley.Client, func(), error) {
	o := requestInfoOf(ctx)
	if !o.declaresTasks() {
		extensions := map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}}
		need := map[string]any{"requiredCapabilities": extensions}
		return nil, nil, &jsonrpc.Error{
			Code: protocol.CodeMissingRequiredClientCapabilities, Message: "the request does not declare the extension " +
				tasksExtension, Data: json.RawMessage(jsonText(need)),
		}
	}
	if id == "" {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "taskId is missing"}
	}
	client, release, err := s.opts.Connect(ctx, o.extra)
	if err != nil {
		return nil, nil, protocolError(err, hints{})
	}
	return client, release, nil
}

func (s *Server) getTask(ctx context.Context, _ *protocol.ServerSession, p *taskParams) (*task, error) {
	client, release, err := s.taskClient(ctx, p.id())
	if err != nil {
		return nil, err
	}
	defer release()
	session, err := client.GetSession(ctx, &parley.GetSessionParams{SessionID: p.TaskID})
	if err != nil {
		return nil, taskError(err)
	}
	t := viewTask(session)
	t.ResultType = "complete"
	if session.Status != parley.SessionInputRequired {
		return t, nil
	}
	if err := t.addQuestion(ctx, client, session, requestInfoOf(ctx).capabilities.supportsForms()); err != nil {
		return nil, err
	}
	return t, nil
}

func (s *Server) cancelTask(ctx context.Context, _ *protocol.ServerSession, p *taskParams) (*taskDone, error) {
	client, release, err := s.taskClient(ctx, p.id())
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := client.StopSession(ctx, &parley.StopSessionParams{SessionID: p.TaskID}); err != nil {
		return nil, taskError(err)
	}
	return &taskDone{ResultType: "complete"}, nil
}

// updateTask posts the answer to the current question of the task. As the extension requires, it
// ignores answers to other questions, so a repeated answer has no effect.
func (s *Server) updateTask(ctx context.Context, _ *protocol.ServerSession, p *updateTaskParams) (*taskDone, error) {
	client, release, err := s.taskClient(ctx, p.id())
	if err != nil {
		return nil, err
	}
	defer release()
	session, err := client.GetSession(ctx, &parley.GetSessionParams{SessionID: p.TaskID})
	if err != nil {
		return nil, taskError(err)
	}
	done := &taskDone{ResultType: "complete"}
	if session.Status != parley.SessionInputRequired {
		return done, nil
	}
	q, err := questionOf(ctx, client, session)
	if err != nil {
		return nil, taskError(err)
	}
	answer, ok := p.InputResponses[q.key]
	if !ok {
		return done, nil
	}
	text, err := answerText(answer)
	if err == nil && text != "" {
		err = q.postAnswer(ctx, client, text)
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// taskError converts an error of the hub. A task of another caller does not exist.
func taskError(err error) error {
	switch parley.ErrorRowOf(err).Err {
	case parley.ErrNotFound, parley.ErrValidationFailed, parley.ErrInvalidRequest:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such task"}
	}
	return protocolError(err, hints{})
}

// isObsolete reports whether an answer was refused because its question is no longer current.
func isObsolete(err error) bool {
	for _, over := range []error{parley.ErrTurnConflict, parley.ErrTurnClosed, parley.ErrNotYourTurn,
		parley.ErrConversationClosed, parley.ErrIdempotencyConflict} {
		if errors.Is(err, over) {
			return true
		}
	}
	return false
}

// answerText returns the answer of a person. It is empty if the question remains open.
func answerText(raw json.RawMessage) (string, error) {
	var r struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid response (expected: action and content)"}
	}
	switch r.Action {
	case "accept":
		text, _ := r.Content[answerField].(string)
		if strings.TrimSpace(text) == "" {
			return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
				Message: "missing text in the response (expected: content." + answerField + ")"}
		}
		return text, nil
	case "decline":
		return "I do not want to answer this.", nil
	}
	return "", nil
}
