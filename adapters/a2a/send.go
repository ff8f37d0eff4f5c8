package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// maxID limits a messageId and a contextId, in bytes.
const maxID = 1024

// sentMessage is the position of a message.
type sentMessage struct {
	place *conversationInfo
	task  a2a.TaskID
	seq   int64
}

func (s *Server) send(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	at, err := s.postOnce(ctx, c, req)
	if err != nil {
		return nil, err
	}
	config := configOf(req)
	task, answer, err := s.waitSettled(ctx, c, at, config.ReturnImmediately)
	if err != nil {
		return nil, err
	}
	if answer != nil && !config.ReturnImmediately {
		answer.ContextID = at.place.context
		e, err := s.resolve(ctx, c, at.place.conversation, config.AcceptedOutputModes, answer)
		if m, ok := e.(*a2a.Message); err == nil && ok {
			return m, nil
		}
		return nil, errOr(err, "resolve did not return a message")
	}
	return s.taskResult(ctx, c, at.place, task, config.AcceptedOutputModes, config.HistoryLength, maxHistory)
}

func (s *Server) stream(ctx context.Context, c *caller, req *a2a.SendMessageRequest) iter.Seq2[update, error] {
	return func(yield func(update, error) bool) {
		at, err := s.postOnce(ctx, c, req)
		if err != nil {
			yield(update{}, err)
			return
		}
		f := &taskStream{
			server: s, caller: c, place: at.place, task: at.task, from: &cursor{seq: at.seq}, response: true,
			history: configOf(req).HistoryLength, yield: yield,
		}
		f.run(ctx)
	}
}

func configOf(req *a2a.SendMessageRequest) *a2a.SendMessageConfig {
	if req.Config == nil {
		return &a2a.SendMessageConfig{}
	}
	return req.Config
}

// waitSettled waits until a task ended or waits for its caller, unless atOnce is set. answer is
// not nil if the response is a message without a task.
func (s *Server) waitSettled(ctx context.Context, c *caller, at *sentMessage, atOnce bool) (task *a2a.Task,
	answer *a2a.Message, err error) {
	task, answer, seen, err := s.readTask(ctx, c, at)
	if err != nil || atOnce || seen >= at.seq && settled(task.Status.State) {
		return task, answer, err
	}
	// A subscription ends with ctx at once. A wait would stay at the hub until its timeout.
	for n, err := range c.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: at.place.conversation,
		SinceSeq: seen}) {
		switch {
		case err != nil:
			return nil, nil, err
		case n.Event == nil || n.Event.Seq <= seen:
			continue
		}
		if task, answer, seen, err = s.readTask(ctx, c, at); err != nil || settled(task.Status.State) {
			return task, answer, err
		}
	}
	return nil, nil, parley.Refuse(parley.ErrUnavailable, "the subscription to the log ended", "")
}

// readTask returns the current state of a task, and the seq up to which the log was read.
func (s *Server) readTask(ctx context.Context, c *caller, at *sentMessage) (task *a2a.Task, answer *a2a.Message,
	seen int64, err error) {
	err = s.read(ctx, c, at.place, func(t *foldState) {
		seen, task, answer = t.seen, t.tasks.task(at.task), t.tasks.messageAnswer(at.task)
	})
	if err == nil && task == nil {
		err = fmt.Errorf("a2a: task %s is not in its log", at.task)
	}
	return task, answer, seen, err
}

// settled reports whether a task ended or waits for its caller.
func settled(state a2a.TaskState) bool {
	return state.Terminal() || state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
}

// postOnce appends a message, or finds the one that was appended before, and creates its push
// configuration. After a failure, the caller repeats the request.
func (s *Server) postOnce(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (*sentMessage, error) {
	if err := s.checkSend(c, req); err != nil {
		return nil, err
	}
	push, err := s.checkPush(c, req)
	if err != nil {
		return nil, err
	}
	var at *sentMessage
	session := false
	if req.Message.TaskID == "" {
		if session, err = s.isDeterministic(ctx, c); err != nil {
			return nil, err
		}
	}
	if session {
		at, err = s.start(ctx, c, req)
	} else {
		at, err = s.append(ctx, c, req)
	}
	if err != nil || push == nil {
		return at, err
	}
	push.TaskID = at.task
	return at, s.beginPush(ctx, c, push, at.seq)
}

// checkSend checks a request against the rules that need no log.
func (s *Server) checkSend(c *caller, req *a2a.SendMessageRequest) error {
	m := req.Message
	switch {
	case m == nil:
		return invalidArgument("message is missing")
	case m.ID == "":
		return invalidArgument("message.messageId is missing")
	case len(m.ID) > maxID || !utf8.ValidString(m.ID):
		return invalidArgument("invalid message.messageId (expected: UTF-8 of at most %d bytes)", maxID)
	case len(m.ContextID) > maxID || !utf8.ValidString(m.ContextID):
		return invalidArgument("invalid message.contextId (expected: UTF-8 of at most %d bytes)", maxID)
	case m.Role != a2a.MessageRoleUser:
		return invalidArgument("invalid message.role %q (expected: ROLE_USER)", m.Role)
	case len(m.Parts) == 0:
		return invalidArgument("message.parts is empty")
	}
	if n := configOf(req).HistoryLength; n != nil && *n < 0 {
		return invalidArgument("configuration.historyLength is negative")
	}
	var takes modes
	if len(c.agent.InputModes) > 0 {
		takes = modesOf(c.agent.InputModes)
	}
	for i, p := range m.Parts {
		if p == nil || p.Content == nil {
			return invalidArgument("message.parts[%d] is empty", i)
		}
		if kind := typeOf(p); !takes.accepts(kind) {
			return fmt.Errorf("%w: message.parts[%d] is %s (expected: %s)", a2a.ErrUnsupportedContentType, i, kind,
				strings.Join(c.agent.InputModes, ", "))
		}
	}
	return nil
}

func invalidArgument(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{a2a.ErrInvalidParams}, args...)...)
}

