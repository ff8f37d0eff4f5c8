package a2a

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/a2ascript"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// scenarioWorld is a hub with the participant of the conformance kit on a socket.
type scenarioWorld struct {
	url string

	mu    sync.Mutex // guards the field below
	gates map[string]chan struct{}
}

func newScenarioWorld(t *testing.T) *scenarioWorld {
	t.Helper()
	w := &scenarioWorld{gates: map[string]chan struct{}{}}
	ops := &opsWorld{t: t, h: sdktest.NewHub(t)}
	ops.run(a2ascript.Name, a2ascript.Agent(func(ctx context.Context, id string) error {
		select {
		case <-w.gate(id):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	client := ops.h.Client(t, "kit")
	s, err := New(&Options{
		Agents:  []Agent{{Name: a2ascript.Name, Speaks: a2ascript.Name}},
		Connect: func(*http.Request) (parley.Client, func(), error) { return client, func() {}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	w.url = web.URL + "/a2a/" + a2ascript.Name
	return w
}

// gate returns the channel for which the scenario of a message waits. The test closes it.
func (w *scenarioWorld) gate(id string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gates[id] == nil {
		w.gates[id] = make(chan struct{})
	}
	return w.gates[id]
}

// scenarioEnds are the final states of the scenarios other than COMPLETED.
var scenarioEnds = map[string]a2a.TaskState{"tck-input-required": a2a.TaskStateInputRequired,
	"tck-reject-task": a2a.TaskStateRejected}

// Each scenario of the conformance kit runs in each version and binding, with and without a stream.
func TestScenarios(t *testing.T) {
	w := newScenarioWorld(t)
	for name, client := range libraryClients(t, w.url) {
		for _, s := range a2ascript.Scenarios {
			t.Run(name+"/"+s.Prefix, func(t *testing.T) {
				p := &scenarioPlay{t: t, w: w, client: client, scenario: s, id: s.Prefix + "-" + strings.ReplaceAll(name, " ", "-")}
				p.send()
				p.stream()
			})
		}
		t.Run(name+"/resubscribe", func(t *testing.T) {
			resubscribe(t, w, client,
				"test-resubscribe-message-id-again-"+name)
		})
	}
}

// scenarioPlay is one scenario with one client.
type scenarioPlay struct {
	t        *testing.T
	w        *scenarioWorld
	client   *a2aclient.Client
	scenario a2ascript.Scenario
	id       string
}

// send runs it without a stream. A held scenario returns at once first, and does not end early.
func (p *scenarioPlay) send() {
	req := opsRequest(p.id, "play")
	if p.scenario.Hold {
		r, err := p.client.SendMessage(p.t.Context(), opsAtOnce(opsRequest(p.id, "play")))
		if task, is := r.(*a2a.Task); err != nil || !is || task.Status.State.Terminal() {
			p.t.Fatalf("at once: %+v, %v", r, err)
		}
		close(p.w.gate(p.id))
	}
	r, err := p.client.SendMessage(p.t.Context(), req)
	if err != nil {
		p.t.Fatal(err)
	}
	p.judge(r)
	task, is := r.(*a2a.Task)
	if !is {
		return
	}
	got, err := p.client.GetTask(p.t.Context(), &a2a.GetTaskRequest{ID: task.ID})
	if err != nil {
		p.t.Fatal(err)
	}
	p.judge(got)
	_, err = p.client.CancelTask(p.t.Context(), &a2a.CancelTaskRequest{ID: task.ID})
	if open := !got.Status.State.Terminal(); open != (err == nil) || !open && !errors.Is(err, a2a.ErrTaskNotCancelable) {
		p.t.Errorf("cancel of a task that is %s: %v", got.Status.State, err)
	}
}

// stream runs it with a stream: a task first and its end last, or one message.
func (p *scenarioPlay) stream() {
	id := p.id + "-streamed"
	var events []a2a.Event
	for e, err := range p.client.SendStreamingMessage(p.t.Context(), opsRequest(id, "play")) {
		if err != nil {
			p.t.Fatalf("after %d events: %v", len(events), err)
		}
		events = append(events, e)
		if p.scenario.Hold && len(events) == 2 { // the task is working
			close(p.w.gate(id))
		}
	}
	if len(events) == 0 {
		p.t.Fatal("the stream is empty")
	}
	if m, is := events[0].(*a2a.Message); is && len(events) == 1 {
		p.judge(m)
		return
	}
	task, is := events[0].(*a2a.Task)
	if !is {
		p.t.Fatalf("the stream begins with %T", events[0])
	}
	for _, e := range events[1:] {
		if _, again := e.(*a2a.Task); again {
			p.t.Errorf("another task in the stream")
		}
		task = applyUpdate(task, task.ID, e)
	}
	if last, is := events[len(events)-1].(*a2a.TaskStatusUpdateEvent); !is || !settled(last.Status.State) {
		p.t.Errorf("the stream ends with %+v", events[len(events)-1])
	}
	p.scenario.Answer.Message = false // it came too late to be the first event
	p.judge(task)
}

// judge compares the result of a scenario with its answer.
func (p *scenarioPlay) judge(r a2a.Event) {
	p.t.Helper()
	want := &p.scenario.Answer
	task, is := r.(*a2a.Task)
	if is == want.Message {
		p.t.Fatalf("%T came", r)
	}
	if !is {
		if m := r.(*a2a.Message); opsText(m) != want.Text || m.TaskID != "" || m.ContextID == "" {
			p.t.Errorf("the message is %+v", m)
		}
		return
	}
	state, waits := scenarioEnds[p.scenario.Prefix]
	if !waits {
		state = a2a.TaskStateCompleted
	}
	opsState(p.t, task, state)
	if state != a2a.TaskStateCompleted {
		if opsText(task.Status.Message) != want.Text || len(task.Artifacts) != 0 {
			p.t.Errorf("status %+v, artifacts %+v", task.Status, task.Artifacts)
		}
		return
	}
	if len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts) != 1 || !p.fits(task.Artifacts[0].Parts[0]) {
		p.t.Errorf("artifacts %+v", task.Artifacts)
	}
}

// fits reports whether a part equals that of the scenario.
func (p *scenarioPlay) fits(part *a2a.Part) bool {
	want := &p.scenario.Answer
	// its converter drops the names of files
	lost := part.Filename == "" && strings.Contains(p.t.Name(), "0.3_HTTP+JSON")
	labeled := part.MediaType == a2ascript.FileType && (part.Filename == a2ascript.FileName || lost)
	switch v := part.Content.(type) {
	case a2a.Text:
		return string(v) == want.Text
	case a2a.Raw:
		return labeled && bytes.Equal(v, []byte(want.File))
	case a2a.URL:
		return labeled && string(v) == want.URL
	case a2a.Data:
		raw, err := encode(v.Value)
		return err == nil && string(raw) == `{"count":42,"key":"value"}` && want.Data != nil
	}
	return false
}

// resubscribe leaves a stream and subscribes again: the first event is the task, the last is its
// end.
func resubscribe(t *testing.T, w *scenarioWorld, client *a2aclient.Client, id string) {
	var task *a2a.Task
	for e, err := range client.SendStreamingMessage(t.Context(), opsRequest(id, "play")) {
		if err != nil {
			t.Fatal(err)
		}
		if first, is := e.(*a2a.Task); is {
			task = first
			break
		}
	}
	if task == nil {
		t.Fatal("there is no task")
	}
	var states []a2a.TaskState
	for e, err := range client.SubscribeToTask(t.Context(), &a2a.SubscribeToTaskRequest{ID: task.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *a2a.Task:
			states = append(states, e.Status.State)
			close(w.gate(id)) // once: a second task would panic
		case *a2a.TaskStatusUpdateEvent:
			states = append(states, e.Status.State)
		}
	}
	if len(states) < 2 || states[0].Terminal() || slices.IndexFunc(states, a2a.TaskState.Terminal) != len(states)-1 {
		t.Errorf("the states are %v", states)
	}
}
