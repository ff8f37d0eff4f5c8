package conformance

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parleyhub/parley/internal/hubproc"
)

// allBytes is a file.
var allBytes = func() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}()

// allBytesSum is its SHA-256.
const allBytesSum = "40aff2e9d2d8922e47afd4648e6967497158785fbd1da870e7110266bf944880"

// TestA2ARemoteAgents: servers of the protocol's makers, in two languages, both generations, both
// versions and bindings, sit in conversations of the hub by parley a2a invite.
func TestA2ARemoteAgents(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, "a2a")
	dir := s.workshop(t)
	h := program.Start(t, t.TempDir())
	t.Run("all", func(t *testing.T) { // ends when they all have
		for _, v := range []struct{ name, binding, version string }{
			{"rpc-1", "JSONRPC", "1.0"}, {"rest-1", "HTTP+JSON", "1.0"}, {"rpc-0", "JSONRPC", "0.3"},
			{"rest-0", "HTTP+JSON", "0.3"},
		} {
			play := func(name string, start func(r *a2aRemote)) {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r := &a2aRemote{t: t, hub: h, name: name, old: v.name == "rest-0"}
					start(r)
					r.play()
				})
			}
			play("go-"+v.name, func(r *a2aRemote) { r.startGo(v.binding, v.version) })
			play("js-"+v.name, func(r *a2aRemote) { r.startScript(s, dir, "server.mjs", v.binding, v.version) })
			if v.version == "0.3" {
				play("js-old-"+v.name, func(r *a2aRemote) { r.startScript(s, dir, "server-legacy.mjs", v.binding, v.version) })
			}
		}
	})
	h.Stop(t)
}

// a2aRemote is a remote agent with the messages that it received.
type a2aRemote struct {
	t    *testing.T
	hub  *hubproc.Hub
	name string // in the hub
	url  string
	old  bool // HTTP+JSON of 0.3, where a file has no name

	mu       sync.Mutex // guards the fields below
	heard    []a2aHeard
	canceled []string
}

// a2aHeard is a message as the remote agent got it.
type a2aHeard struct {
	Text, MessageID, TaskID string
	Files                   []string
}

func (r *a2aRemote) hears(m a2aHeard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard = append(r.heard, m)
}

func (r *a2aRemote) cancels(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.canceled = append(r.canceled, id)
}

// received returns the message with a text, if it arrived, and whether its task was canceled.
func (r *a2aRemote) received(text string) (m *a2aHeard, canceled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.heard {
		if r.heard[i].Text == text {
			m = &r.heard[i]
		}
	}
	return m, m != nil && slices.Contains(r.canceled, m.TaskID)
}

// until waits for something over there.
func (r *a2aRemote) until(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("never: %s", what)
		}
	}
}

// startScript runs a server of testdata/a2a until the test ends.
func (r *a2aRemote) startScript(s *strangers, dir, script, binding, version string) {
	r.t.Helper()
	cmd := exec.Command(s.node, filepath.Join(dir, script), binding, version)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	urls := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(urls)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var line struct {
				Step, URL string
				a2aHeard
			}
			_ = json.Unmarshal(lines.Bytes(), &line) // other lines are ignored
			switch line.Step {
			case "listening":
				urls <- line.URL
			case "heard":
				r.hears(line.a2aHeard)
			case "canceled":
				r.cancels(line.TaskID)
			}
		}
	})
	r.t.Cleanup(func() {
		cmd.Process.Kill()
		reading.Wait()
		cmd.Wait()
	})
	stuck := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	var ok bool
	if r.url, ok = <-urls; !ok {
		r.t.Fatalf("%s did not start", script)
	}
}

