package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// opsWorld is a hub, an adapter and the agent bot, which acts on the text of a message:
//
//	ask                  asks a question
//	bare                 answers with a message instead of a task
//	fail, reject, auth   sets the state of the task
//	hold                 posts "working", and answers when the test opens its gate
//	close                closes the conversation
//	pass                 yields its turn
//	...                  answers "bot: ..."
type opsWorld struct {
	t testing.TB
	h *sdktest.Hub
	s *Server

	mu    sync.Mutex // guards the field below
	gates map[string]chan struct{}
}

func newOpsWorld(t testing.TB, agents ...Agent) *opsWorld {
	t.Helper()
	if len(agents) == 0 {
		agents = []Agent{{Name: "bot", Speaks: "bot"}, {Name: "room", Speaks: "bot", Room: true}}
	}
	w := &opsWorld{t: t, h: sdktest.NewHub(t), gates: map[string]chan struct{}{}}
	var err error
	w.s, err = New(&Options{
		Agents:  agents,
		Connect: func(*http.Request) (parley.Client, func(), error) { return nil, nil, errors.New("not used") },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.run("bot", parley.AgentFunc(w.turn))
	return w
}

// run serves an agent with an executor until the test ends.
func (w *opsWorld) run(name string, agent parley.Agent) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	client := w.h.Client(w.t, name)
	go func() { ended <- executors.Run(ctx, client, agent, nil) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Logf("the executor of %s: %v", name, err)
		}
	})
}

// caller returns a caller of the first agent over a separate socket.
func (w *opsWorld) caller(id string) *caller { return w.callerOf(id, w.s.opts.Agents[0].Name) }

func (w *opsWorld) callerOf(id, agent string) *caller {
	return &caller{client: w.h.Client(w.t, id), agent: w.s.agent(agent)}
}

// gate returns the channel for which a held turn waits. The test closes it.
func (w *opsWorld) gate(name string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gates[name] == nil {
		w.gates[name] = make(chan struct{})
	}
	return w.gates[name]
}

func (w *opsWorld) turn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	news, err := turn.Updates(ctx)
	if err != nil {
		return "", err
	}
	m, err := news.Messages[len(news.Messages)-1].Message()
	if err != nil {
		return "", err
	}
	word, rest, _ := strings.Cut(m.Text, " ")
	states := map[string]string{"fail": "failed", "reject": "rejected", "auth": "auth-required"}
	switch word {
	case "ask":
		_, err = turn.Post(ctx, parley.Message{Text: "what?", Tags: []string{tagInputRequired}}, parley.FinalityTurn)
	case "bare":
		err = opsPost(ctx, turn, "a word", map[string]any{"message": true})
	case "fail", "reject", "auth":
		err = opsPost(ctx, turn, word, map[string]any{"state": states[word]})
	case "hold":
		if err = opsHold(ctx, turn, w.gate(rest)); err == nil {
			_, err = turn.Post(ctx, parley.Message{Text: "held " + rest}, parley.FinalityTurn)
		}
	case "close":
		_, err = turn.Complete(ctx, parley.Message{Text: "goodbye"}, parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	case "pass":
		return parley.TurnYield, nil
	default:
		_, err = turn.Post(ctx, parley.Message{Text: "bot: " + m.Text}, parley.FinalityTurn)
	}
	return parley.TurnPosted, err
}

// opsHold posts "working" and waits.
func opsHold(ctx context.Context, turn *parley.Turn, gate <-chan struct{}) error {
	if _, err := turn.Trace(ctx, parley.Trace{Kind: "progress", Text: "half"}); err != nil {
		return err
	}
	if _, err := turn.Post(ctx, parley.Message{Text: "working"}, parley.FinalityNone); err != nil {
		return err
	}
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func opsPost(ctx context.Context, turn *parley.Turn, text string, said map[string]any) error {
	body, err := json.Marshal(map[string]any{"text": text, payloadKey: said})
	if err != nil {
		return err
	}
	_, err = turn.Client.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: turn.ConversationID, Payload: body, Finality: parley.FinalityTurn, Turn: turn.Number,
		ClaimID: turn.ClaimID, ClientRequestID: turn.Key + ".own",
	})
	return err
}

// opsRequest returns a request with a text.
func opsRequest(id, text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: &a2a.Message{ID: id, Role: a2a.MessageRoleUser,
		Parts: a2a.ContentParts{a2a.NewTextPart(text)}}}
}

