package conformance

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// cursorExtension names how far in the log a task or an update is.
const cursorExtension = "https://github.com/parleyhub/parley/a2a/cursor/v1"

// workshop makes a directory with the scripts of testdata/a2a and what they import.
func (s *strangers) workshop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	scripts, err := filepath.Glob(filepath.Join("testdata", "a2a", "*.mjs"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts: %v, %v", scripts, err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(s.dir, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestA2AClients: clients of the protocol's makers, of both generations, in both versions and
// bindings, do with the agent echo all that they can.
func TestA2AClients(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, "a2a")
	dir := s.workshop(t)
	hook := newA2AHook(t)
	h := program.Start(t, t.TempDir(), "--a2a", "--a2a-allow-private", "127.0.0.0/8")
	t.Run("all", func(t *testing.T) { // ends when they all have
		for _, c := range []struct{ script, binding, version string }{
			{"client.mjs", "JSONRPC", "1.0"},
			{"client.mjs", "HTTP+JSON", "1.0"},
			{"client.mjs", "JSONRPC", "0.3"},
			{"client.mjs", "HTTP+JSON", "0.3"},
			{"client-legacy.mjs", "JSONRPC", "0.3"},
			{"client-legacy.mjs", "HTTP+JSON", "0.3"},
		} {
			tag := strings.TrimSuffix(c.script, ".mjs") + "-" + c.binding + "-" + c.version
			t.Run(tag, func(t *testing.T) {
				t.Parallel()
				r := s.runIn(t, dir, append(os.Environ(), "NO_COLOR=1"), filepath.Join(dir, c.script), h.HTTP(), c.binding,
					c.version, hook.url+"/"+tag, tag)
				p := &a2aPlay{t: t, tag: tag, binding: c.binding, version: c.version, steps: map[string]json.RawMessage{}}
				p.read(r)
				p.judge()
				p.judgeStreams()
				p.judgePush(hook)
			})
		}
	})
	h.Stop(t)
}

// a2aPlay is what a client has printed.
type a2aPlay struct {
	t                     *testing.T
	tag, binding, version string
	steps                 map[string]json.RawMessage
}

func (p *a2aPlay) read(r ran) {
	p.t.Helper()
	for line := range strings.Lines(r.stdout) {
		var head struct{ Step string }
		if err := json.Unmarshal([]byte(line), &head); err != nil || head.Step == "" {
			p.t.Fatalf("it printed %q: %v", line, err)
		}
		p.steps[head.Step] = json.RawMessage(line)
	}
	if r.code != 0 || p.steps["end"] == nil {
		p.t.Fatalf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// a2aStep has what steps print.
type a2aStep struct {
	Task, Short, Canceled        *a2a.Task
	Begun                        struct{ Task *a2a.Task }
	Again                        struct{ Error string }
	Error                        string
	Result                       json.RawMessage
	Events, First, Plain, Behind []a2a.StreamResponse
	LastEventID                  string
	Tasks                        []*a2a.Task
	TotalSize                    int
	One                          struct {
		Tasks         []*a2a.Task
		NextPageToken string
	}
	Listed   struct{ Configs []a2aConfig }
	Card     a2aCard
	Extended struct{ Result a2aCard }
}

type a2aConfig struct{ TaskID, ID, URL, Token string }

type a2aCard struct {
	Name                string
	SupportedInterfaces []struct{ ProtocolBinding, ProtocolVersion string }
	URL                 string // in the shape of 0.3
	Capabilities        struct{ Streaming, PushNotifications bool }
}

func (p *a2aPlay) step(name string) *a2aStep {
	p.t.Helper()
	s := &a2aStep{}
	if err := json.Unmarshal(p.steps[name], s); err != nil {
		p.t.Fatalf("%s: %v in %s", name, err, p.steps[name])
	}
	return s
}

// judge looks at what was answered at once.
func (p *a2aPlay) judge() {
	p.judgeCard()
	sent := p.task("send", p.step("send").Task, a2a.TaskStateCompleted, "hello there")
	if again := p.task("again", p.step("again").Task, a2a.TaskStateCompleted, "hello there"); again.ID != sent.ID {
		p.t.Errorf("the same message again: task %s and not %s", again.ID, sent.ID)
	}
	got := p.step("get")
	p.task("get", got.Task, a2a.TaskStateCompleted, "hello there")
	if h := got.Task.History; got.Task.ID != sent.ID || len(h) == 0 || h[0].Role != a2a.MessageRoleUser ||
		!strings.HasSuffix(h[0].ID, "-send") || len(got.Short.History) != 0 {
		p.t.Errorf("get: %s", p.steps["get"])
	}
	for step, want := range map[string]string{"ended": "UnsupportedOperationError", "missing": "TaskNotFoundError"} {
		if s := p.step(step); s.Error != want {
			p.t.Errorf("%s: %s and not %s", step, p.steps[step], want)
		}
	}
	asked := p.task("ask", p.step("ask").Task, a2a.TaskStateInputRequired, "What shall I say?")
	if reply := p.task("reply", p.step("reply").Task, a2a.TaskStateCompleted,
		"You said: a reply"); reply.ID != asked.ID || reply.ContextID != asked.ContextID {
		p.t.Errorf("the reply went to %s and not to %s", reply.ID, asked.ID)
	}
	list := p.step("list")
	switch {
	case p.version == "0.3" && list.Error == "":
		p.t.Errorf("0.3 has a list: %s", p.steps["list"])
	case p.version == "1.0" && (len(list.Tasks) != 1 || list.Tasks[0].ID != asked.ID || list.TotalSize != 1 ||
		len(list.One.Tasks) != 1 || list.One.NextPageToken == ""):
		p.t.Errorf("list: %s", p.steps["list"])
	}
	p.judgeParts()
	c := p.step("cancel")
	p.task("canceled", c.Canceled, a2a.TaskStateCanceled, "")
	if begun := c.Begun.Task; begun.Status.State.Terminal() || begun.ID != c.Canceled.ID ||
		c.Again.Error != "TaskNotCancelableError" {
		p.t.Errorf("cancel: %s", p.steps["cancel"])
	}
}

func (p *a2aPlay) judgeCard() {
	s := p.step("card")
	for what, card := range map[string]*a2aCard{"card": &s.Card, "extended card": &s.Extended.Result} {
		if card.Name != "Echo" || !card.Capabilities.Streaming || !card.Capabilities.PushNotifications ||
			len(card.SupportedInterfaces) < 2 && card.URL == "" {
			p.t.Errorf("%s: %s", what, p.steps["card"])
		}
	}
}

// task fails the test unless a task is in a state with words; a completed one has them as its
// artifact too.
func (p *a2aPlay) task(what string, task *a2a.Task, state a2a.TaskState, words string) *a2a.Task {
	p.t.Helper()
	if task == nil {
		p.t.Fatalf("%s: there is no task", what)
	}
	said := a2aWords(task.Status.Message)
	if task.Status.State != state || said != words || task.ID == "" || task.ContextID == "" {
		p.t.Errorf("%s: %s %q and not %s %q", what, task.Status.State, said, state, words)
	}
	if state == a2a.TaskStateCompleted && (len(task.Artifacts) != 1 || len(task.Artifacts[0].Parts) == 0 ||
		task.Artifacts[0].Parts[0].Text() != words) {
		p.t.Errorf("%s: artifacts %+v", what, task.Artifacts)
	}
	return task
}

func a2aWords(m *a2a.Message) string {
	if m == nil || len(m.Parts) == 0 {
		return ""
	}
	return m.Parts[0].Text()
}

// judgeParts: a file of all bytes and data come back as they went.
func (p *a2aPlay) judgeParts() {
	task := p.task("parts", p.step("parts").Task, a2a.TaskStateCompleted, "a file")
	want := make([]byte, 256)
	for i := range want {
		want[i] = byte(i)
	}
	for what, parts := range map[string]a2a.ContentParts{"artifact": task.Artifacts[0].Parts,
		"history": task.History[0].Parts} {
		var raw []byte
		var name string
		var data any
		for _, part := range parts {
			switch v := part.Content.(type) {
			case a2a.Raw:
				raw, name = v, part.Filename
			case a2a.Data:
				data = v.Value
			}
		}
		// where bytes are base64 of base64, as most have them, though not this client, and files have no
		// names
		if p.binding == "HTTP+JSON" && p.version == "0.3" {
			raw, _ = base64.StdEncoding.DecodeString(string(raw))
			name = "all.bin"
		}
		got, _ := json.Marshal(data)
		if !bytes.Equal(raw, want) || name != "all.bin" || string(got) != `{"count":42,"nested":{"list":[1,null,"x"]}}` {
			p.t.Errorf("%s: file %q of %d bytes, data %s", what, name, len(raw), got)
		}
	}
}

// judgeStreams looks at the streams: the order, the end, and that nothing is lost where one was
// cut.
func (p *a2aPlay) judgeStreams() {
	events := p.step("stream").Events
	p.begins("stream", events)
	p.completes("stream", events, "hello stream")

	s := p.step("resubscribe")
	p.begins("the first stream", s.First)
	for what, part := range map[string][]a2a.StreamResponse{"plain": s.Plain, "behind": s.Behind} {
		p.begins(what, part)
		p.completes(what, part, "Done: slow")
	}
	// What came before the cut and what came behind it is all there is, in order and once.
	var said []string
	for _, e := range append(slices.Clone(s.First), s.Behind[1:]...) {
		if u, is := e.Event.(*a2a.TaskStatusUpdateEvent); is && u.Status.Message != nil {
			said = append(said, a2aWords(u.Status.Message))
		}
	}
	if got := strings.Join(said, ", "); got != "1 of 5, 2 of 5, 3 of 5, 4 of 5, Done: slow" {
		p.t.Errorf("with a cursor came %s", got)
	}
	at := a2aCursors(s.Behind)
	if at[0] != s.LastEventID || !slices.IsSortedFunc(at, func(a, b string) int { return len(a) - len(b) }) {
		p.t.Errorf("behind %s came %v", s.LastEventID, at)
	}
	// A stream without a cursor is the end of the one with it.
	plain, behind := a2aJSON(p.t, s.Plain[1:]), a2aJSON(p.t, s.Behind[1:])
	if len(plain) > len(behind) || !slices.Equal(plain, behind[len(behind)-len(plain):]) {
		p.t.Errorf("the streams differ:\n%s\n\n%s", strings.Join(plain, "\n"), strings.Join(behind, "\n"))
	}
	over := p.step("terminal")
	var last []a2a.StreamResponse
	if p.version == "1.0" && over.Error != "UnsupportedOperationError" {
		p.t.Errorf("subscribe to a task that has ended: %s", p.steps["terminal"])
	}
	if p.version == "0.3" {
		if err := json.Unmarshal(over.Result, &last); err != nil || len(last) == 0 {
			p.t.Fatalf("subscribe to a task that has ended: %v in %s", err, p.steps["terminal"])
		}
		if u, is := last[len(last)-1].Event.(*a2a.TaskStatusUpdateEvent); !is || u.Status.State != a2a.TaskStateCompleted {
			p.t.Errorf("subscribe to a task that has ended: %s", p.steps["terminal"])
		}
	}
}

func (p *a2aPlay) begins(what string, events []a2a.StreamResponse) {
	p.t.Helper()
	if len(events) == 0 {
		p.t.Fatalf("%s is empty", what)
	}
	for i, e := range events {
		if _, is := e.Event.(*a2a.Task); is != (i == 0) {
			p.t.Errorf("%s: event %d is %T", what, i, e.Event)
		}
	}
}

// completes fails the test unless events end with an artifact and a completed status, and no status
// before is terminal.
func (p *a2aPlay) completes(what string, events []a2a.StreamResponse, words string) {
	p.t.Helper()
	artifact := ""
	for i, e := range events {
		switch u := e.Event.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			artifact = u.Artifact.Parts[0].Text()
		case *a2a.TaskStatusUpdateEvent:
			if ended := u.Status.State.Terminal(); ended != (i == len(events)-1) || ended &&
				(u.Status.State != a2a.TaskStateCompleted || a2aWords(u.Status.Message) != words) {
				p.t.Errorf("%s: event %d is %s %q", what, i, u.Status.State, a2aWords(u.Status.Message))
			}
		}
	}
	if artifact != words {
		p.t.Errorf("%s: the artifact is %q", what, artifact)
	}
}

func a2aCursors(events []a2a.StreamResponse) []string {
	var all []string
	for _, e := range events {
		raw, _ := json.Marshal(e)
		var byKind map[string]struct {
			Metadata map[string]struct{ Seq json.Number }
		}
		_ = json.Unmarshal(raw, &byKind)
		for _, v := range byKind {
			all = append(all, v.Metadata[cursorExtension].Seq.String())
		}
	}
	return all
}

func a2aJSON(t *testing.T, events []a2a.StreamResponse) []string {
	var all []string
	for _, e := range events {
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(raw))
	}
	return all
}

// judgePush checks the configuration and the notifications of the webhook.
func (p *a2aPlay) judgePush(hook *a2aHook) {
	id := string(p.step("ask").Task.ID)
	var push struct {
		Made, Read a2aConfig
		Listed     struct{ Configs []a2aConfig }
	}
	if err := json.Unmarshal(p.steps["push"], &push); err != nil {
		p.t.Fatal(err)
	}
	want := a2aConfig{TaskID: id, ID: "mine", URL: hook.url + "/" + p.tag} // and no token: secrets are not given back
	if push.Made != want || push.Read != want || len(push.Listed.Configs) != 1 || push.Listed.Configs[0] != want {
		p.t.Errorf("push: %s", p.steps["push"])
	}
	if s := p.step("unpush"); s.Error != "" || len(s.Listed.Configs) != 0 {
		p.t.Errorf("unpush: %s", p.steps["unpush"])
	}
	told := hook.of("/" + p.tag)
	if len(told) == 0 {
		p.t.Fatal("the webhook was told nothing")
	}
	for _, d := range told {
		kind := map[string]string{"1.0": "application/a2a+json", "0.3": "application/json"}[p.version]
		if d.header.Get("X-A2A-Notification-Token") == "" || d.header.Get("Content-Type") != kind ||
			!strings.Contains(d.body, id) {
			p.t.Errorf("the webhook was told %v %s", d.header, d.body)
		}
	}
	var last struct {
		Kind         string // of 0.3
		Status       struct{ State string }
		StatusUpdate struct{ Status struct{ State string } }
	}
	err := json.Unmarshal([]byte(told[len(told)-1].body), &last)
	if p.version == "1.0" && last.StatusUpdate.Status.State != "TASK_STATE_COMPLETED" || p.version == "0.3" &&
		(last.Kind != "task" || last.Status.State != "completed") {
		p.t.Errorf("%v: the last that the webhook was told is %s", err, told[len(told)-1].body)
	}
}

// a2aHook is a webhook that records its requests by path.
type a2aHook struct {
	url string

	mu   sync.Mutex // guards the field below
	told map[string][]delivered
}

type delivered struct {
	header http.Header
	body   string
}

func newA2AHook(t *testing.T) *a2aHook {
	hook := &a2aHook{told: map[string][]delivered{}}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hook.mu.Lock()
		defer hook.mu.Unlock()
		hook.told[r.URL.Path] = append(hook.told[r.URL.Path], delivered{r.Header, string(body)})
	}))
	t.Cleanup(s.Close)
	hook.url = s.URL
	return hook
}

func (h *a2aHook) of(path string) []delivered {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.told[path])
}
