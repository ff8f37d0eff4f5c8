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

// maxID bounds a messageId and a contextId, in bytes.
const maxID = 1024

// sent is where a message is.
type sent struct {
	place *place
	task  a2a.TaskID
	seq   int64
}

func (s *Server) send(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	at, err := s.say(ctx, c, req)
	if err != nil {
		return nil, err
	}
	config := configOf(req)
	task, answer, err := s.settle(ctx, c, at, config.ReturnImmediately)
	if err != nil {
		return nil, err
	}
	if answer != nil && !config.ReturnImmediately {
		answer.ContextID = at.place.context
		e, err := s.resolve(ctx, c, at.place.conversation, config.AcceptedOutputModes, answer)
		if m, ok := e.(*a2a.Message); err == nil && ok {
			return m, nil
		}
		return nil, errOr(err, "a message became something else")
	}
	return s.show(ctx, c, at.place, task, config.AcceptedOutputModes, config.HistoryLength, maxHistory)
}

func (s *Server) stream(ctx context.Context, c *caller, req *a2a.SendMessageRequest) iter.Seq2[update, error] {
	return func(yield func(update, error) bool) {
		at, err := s.say(ctx, c, req)
		if err != nil {
			yield(update{}, err)
			return
		}
		f := &follow{
			server: s, caller: c, place: at.place, task: at.task, from: &cursor{seq: at.seq}, said: true, history: configOf(req).HistoryLength, yield: yield,
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

// settle waits until a task has ended or waits for its caller, unless it is to answer at once. The answer is not nil where there is to be a message and no task.
func (s *Server) settle(ctx context.Context, c *caller, at *sent, atOnce bool) (task *a2a.Task, answer *a2a.Message, err error) {
	task, answer, seen, err := s.standing(ctx, c, at)
	if err != nil || atOnce || seen >= at.seq && settled(task.Status.State) {
		return task, answer, err
	}
	// A subscription ends with ctx at once, where a wait would stay with the hub for its time.
	for n, err := range c.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: at.place.conversation, SinceSeq: seen}) {
		switch {
		case err != nil:
			return nil, nil, err
		case n.Event == nil || n.Event.Seq <= seen:
			continue
		}
		if task, answer, seen, err = s.standing(ctx, c, at); err != nil || settled(task.Status.State) {
			return task, answer, err
		}
	}
	return nil, nil, parley.Refuse(parley.ErrUnavailable, "the log is followed no longer", "")
}

// standing reads a task as it stands, and how far the log was read for it.
func (s *Server) standing(ctx context.Context, c *caller, at *sent) (task *a2a.Task, answer *a2a.Message, seen int64, err error) {
	err = s.read(ctx, c, at.place, func(t *tape) {
		seen, task, answer = t.seen, t.ledger.task(at.task), t.ledger.bare(at.task)
	})
	if err == nil && task == nil {
		err = fmt.Errorf("a2a: task %s is not in its log", at.task)
	}
	return task, answer, seen, err
}

// settled reports whether a task has ended or waits for its caller.
func settled(state a2a.TaskState) bool {
	return state.Terminal() || state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired
}

// say appends a message, or finds it where it was appended before, and makes the push configuration that comes with it. Who was told of a failure in between
// says the same again.
func (s *Server) say(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (*sent, error) {
	if err := s.checkSend(c, req); err != nil {
		return nil, err
	}
	push, err := s.checkPush(c, req)
	if err != nil {
		return nil, err
	}
	var at *sent
	session := false
	if req.Message.TaskID == "" {
		if session, err = s.deterministic(ctx, c); err != nil {
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

// checkSend holds a request against the rules that need no log.
func (s *Server) checkSend(c *caller, req *a2a.SendMessageRequest) error {
	m := req.Message
	switch {
	case m == nil:
		return wrong("message is missing")
	case m.ID == "":
		return wrong("message.messageId is missing")
	case len(m.ID) > maxID || !utf8.ValidString(m.ID):
		return wrong("message.messageId is UTF-8 of at most %d bytes", maxID)
	case len(m.ContextID) > maxID || !utf8.ValidString(m.ContextID):
		return wrong("message.contextId is UTF-8 of at most %d bytes", maxID)
	case m.Role != a2a.MessageRoleUser:
		return wrong("message.role is %q: a client's is ROLE_USER", m.Role)
	case len(m.Parts) == 0:
		return wrong("message.parts is empty")
	}
	if n := configOf(req).HistoryLength; n != nil && *n < 0 {
		return wrong("configuration.historyLength is negative")
	}
	var takes modes
	if len(c.agent.InputModes) > 0 {
		takes = modesOf(c.agent.InputModes)
	}
	for i, p := range m.Parts {
		if p == nil || p.Content == nil {
			return wrong("message.parts[%d] is empty", i)
		}
		if kind := typeOf(p); !takes.take(kind) {
			return fmt.Errorf("%w: message.parts[%d] is %s; this agent takes %s", a2a.ErrUnsupportedContentType, i, kind, strings.Join(c.agent.InputModes, ", "))
		}
	}
	return nil
}

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{a2a.ErrInvalidParams}, args...)...)
}

func errOr(err error, what string) error {
	if err != nil {
		return err
	}
	return errors.New("a2a: " + what)
}

// spoken is the clientRequestId of a message.
func spoken(messageID string) string {
	key := "a2a:" + messageID
	if len(key) > parley.MaxKeyBytes || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError }) {
		return "a2a#" + digest(messageID)
	}
	return key
}

