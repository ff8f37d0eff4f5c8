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

// tasksExtension is the extension of the protocol by which the answer to a call may be a task. Here a task is a session of an agent: it is in the hub's log
// before anybody hears of its id, and whoever may read the session may ask for the task.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskTool is the tool whose answer may be a task.
const taskTool = "start_agent_session"

// offer is to whom a tool may answer with a task.
type offer struct {
	session *parley.Session // what the task is; nil: the answer is the tool's
}

func (s *Server) givesTasks() bool { return s.serves(Agents) && !s.opts.ReadOnly }

func (s *Server) addTasks() {
	s.meets["tools/call"] = s.meetCall
	s.meets["server/discover"] = declared("server/discover")
	s.meets["initialize"] = declared("initialize")
	for _, err := range []error{
		protocol.AddReceivingCustomMethod(s.Server, "tasks/get", s.getTask),
		protocol.AddReceivingCustomMethod(s.Server, "tasks/update", s.updateTask),
		protocol.AddReceivingCustomMethod(s.Server, "tasks/cancel", s.cancelTask),
	} {
		if err != nil {
			panic(fmt.Sprintf("mcp: %v", err)) // the library has a method of that name
		}
	}
}

// tasks reports whether a request says that its client knows tasks.
func (o *origin) tasks() bool { return o.able.Extensions[tasksExtension] != nil }

// declared tells of tasks only who asks with tasks.
func declared(method string) meeting {
	return func(ctx context.Context, o *origin, req protocol.Request, next protocol.MethodHandler) (protocol.Result, error) {
		got, err := next(ctx, method, req)
		if err != nil || o.tasks() {
			return got, err
		}
		var caps *protocol.ServerCapabilities // of this answer alone
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

// meetCall answers a call with a task, where the tool has begun one and the client knows them.
func (s *Server) meetCall(ctx context.Context, o *origin, req protocol.Request, next protocol.MethodHandler) (protocol.Result, error) {
	r, ok := req.(*protocol.CallToolRequest)
	if ok && r.Params.Name == taskTool && o.tasks() {
		o.offer = &offer{}
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

// id is empty where a request has no parameters.
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

// taskClient gives the client of who asks for a task, if it knows tasks.
func (s *Server) taskClient(ctx context.Context, id string) (parley.Client, func(), error) {
	o := originOf(ctx)
	if !o.tasks() {
		need := map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}}}
		return nil, nil, &jsonrpc.Error{
			Code: protocol.CodeMissingRequiredClientCapabilities, Message: "the request does not declare the extension " + tasksExtension, Data: json.RawMessage(encoded(need)),
		}
	}
	if id == "" {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "taskId is missing"}
	}
	client, release, err := s.opts.Connect(ctx, o.extra)
	if err != nil {
		return nil, nil, fault(err, hints{})
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
		return nil, taskFault(err)
	}
	t := viewTask(session)
	t.ResultType = "complete"
	if session.Status != parley.SessionInputRequired {
		return t, nil
	}
	if err := t.ask(ctx, client, session, originOf(ctx).able.forms()); err != nil {
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
		return nil, taskFault(err)
	}
	return &taskDone{ResultType: "complete"}, nil
}

// updateTask hands on the answer to the question that the task asks now. Answers to others are passed over, as the extension wants it: the same answer again
// says nothing twice.
func (s *Server) updateTask(ctx context.Context, _ *protocol.ServerSession, p *updateTaskParams) (*taskDone, error) {
	client, release, err := s.taskClient(ctx, p.id())
	if err != nil {
		return nil, err
	}
	defer release()
	session, err := client.GetSession(ctx, &parley.GetSessionParams{SessionID: p.TaskID})
	if err != nil {
		return nil, taskFault(err)
	}
	done := &taskDone{ResultType: "complete"}
	if session.Status != parley.SessionInputRequired {
		return done, nil
	}
	q, err := questionOf(ctx, client, session)
	if err != nil {
		return nil, taskFault(err)
	}
	answer, ok := p.InputResponses[q.key]
	if !ok {
		return done, nil
	}
	text, err := answerText(answer)
	if err == nil && text != "" {
		err = q.answer(ctx, client, text)
	}
	if err != nil {
		return nil, err
	}
	return done, nil
}

// taskFault is why a task cannot be had. One of somebody else is not there.
func taskFault(err error) error {
	switch parley.ErrorRowOf(err).Err {
	case parley.ErrNotFound, parley.ErrValidationFailed, parley.ErrInvalidRequest:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such task"}
	}
	return fault(err, hints{})
}

// passed reports whether an answer was refused because its question is no more.
func passed(err error) bool {
	for _, over := range []error{parley.ErrTurnConflict, parley.ErrTurnClosed, parley.ErrNotYourTurn, parley.ErrConversationClosed, parley.ErrIdempotencyConflict} {
		if errors.Is(err, over) {
			return true
		}
	}
	return false
}

// answerText is what a person answers; empty when the question stays.
func answerText(raw json.RawMessage) (string, error) {
	var r struct {
		Action  string         `json:"action"`
		Content map[string]any `json:"content"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the response is no answer: expected action and content"}
	}
	switch r.Action {
	case "accept":
		text, _ := r.Content[answerField].(string)
		if strings.TrimSpace(text) == "" {
			return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the response has no text: expected content." + answerField}
		}
		return text, nil
	case "decline":
		return "I do not want to answer this.", nil
	}
	return "", nil
}