func errOr(err error, what string) error {
	if err != nil {
		return err
	}
	return errors.New("a2a: " + what)
}

// messageRequestID returns the clientRequestId of a message.
func messageRequestID(messageID string) string {
	key := "a2a:" + messageID
	if len(key) > parley.MaxKeyBytes || strings.ContainsFunc(key, func(r rune) bool {
		return r < ' ' || r >= 0x7f &&
			r < 0xa0 || r == utf8.RuneError
	}) {
		return "a2a#" + digest(messageID)
	}
	return key
}

// position is the state of a conversation before the caller posts.
type position struct {
	seen, turn int64
	postedAt   int64 // seq of this message if it was posted before; 0 if not
	liveTask   a2a.TaskID
	waits      bool
	task       *a2a.Task // the task that the message names
}

// append posts a message in a conversation.
func (s *Server) append(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (*sentMessage, error) {
	m := req.Message
	p, err := s.conversationFor(ctx, c, m)
	if err != nil {
		return nil, err
	}
	at, err := s.positionOf(ctx, c, p, m)
	if err != nil {
		return nil, err
	}
	if at.postedAt == 0 {
		if err := at.checkAccepts(m); err != nil {
			return nil, err
		}
	}
	r, err := s.post(ctx, c, p, at, req)
	switch {
	case at.postedAt != 0 && errors.Is(err, parley.ErrConversationClosed): // a file of it cannot be stored again
		r = &parley.SendResult{Seq: at.postedAt}
	case err != nil:
		return nil, explainRefusal(err)
	}
	out := &sentMessage{place: p, task: m.TaskID, seq: r.Seq}
	if out.task == "" {
		out.task = taskID(p.conversation, r.Seq)
	}
	return out, nil
}

// conversationFor returns the conversation for a message.
func (s *Server) conversationFor(ctx context.Context, c *caller, m *a2a.Message) (*conversationInfo, error) {
	if m.TaskID == "" {
		return s.findOrCreateContext(ctx, c, m)
	}
	p, err := s.find(ctx, c, m.TaskID)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// positionOf reads the state of the conversation. It returns errNoTask for a task of another
// caller.
func (s *Server) positionOf(ctx context.Context, c *caller, p *conversationInfo, m *a2a.Message) (*position, error) {
	if p.created {
		return &position{seen: p.last, turn: 1}, nil
	}
	var at position
	err := s.read(ctx, c, p, func(t *foldState) {
		key := messageRequestID(m.ID)
		at = position{seen: t.seen, turn: t.turn, postedAt: t.postedAt[key]}
		at.liveTask, at.waits = t.tasks.liveTask()
		if m.TaskID != "" {
			at.task = t.tasks.task(m.TaskID)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case m.TaskID != "" && at.task == nil:
		return nil, errNoTask
	case m.TaskID != "" && m.ContextID != "" && m.ContextID != p.context:
		return nil, invalidArgument("message.contextId differs from that of task %s", m.TaskID)
	}
	return &at, nil
}

// checkAccepts returns an error if the message cannot be posted now.
func (at *position) checkAccepts(m *a2a.Message) error {
	switch {
	case m.TaskID != "" && at.task.Status.State.Terminal():
		return unsupported("task %s ended (%s) and accepts no more messages; send without taskId to begin another task "+
			"in the same context", m.TaskID, at.task.Status.State)
	case at.liveTask != "" && !at.waits:
		return unsupported("task %s is working and accepts no message now; wait until it ends or needs input "+
			"(SubscribeToTask), or cancel it", at.liveTask)
	}
	return nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{a2a.ErrUnsupportedOperation}, args...)...)
}

// post appends the message. The hub refuses it if the log has changed since at was read, so that
// only one of two simultaneous messages is accepted.
func (s *Server) post(ctx context.Context, c *caller, p *conversationInfo, at *position,
	req *a2a.SendMessageRequest) (*parley.SendResult, error) {
	m := req.Message
	body, err := s.putParts(ctx, c.client, p.conversation, m, payloadFor(req))
	if err != nil {
		return nil, err
	}
	q := &parley.SendMessageParams{ConversationID: p.conversation, Payload: body, Finality: parley.FinalityTurn,
		ClientRequestID: messageRequestID(m.ID)}
	if at.postedAt == 0 {
		q.Turn, q.AfterSeq = at.turn, &at.seen
	}
	return c.client.SendMessage(ctx, q)
}

// payloadFor returns the members of a request for payload.a2a.
func payloadFor(req *a2a.SendMessageRequest) *payload {
	m := req.Message
	p := &payload{
		MessageID: m.ID, TaskID: string(m.TaskID), Metadata: withoutTrace(m.Metadata), Extensions: m.Extensions,
		AcceptedOutputModes: configOf(req).AcceptedOutputModes,
	}
	for _, id := range m.ReferenceTasks {
		p.ReferenceTasks = append(p.ReferenceTasks, string(id))
	}
	return p
}

// explainRefusal converts a refusal of the hub to the words of A2A.
func explainRefusal(err error) error {
	switch {
	case errors.Is(err, parley.ErrNotYourTurn), errors.Is(err, parley.ErrTurnConflict),
		errors.Is(err, parley.ErrTurnClosed):
		return fmt.Errorf("%w: another participant has the turn in this context; wait until its task ends or needs "+
			"input: %w", a2a.ErrUnsupportedOperation, err)
	case errors.Is(err, parley.ErrIdempotencyConflict):
		return fmt.Errorf("%w: message.messageId was used for another message; use a new one", a2a.ErrInvalidParams)
	case errors.Is(err, parley.ErrConversationClosed):
		return fmt.Errorf("%w: the context is closed; begin another one, without contextId or with a new one: %w",
			a2a.ErrUnsupportedOperation, err)
	}
	return hideNotFound(err)
}

// start starts a session with a deterministic agent. Each message is a session.
func (s *Server) start(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (*sentMessage, error) {
	m := req.Message
	if isHubID(m.ContextID) {
		if _, err := s.locate(ctx, c, m.ContextID); errors.Is(err, errNoTask) {
			return nil, errNoContext
		} else if err != nil {
			return nil, err
		}
	}
	params := &parley.StartSessionParams{AgentName: c.agent.Speaks, Mode: parley.ModeAsyncPoll,
		ClientRequestID: messageKey(c.agent, m.ID)}
	if err := setParameters(params, m.Parts); err != nil {
		return nil, err
	}
	var err error
	if params.Metadata, err = addMark(nil, contextMark{Agent: c.agent.Name, ContextID: m.ContextID,
		MessageID: m.ID}); err != nil {
		return nil, err
	}
	session, err := c.client.StartSession(ctx, params)
	if errors.Is(err, parley.ErrNotFound) {
		return nil, parley.Refuse(parley.ErrUnavailable, "no runner of "+c.agent.Speaks+" is connected", "")
	}
	if err != nil {
		return nil, explainRefusal(err)
	}
	p, err := s.locate(ctx, c, session.SessionID)
	if err != nil {
		return nil, err
	}
	at := &sentMessage{place: p}
	err = s.read(ctx, c, p, func(t *foldState) {
		if all := t.tasks.tasks(); len(all) > 0 {
			at.task = all[0]
		}
	})
	if err != nil {
		return nil, err
	}
	var ok bool
	if _, at.seq, ok = splitTask(at.task); !ok {
		return nil, fmt.Errorf("a2a: session %s has no task", session.SessionID)
	}
	return at, nil
}

// setParameters sets the parameters to the single data part of a message, or the prompt to its
// text.
func setParameters(to *parley.StartSessionParams, parts a2a.ContentParts) error {
	var texts []string
	for i, p := range parts {
		switch v := p.Content.(type) {
		case a2a.Text:
			texts = append(texts, string(v))
		case a2a.Data:
			raw, err := json.Marshal(v.Value)
			if err != nil || len(raw) == 0 || raw[0] != '{' {
				return invalidArgument("invalid message.parts[%d].data (expected: an object with the parameters of the agent)", i)
			}
			if to.Parameters != nil {
				return invalidArgument("message.parts[%d] is a second data part (expected: one data part with the parameters of "+
					"the agent)", i)
			}
			to.Parameters = raw
		default:
			return fmt.Errorf("%w: message.parts[%d] is a file (expected: one data part with the parameters of the agent, or "+
				"text)", a2a.ErrUnsupportedContentType, i)
		}
	}
	if to.Parameters != nil && len(texts) > 0 {
		return invalidArgument("message.parts has data and text (expected: one data part with the parameters of the agent, " +
			"or text)")
	}
	to.Prompt = strings.Join(texts, "\n\n")
	return nil
}