// startGo runs a server of a2a-go in this process.
func (r *a2aRemote) startGo(binding, version string) {
	h := a2asrv.NewHandler(&goAgent{r: r, gone: make(chan struct{})})
	serve := map[string]http.Handler{
		"JSONRPC 1.0": a2asrv.NewJSONRPCHandler(h), "HTTP+JSON 1.0": a2asrv.NewRESTHandler(h),
		"JSONRPC 0.3": a2av0.NewJSONRPCHandler(h), "HTTP+JSON 0.3": a2av0.NewRESTHandler(h),
	}[binding+" "+version]
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	r.t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	card := &a2a.AgentCard{
		Name: "far", Description: "a scripted agent", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: true},
		DefaultInputModes:  []string{"*/*"},
		DefaultOutputModes: []string{"text/plain"}, Skills: []a2a.AgentSkill{},
		SupportedInterfaces: []*a2a.AgentInterface{{URL: web.URL, ProtocolBinding: a2a.TransportProtocol(binding),
			ProtocolVersion: a2a.ProtocolVersion(version)}},
	}
	mux.Handle("/.well-known/agent-card.json", a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/", serve)
	r.url = web.URL
}

// a2aSaid returns the messages of the remote agent in the hub.
type a2aSaid struct {
	Text        string
	Data        json.RawMessage
	Tags        []string
	Attachments []struct{ SHA256, Name, MediaType string }
	A2A         struct{ TaskID, State string }
}

// seat makes a conversation with the remote agent in it.
func (r *a2aRemote) seat(id string) *talk { return newTalk(r.t, r.hub, id+"-"+r.name, r.name) }