// standing is where a caller stands in a conversation before it speaks.
type standing struct {
	seen, turn int64
	met        int64 // where this very message is already; 0: nowhere
	live       a2a.TaskID
	waits      bool
	task       *a2a.Task // the one that the message names
}

// append says a message in a conversation.
func (s *Server) append(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (*sent, error) {
	m := req.Message
	p, err := s.whither(ctx, c, m)
	if err != nil {
		return nil, err
	}
	at, err := s.stand(ctx, c, p, m)
	if err != nil {
		return nil, err
	}
	if at.met == 0 {
		if err := at.admits(m); err != nil {
			return nil, err
		}
	}
	r, err := s.post(ctx, c, p, at, req)
	switch {
	case at.met != 0 && errors.Is(err, parley.ErrConversationClosed): // a file of it cannot be brought again
		r = &parley.SendResult{Seq: at.met}
	case err != nil:
		return nil, refused(err)
	}
	out := &sent{place: p, task: m.TaskID, seq: r.Seq}
	if out.task == "" {
		out.task = taskID(p.conversation, r.Seq)
	}
	return out, nil
}

// whither finds the conversation that a message goes to.
func (s *Server) whither(ctx context.Context, c *caller, m *a2a.Message) (*place, error) {
	if m.TaskID == "" {
		return s.enter(ctx, c, m)
	}
	p, err := s.find(ctx, c, m.TaskID)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// stand looks where the caller stands. A task that is not the caller's is not there.
func (s *Server) stand(ctx context.Context, c *caller, p *place, m *a2a.Message) (*standing, error) {
	if p.fresh {
		return &standing{seen: p.last, turn: 1}, nil
	}
	var at standing
	err := s.read(ctx, c, p, func(t *tape) {
		key := spoken(m.ID)
		at = standing{seen: t.seen, turn: t.turn, met: t.said[key]}
		at.live, at.waits = t.ledger.live()
		if m.TaskID != "" {
			at.task = t.ledger.task(m.TaskID)
		}
	})
	switch {
	case err != nil:
		return nil, err
	case m.TaskID != "" && at.task == nil:
		return nil, errNoTask
	case m.TaskID != "" && m.ContextID != "" && m.ContextID != p.context:
		return nil, wrong("message.contextId is not that of task %s", m.TaskID)
	}
	return &at, nil
}

// admits reports why a message cannot be said now.
func (at *standing) admits(m *a2a.Message) error {
	switch {
	case m.TaskID != "" && at.task.Status.State.Terminal():
		return unsupported("task %s has ended (%s) and takes no more messages; send without taskId to begin another in the same context", m.TaskID, at.task.Status.State)
	case at.live != "" && !at.waits:
		return unsupported("task %s is working and takes no message now; wait until it is done or asks for input (SubscribeToTask), or cancel it", at.live)
	}
	return nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{a2a.ErrUnsupportedOperation}, args...)...)
}

