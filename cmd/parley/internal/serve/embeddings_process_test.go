package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/sdk"
)

// embeddings is a server that speaks as OpenAI's does of embeddings. Whatever is of animals is
// alike for it, and nothing else.
type embeddings struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	texts  []string   // that it was asked about
	wrong  []string   // faults of requests
	broken bool       // it answers nothing but faults
}

func newEmbeddings(t *testing.T) *embeddings {
	t.Helper()
	e := &embeddings{}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *embeddings) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var asked struct {
		Model string
		Input []string
	}
	err := json.NewDecoder(r.Body).Decode(&asked)
	if key := r.Header.Get("Authorization"); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/embeddings" ||
		asked.Model != "nomic" || key != "Bearer canary" {
		e.wrong = append(e.wrong, fmt.Sprintf("%s %s of %q with %q: %v", r.Method, r.URL.Path, asked.Model, key, err))
	}
	if e.broken {
		http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
		return
	}
	e.texts = append(e.texts, asked.Input...)
	var data []string
	for i, text := range asked.Input {
		vector := "[0,1]"
		if strings.Contains(text, "zebra") || strings.Contains(text, "horse") {
			vector = "[1,0]"
		}
		data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, vector))
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"object":"list","model":"nomic","data":[%s],"usage":{"prompt_tokens":1,"total_tokens":1}}`,
		strings.Join(data, ","))
}

// asked returns how many times it received texts with a word.
func (e *embeddings) asked(word string) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, text := range e.texts {
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}

func (e *embeddings) breaks() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken = true
}

// onAnimals has an agent get the one document that is most like the note that wakes it.
const onAnimals = `[{"schema_name":"ask.v1"},{"schema_name":"doc.v1","role":"context","fetch":{"method":"vector",` +
	`"nn":1},"key":"docs"}]`

// TestServeEmbeddings: the server of --embeddings finds similar texts. A text is sent once, also
// over restarts. If the server fails, the agent is notified and works.
func TestServeEmbeddings(t *testing.T) {
	e, dir := newEmbeddings(t), t.TempDir()
	t.Setenv(cli.EnvEmbeddingsKey, "canary")
	serve := func() (*exec.Cmd, clitest.FirstLine) {
		cmd, first, _ := clitest.StartDevHub(t, "--data", dir, "--embeddings", e.URL+"/v1", "--embeddings-model", "nomic")
		return cmd, first
	}
	cmd, first := serve()
	got := askOfAnimals(t, first, "one", "horse")
	if !strings.Contains(got, "zebra in the park") || strings.Contains(got, "cars on the road") {
		t.Errorf("the context is %s", got)
	}
	if n := e.asked("zebra in the park"); n != 1 {
		t.Errorf("it was asked %d times about a document", n)
	}
	endServe(t, cmd)

	cmd, first = serve()
	if got = askOfAnimals(t, first, "two", "horse"); !strings.Contains(got, "zebra in the park") {
		t.Errorf("after a restart the context is %s", got)
	}
	if n := e.asked("zebra in the park"); n != 1 {
		t.Errorf("after a restart it was asked %d times about a document", n)
	}
	e.breaks()
	if got = askOfAnimals(t, first, "three", "a horse that is new"); !strings.Contains(got, `"docs":[]`) {
		t.Errorf("without the server the context is %s", got)
	}
	endServe(t, cmd)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.wrong) > 0 {
		t.Errorf("requests: %s", strings.Join(slices.Compact(e.wrong), "; "))
	}
}

func endServe(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// askOfAnimals returns the context of a function that a note triggers.
func askOfAnimals(t *testing.T, at clitest.FirstLine, conversation, about string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clitest.Patience)
	defer cancel()
	got := make(chan string, 3)
	agent, err := function.Agent(parley.Blueprint{Name: "finder", Description: "finds",
		Subscriptions: json.RawMessage(onAnimals)}, func(_ context.Context, j *work.Job) (any, error) {
		got <- string(j.Context)
		return "found", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dial := func(as string) *sdk.Client {
		c, err := sdk.Dial(ctx, at.URL, &sdk.Options{Token: at.Token, AgentID: as})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	registered := make(chan struct{}, 10)
	running, stop := context.WithCancel(ctx)
	ended, finder := make(chan error, 1), dial("finder")
	go func() {
		ended <- executors.Run(running, finder, agent, &executors.Options{
			Agents: []string{"finder"}, Blueprints: []parley.Blueprint{agent.Blueprint()}, ExecutorID: "box", Drain: -1,
			Registered: func(*parley.RegisterBlueprintsResult) { registered <- struct{}{} },
		})
	}()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-registered:
	case <-ctx.Done():
		t.Fatal("the hub does not know the blueprint")
	}
	ann := dial("ann")
	_, err = ann.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: conversation, Policy: &parley.Policy{Kind: parley.PolicyTriggers},
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, {ID: "finder", Kind: parley.KindTool}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []parley.Note{
		{Schema: "doc.v1", Data: json.RawMessage(`"cars on the road"`)},
		{Schema: "doc.v1", Data: json.RawMessage(`"a zebra in the park"`)},
		{Schema: "doc.v1", Data: json.RawMessage(`"trains on rails"`)},
		{Schema: "ask.v1", Data: json.RawMessage(fmt.Sprintf(`{"input":{"prompt":%q}}`, about))},
	} {
		if _, err := ann.SendNote(ctx, &parley.SendNoteParams{ConversationID: conversation, Payload: n}); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case c := <-got:
		return c
	case <-ctx.Done():
		t.Fatal("the function was not called")
	}
	return ""
}