// say says a text, and reads the answer.
func (r *a2aRemote) say(k *talk, text string) *a2aSaid {
	r.t.Helper()
	raw, err := json.Marshal(k.say(text))
	s := &a2aSaid{}
	if err == nil {
		err = json.Unmarshal(raw, s)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// play has conversations with the remote agent.
func (r *a2aRemote) play() {
	background(r.t, r.hub, string(program), "a2a", "invite", "--agent", r.name, "--card", r.url)
	k := r.seat("talk")
	task := ""
	for _, c := range []struct{ say, text, state string }{
		{"hello", "the answer to hello", "completed"},
		{"ask", "which one?", "input-required"},
		{"blue", "you chose blue", "completed"},
		{"fail", "it is broken", "failed"},
		{"reject", "not for me", "rejected"},
		{"plain", "no task for that", "completed"},
	} {
		got := r.say(k, c.say)
		if got.Text != c.text || got.A2A.State != c.state || slices.Contains(got.Tags,
			"input_required") != (c.state == "input-required") {
			r.t.Errorf("said %q: %+v", c.say, got)
		}
		if c.say == "blue" && got.A2A.TaskID != task {
			r.t.Errorf("the reply is of task %q and not %q", got.A2A.TaskID, task)
		}
		task = got.A2A.TaskID
	}
	if traces := k.parley("tail", k.id, "--types", "trace", "-o", "json"); !strings.Contains(traces, "looking at hello") {
		r.t.Errorf("what it said while it worked is not among the traces:\n%s", traces)
	}
	r.files(k)
	r.ends()
	var ids []string
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.heard {
		ids = append(ids, m.MessageID)
	}
	if n := len(ids); n != 10 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != n {
		r.t.Errorf("10 messages were said, and these came: %+v", r.heard)
	}
}

// files: one goes there and another comes back, byte for byte.
func (r *a2aRemote) files(k *talk) {
	path := filepath.Join(r.t.TempDir(), "all.bin")
	if err := os.WriteFile(path, allBytes, 0o600); err != nil {
		r.t.Fatal(err)
	}
	k.parley("send", k.id, "look", "--attach", path, "--as", "ann")
	r.until("the file comes", func() bool { m, _ := r.received("look"); return m != nil })
	m, _ := r.received("look")
	want := base64.StdEncoding.EncodeToString(allBytes)
	// to whom it goes as base64 of base64, which most servers of 0.3 take, though not these
	if r.old && strings.HasPrefix(r.name, "js") {
		want = base64.StdEncoding.EncodeToString([]byte(want))
	}
	if len(m.Files) != 1 || m.Files[0] != want {
		r.t.Errorf("the remote agent got the files %q", m.Files)
	}
	r.until("it answers", func() bool {
		return strings.Contains(k.parley("tail", k.id, "--types", "message"), "the answer to look")
	})
	got := r.say(k, "file")
	if len(got.Attachments) != 1 || got.Attachments[0].SHA256 != allBytesSum ||
		got.Attachments[0].MediaType != "application/octet-stream" || got.Attachments[0].Name != "all.bin" && !r.old {
		r.t.Errorf("its files: %+v", got.Attachments)
	}
	if got.Text != "a file" || string(got.Data) != `{"n":42}` {
		r.t.Errorf("with its files: %q, %s", got.Text, got.Data)
	}
}

// ends: a task that works, and one that waits for input, are canceled over there when their
// conversation is closed here.
func (r *a2aRemote) ends() {
	for _, c := range []struct{ say, waits string }{{"hold", "looking at hold"}, {"ask", "which one?"}} {
		k := r.seat("end-" + c.say)
		k.parley("send", k.id, c.say, "--as", "ann")
		r.until("it answers "+c.say, func() bool { return strings.Contains(k.parley("tail", k.id), c.waits) })
		k.parley("conversation", "close", k.id, "--as", "ann")
		r.until(fmt.Sprintf("the task of %q is canceled", c.say), func() bool {
			_,
				canceled := r.received(c.say)
			return canceled
		})
	}
}

// goAgent is what agent.mjs is, for a2a-go.
type goAgent struct {
	r    *a2aRemote
	gone chan struct{} // closed when a task is canceled
	once sync.Once
}

func (g *goAgent) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	m := a2aHeard{MessageID: x.Message.ID, TaskID: string(x.TaskID)}
	for _, p := range x.Message.Parts {
		switch v := p.Content.(type) {
		case a2a.Text:
			m.Text = string(v)
		case a2a.Raw:
			m.Files = append(m.Files, base64.StdEncoding.EncodeToString(v))
		}
	}
	g.r.hears(m)
	return func(yield func(a2a.Event, error) bool) {
		for _, e := range g.script(x, m.Text) {
			if !yield(e, nil) {
				return
			}
		}
		if m.Text != "hold" {
			return
		}
		select {
		case <-g.gone:
		case <-ctx.Done():
		}
	}
}

func (g *goAgent) script(x *a2asrv.ExecutorContext, text string) []a2a.Event {
	status := func(state a2a.TaskState, words string) a2a.Event {
		if words == "" {
			return a2a.NewStatusUpdateEvent(x, state, nil)
		}
		return a2a.NewStatusUpdateEvent(x, state, a2a.NewMessageForTask(a2a.MessageRoleAgent, x, a2a.NewTextPart(words)))
	}
	done := status(a2a.TaskStateCompleted, "")
	switch {
	case text == "plain":
		return []a2a.Event{a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("no task for that"))}
	case x.StoredTask != nil:
		return []a2a.Event{a2a.NewArtifactEvent(x, a2a.NewTextPart("you chose "+text)), done}
	}
	all := []a2a.Event{a2a.NewSubmittedTask(x, x.Message), status(a2a.TaskStateWorking, "looking at "+text)}
	switch text {
	case "hold":
		return all
	case "ask":
		return append(all, status(a2a.TaskStateInputRequired, "which one?"))
	case "fail":
		return append(all, status(a2a.TaskStateFailed, "it is broken"))
	case "reject":
		return append(all, status(a2a.TaskStateRejected, "not for me"))
	case "file":
		a := a2a.NewArtifactEvent(x, a2a.NewTextPart("a file"), a2a.NewRawPart(allBytes),
			a2a.NewDataPart(map[string]any{"n": 42.0}))
		a.Artifact.Parts[1].Filename, a.Artifact.Parts[1].MediaType = "all.bin", "application/octet-stream"
		return append(all, a, done)
	}
	a := a2a.NewArtifactEvent(x, a2a.NewTextPart("the answer "))
	more := a2a.NewArtifactUpdateEvent(x, a.Artifact.ID, a2a.NewTextPart("to "+text))
	more.LastChunk = true
	return append(all, a, more, done)
}

func (g *goAgent) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		g.r.cancels(string(x.TaskID))
		yield(a2a.NewStatusUpdateEvent(x, a2a.TaskStateCanceled, nil), nil)
		g.once.Do(func() { close(g.gone) })
	}
}