// opsAt is opsRequest for an existing task or context.
func opsAt(id, text, contextID string, task a2a.TaskID) *a2a.SendMessageRequest {
	req := opsRequest(id, text)
	req.Message.ContextID, req.Message.TaskID = contextID, task
	return req
}

func opsAtOnce(req *a2a.SendMessageRequest) *a2a.SendMessageRequest {
	req.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	return req
}

// send sends a request and returns the task.
func (w *opsWorld) send(c *caller, req *a2a.SendMessageRequest) *a2a.Task {
	w.t.Helper()
	r, err := w.s.send(w.t.Context(), c, req)
	if err != nil {
		w.t.Fatalf("send %s: %v", req.Message.ID, err)
	}
	task, ok := r.(*a2a.Task)
	if !ok {
		w.t.Fatalf("send %s: %T and no task", req.Message.ID, r)
	}
	return task
}

func (w *opsWorld) get(c *caller, id a2a.TaskID) *a2a.Task {
	w.t.Helper()
	t, err := w.s.get(w.t.Context(), c, &a2a.GetTaskRequest{ID: id})
	if err != nil {
		w.t.Fatalf("get %s: %v", id, err)
	}
	return t
}

func (w *opsWorld) list(c *caller, req *a2a.ListTasksRequest) *a2a.ListTasksResponse {
	w.t.Helper()
	r, err := w.s.list(w.t.Context(), c, req)
	if err != nil {
		w.t.Fatalf("list: %v", err)
	}
	return r
}

// head returns the last seq of the conversation of a task.
func (w *opsWorld) head(id a2a.TaskID) int64 {
	w.t.Helper()
	conversation, _, _ := splitTask(id)
	r, err := w.h.Admin(w.t).Tail(w.t.Context(), &parley.TailParams{ConversationID: conversation})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.LatestSeq
}

// opsRefused checks for an expected error.
func opsRefused(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, not %v", what, err, want)
	}
}

func opsState(t testing.TB, task *a2a.Task, want a2a.TaskState) {
	t.Helper()
	if task.Status.State != want {
		t.Errorf("task %s is %s (%s), not %s", task.ID, task.Status.State, opsText(task.Status.Message), want)
	}
}

func opsText(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var all []string
	for _, p := range m.Parts {
		all = append(all, p.Text())
	}
	return strings.Join(all, "|")
}

// opsStream reads a stream one update at a time.
type opsStream struct {
	t    testing.TB
	next func() (update, error, bool)
	stop func()
	all  []update
}

func (w *opsWorld) hear(seq iter.Seq2[update, error]) *opsStream {
	next, stop := iter.Pull2(seq)
	w.t.Cleanup(stop)
	return &opsStream{t: w.t, next: next, stop: stop}
}

// one returns the next update.
func (s *opsStream) one() update {
	s.t.Helper()
	u, err, ok := s.next()
	if !ok || err != nil {
		s.t.Fatalf("the stream has ended after %s: %v", opsWords(s.all), err)
	}
	s.all = append(s.all, u)
	return u
}

// rest reads to the end.
func (s *opsStream) rest() []update {
	s.t.Helper()
	for {
		u, err, ok := s.next()
		if err != nil {
			s.t.Fatalf("after %s: %v", opsWords(s.all), err)
		}
		if !ok {
			return s.all
		}
		s.all = append(s.all, u)
	}
}

// until reads up to a status with this text.
func (s *opsStream) until(text string) update {
	s.t.Helper()
	for {
		u := s.one()
		if e, ok := u.event.(*a2a.TaskStatusUpdateEvent); ok && opsText(e.Status.Message) == text {
			return u
		}
	}
}

// err returns the error with which a stream begins.
func (s *opsStream) err() error {
	s.t.Helper()
	u, err, ok := s.next()
	if !ok || err == nil {
		s.t.Fatalf("the stream begins with %v", u)
	}
	return err
}

// opsWords formats updates, one per line.
func opsWords(all []update) string {
	var b strings.Builder
	for _, u := range all {
		raw, _ := json.Marshal(u.event)
		fmt.Fprintf(&b, "\n%s %s", u.id, raw)
	}
	return b.String()
}

// opsSame checks that two streams are equal.
func opsSame(t testing.TB, what string, got, want []update) {
	t.Helper()
	if g, w := opsWords(got), opsWords(want); g != w {
		t.Errorf("%s:%s\n\nand not:%s", what, g, w)
	}
}