// post appends the message. It is refused where anything has moved since the caller stood there: so of two that are said at once one is taken.
func (s *Server) post(ctx context.Context, c *caller, p *place, at *standing, req *a2a.SendMessageRequest) (*parley.SendResult, error) {
	m := req.Message
	body, err := s.putParts(ctx, c.client, p.conversation, m, payloadFor(req))
	if err != nil {
		return nil, err
	}
	q := &parley.SendMessageParams{ConversationID: p.conversation, Payload: body, Finality: parley.FinalityTurn, ClientRequestID: spoken(m.ID)}
	if at.met == 0 {
		q.Turn, q.AfterSeq = at.turn, &at.seen
	}
	return c.client.SendMessage(ctx, q)
}

// payloadFor gives what of a request has no other place in a payload.
func payloadFor(req *a2a.SendMessageRequest) *payload {
	m := req.Message
	p := &payload{
		MessageID: m.ID, TaskID: string(m.TaskID), Metadata: untraced(m.Metadata), Extensions: m.Extensions,
		AcceptedOutputModes: configOf(req).AcceptedOutputModes,
	}
	for _, id := range m.ReferenceTasks {
		p.ReferenceTasks = append(p.ReferenceTasks, string(id))
	}
	return p
}

// refused says in the words of A2A why the hub has not taken a message.
func refused(err error) error {
	switch {
	case errors.Is(err, parley.ErrNotYourTurn), errors.Is(err, parley.ErrTurnConflict), errors.Is(err, parley.ErrTurnClosed):
		return fmt.Errorf("%w: somebody else is speaking in this context; wait until its task is done or asks for input: %w", a2a.ErrUnsupportedOperation, err)
	case errors.Is(err, parley.ErrIdempotencyConflict):
		return fmt.Errorf("%w: message.messageId was used for another message: use a new one", a2a.ErrInvalidParams)
	case errors.Is(err, parley.ErrConversationClosed):
		return fmt.Errorf("%w: the context has ended; begin another, without contextId or with a new one: %w", a2a.ErrUnsupportedOperation, err)
	}
	return hidden(err)
}

// start begins a session with a deterministic agent: each message is one.
func (s *Server) start(ctx context.Context, c *caller, req *a2a.SendMessageRequest) (*sent, error) {
	m := req.Message
	if made(m.ContextID) {
		if _, err := s.locate(ctx, c, m.ContextID); errors.Is(err, errNoTask) {
			return nil, errNoContext
		} else if err != nil {
			return nil, err
		}
	}
	params := &parley.StartSessionParams{AgentName: c.agent.Speaks, Mode: parley.ModeAsyncPoll, ClientRequestID: messageKey(c.agent, m.ID)}
	if err := parameters(params, m.Parts); err != nil {
		return nil, err
	}
	var err error
	if params.Metadata, err = marked(nil, mark{Agent: c.agent.Name, ContextID: m.ContextID, MessageID: m.ID}); err != nil {
		return nil, err
	}
	session, err := c.client.StartSession(ctx, params)
	if errors.Is(err, parley.ErrNotFound) {
		return nil, parley.Refuse(parley.ErrUnavailable, "nobody runs "+c.agent.Speaks+" now", "")
	}
	if err != nil {
		return nil, refused(err)
	}
	p, err := s.locate(ctx, c, session.SessionID)
	if err != nil {
		return nil, err
	}
	at := &sent{place: p}
	err = s.read(ctx, c, p, func(t *tape) {
		if all := t.ledger.tasks(); len(all) > 0 {
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

// parameters are the one data part of a message, or its text.
func parameters(to *parley.StartSessionParams, parts a2a.ContentParts) error {
	var texts []string
	for i, p := range parts {
		switch v := p.Content.(type) {
		case a2a.Text:
			texts = append(texts, string(v))
		case a2a.Data:
			raw, err := json.Marshal(v.Value)
			if err != nil || len(raw) == 0 || raw[0] != '{' {
				return wrong("message.parts[%d].data is to be an object: the parameters of the agent", i)
			}
			if to.Parameters != nil {
				return wrong("message.parts[%d]: this agent takes one data part with its parameters", i)
			}
			to.Parameters = raw
		default:
			return fmt.Errorf("%w: message.parts[%d] is a file: this agent takes one data part with its parameters, or text", a2a.ErrUnsupportedContentType, i)
		}
	}
	if to.Parameters != nil && len(texts) > 0 {
		return wrong("message.parts: this agent takes one data part with its parameters, or text, not both")
	}
	to.Prompt = strings.Join(texts, "\n\n")
	return nil
}
