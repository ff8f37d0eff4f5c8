package replay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
	"github.com/parleyhub/parley/executors/llm/replay"
)

func ask(text string) *llm.Request {
	return &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Text: text}}}
}

// counting answers each call with its number.
func counting() llmtest.Func {
	var mu sync.Mutex
	n := 0
	return func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		n++
		return &llm.Response{Text: fmt.Sprintf("%s %d", req.Messages[0].Text, n), Finish: llm.FinishStop}, nil
	}
}

// say returns the text of an answer, or the error.
func say(p llm.Provider, req *llm.Request) string {
	r, err := p.Call(context.Background(), req, nil)
	if err != nil {
		return "error: " + err.Error()
	}
	return r.Text
}

// Any answer of a provider is replayed unchanged.
func TestBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	odd := "a\x00b \xff <&> \u2028 🙂"
	chunks := []llm.Chunk{
		{Text: odd}, {Refusal: odd}, {ToolCall: &llm.ToolCallChunk{Index: 0, ID: "1", Name: "t"}},
		{ToolCall: &llm.ToolCallChunk{Arguments: "{\"a\": \"\xf0\x9f"}},
	}
	whole := &llm.Response{
		Text: odd, Refusal: odd, Finish: llm.FinishToolCalls, Model: "m-2",
		ToolCalls: []llm.ToolCall{{ID: "1", Name: "t", Arguments: "{\"a\": \"\xf0\x9f"}},
		Usage: &llm.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3, CacheReadTokens: 4, CacheWriteTokens: 5,
			ReasoningTokens: 6},
		Metadata: map[string]string{"response_id": "r"},
		Opaque:   &llm.Opaque{Provider: "fake", Data: json.RawMessage("{ \"signed\" : \"<white  space>\" }")},
	}
	failed := &llm.ProviderError{
		Provider: "fake", Category: llm.CategoryRateLimit, Status: 429, Code: "slow_down", RequestID: "r", Retryable: true,
		RetryAfter: 1500 * time.Millisecond, Message: odd,
	}
	vendor := llmtest.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
		if emit != nil {
			for _, c := range chunks {
				if err := emit(c); err != nil {
					return nil, err
				}
			}
		}
		if req.Messages[0].Text == "fail" {
			return nil, failed
		}
		return whole, nil
	})
	run := func(p llm.Provider) {
		t.Helper()
		for _, question := range []string{"answer", "fail"} {
			var heard []llm.Chunk
			r, err := p.Call(t.Context(), ask(question), func(c llm.Chunk) error { heard = append(heard, c); return nil })
			if !reflect.DeepEqual(heard, chunks) {
				t.Errorf("%s: the pieces %+v: expected %+v", question, heard, chunks)
			}
			if question == "fail" && !reflect.DeepEqual(err, error(failed)) {
				t.Errorf("%#v: expected %#v", err, failed)
			}
			if question == "answer" && (err != nil || !reflect.DeepEqual(r, whole)) {
				t.Errorf("%+v, %v: expected %+v", r, err, whole)
			}
		}
	}
	c := open(t, path, &replay.Options{Mode: replay.Record})
	run(c.Provider(vendor))
	run(open(t, path, nil).Player("fake"))
}

// Identical requests get their answers in the recorded order, independent of other requests.
func TestOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	p := open(t, path, &replay.Options{Mode: replay.Record}).Provider(counting())
	for i, question := range []string{"a", "b", "a", "c", "a"} {
		if got, want := say(p, ask(question)), fmt.Sprintf("%s %d", question, i+1); got != want {
			t.Fatalf("%s: expected %s", got, want)
		}
	}
	c := open(t, path, nil)
	p = c.Player("fake")
	other := ask("a")
	other.MaxTokens, other.IdempotencyKey, other.TraceID, other.Metadata = 7, "k", "t", map[string]string{"m": "d"} // ignored members
	for _, step := range []struct {
		req  *llm.Request
		want string
	}{
		{ask("c"), "c 4"}, {ask("a"), "a 1"}, {other, "a 3"}, {ask("b"), "b 2"}, {ask("a"), "a 5"},
		{ask("a"), "error: fake: invalid_request: not_recorded: fake was called with this request 3 times " +
			"when it was recorded; each answer is replayed once"},
	} {
		if got := say(p, step.req); got != step.want {
			t.Errorf("%s: expected %s", got, step.want)
		}
	}
	if n := c.Left(); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// Generated ids are ignored; other ids are compared.
func TestMadeIDs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	p := open(t, path, &replay.Options{Mode: replay.Record}).Provider(counting())
	say(p, ask("\nses_abcdefghijklmnopqrstuvwx"+`{"session_id":"ses_abcdefghijklmnopqrstuvwx",`+
		`"of":"cnv_222222222222222222222222.7","at":"run-aaaaaaaaaaaaaaaa","chosen":"cnv_mine"}`))
	p = open(t, path, nil).Player("fake")
	if got := say(
		p, ask("\nses_222222222222222222222222"+`{"session_id":"ses_222222222222222222222222",`+
			`"of":"cnv_abcdefghijklmnopqrstuvwx.7","at":"run-bbbbbbbbbbbbbbbb","chosen":"cnv_yours"}`)); !strings.Contains(
		got, `differs at messages[0].text: recorded ...\",\"chosen\":\"cnv_mine\"}", now ...\",\"chosen\":\"cnv_yours\"}"`) {
		t.Error(got)
	}
	if got := say(
		p, ask("\nses_222222222222222222222222"+`{"session_id":"ses_222222222222222222222222",`+
			`"of":"cnv_abcdefghijklmnopqrstuvwx.7","at":"run-bbbbbbbbbbbbbbbb","chosen":"cnv_mine"}`)); !strings.HasSuffix(
		got, " 1") {
		t.Error(got)
	}
}

// Concurrent requests each get their own answer.
func TestParallel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	const n = 100
	each := func(p llm.Provider) map[string]string {
		var mu sync.Mutex
		var all sync.WaitGroup
		answers := map[string]string{}
		for i := range n {
			all.Go(func() {
				question := fmt.Sprint("q", i)
				answer := say(p, ask(question))
				mu.Lock()
				defer mu.Unlock()
				answers[question] = answer
			})
		}
		all.Wait()
		return answers
	}
	c := open(t, path, &replay.Options{Mode: replay.Record})
	recorded := each(c.Provider(counting()))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if played := each(open(t, path, nil).Player("fake")); !reflect.DeepEqual(played, recorded) {
		t.Errorf("%v: expected %v", played, recorded)
	}
}

// A missing request is reported with the difference from the most similar one.
func TestMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	p := open(t, path, &replay.Options{Mode: replay.Record}).Provider(counting())
	recorded := ask("the first of two questions about the weather")
	recorded.Instructions = "be brief"
	say(p, ask("another"))
	say(p, recorded)

	c := open(t, path, nil)
	now := ask("the first of two questions about the knee")
	now.Instructions = "be brief"
	_, err := c.Player("fake").Call(t.Context(), now, nil)
	var missing *replay.MissingError
	var pe *llm.ProviderError
	if !errors.As(err, &missing) || !errors.Is(err, replay.ErrNotRecorded) || !errors.As(err, &pe) || pe.Retryable {
		t.Fatalf("%v", err)
	}
	want := &replay.MissingError{
		What: "fake", Nearest: path + ":3", Path: "messages[0].text",
		Recorded: `...questions about the weather"`, Asked: `...questions about the knee"`,
	}
	if !reflect.DeepEqual(missing, want) {
		t.Errorf("%+v: expected %+v", missing, want)
	}
	if got := say(c.Player("vendor"), now); !strings.HasSuffix(got, "the cassette has no request to vendor") {
		t.Error(got)
	}
	if got := c.Providers(); !reflect.DeepEqual(got, []string{"fake"}) {
		t.Errorf("the providers are %q", got)
	}
}

// Auto replays recorded answers, and records all others.
func TestAuto(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	for _, want := range []string{"a 1, a 2", "a 1, a 2, a 1", "a 1, a 2, a 1, b 1"} {
		c := open(t, path, &replay.Options{Mode: replay.Auto})
		p := c.Provider(counting())
		var got []string
		for _, w := range strings.Split(want, ", ") {
			got = append(got, say(p, ask(w[:1])))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: expected %s", got, want)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An incomplete last line is reported and ignored, and removed when recording continues. An invalid
// earlier line is refused.
func TestBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	c := open(t, path, &replay.Options{Mode: replay.Record})
	p := c.Provider(counting())
	say(p, ask("a"))
	say(p, ask("b"))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.IndexByte(whole, '\n') + 1
	second += bytes.IndexByte(whole[second:], '\n') + 1
	for cut := range len(whole) {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		c := open(t, path, &replay.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		atEnd := cut == 0 || whole[cut-1] == '\n'
		if atEnd != (len(c.Broken()) == 0) || atEnd != (log.Len() == 0) {
			t.Fatalf("cut at %d: broken %q, told %q", cut, c.Broken(), &log)
		}
		if got := say(c.Player("fake"), ask("a")); (got == "a 1") != (cut >= second) {
			t.Fatalf("cut at %d: %s", cut, got)
		}
		if cut%7 != 0 {
			continue
		}
		c = open(t, path, &replay.Options{Mode: replay.Auto})
		say(c.Provider(counting()), ask("c"))
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = open(t, path, nil)
		if got := say(c.Player("fake"), ask("c")); got != "c 1" || len(c.Broken()) != 0 {
			t.Fatalf("cut at %d and gone on: %s, broken %q", cut, got, c.Broken())
		}
	}
	for _, damaged := range [][]byte{
		append([]byte("{}\n"), whole...), append(bytes.Clone(whole[:second]), "{\"provider\":\"fake\"}\n"...),
		[]byte("{\"parley_cassette\":2}\n"), []byte("words\n"),
		append(bytes.Clone(whole[:second+10]), '\n'),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, mode := range []replay.Mode{replay.Play, replay.Record, replay.Auto} {
			if _, err := replay.Open(path, &replay.Options{Mode: mode}); !errors.Is(err, replay.ErrNoCassette) {
				t.Errorf("%s of %.30q: %v", mode, damaged, err)
			}
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, damaged) {
			t.Errorf("%.30q was changed", damaged)
		}
	}
}

// A file has one writer and a directory any number. All of them are replayed.
func TestWriters(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "run.jsonl")
	c := open(t, path, &replay.Options{Mode: replay.Record})
	if _, err := replay.Open(path, &replay.Options{Mode: replay.Record}); !errors.Is(err, parley.ErrAlreadyExists) {
		t.Errorf("a second writer: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, path, &replay.Options{Mode: replay.Record})

	dir = filepath.Join(t.TempDir(), "[a*b]") // a name that looks like a pattern
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, question := range []string{"a", "b"} {
		c := open(t, dir, &replay.Options{Mode: replay.Record})
		say(c.Provider(counting()), ask(question))
	}
	p := open(t, dir, nil).Player("fake")
	for _, question := range []string{"a", "b"} {
		if got := say(p, ask(question)); got != question+" 1" {
			t.Error(got)
		}
	}
	if _, err := replay.Open(filepath.Join(dir, "none.jsonl"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cassette that is not there: %v", err)
	}
}

// Neither keys nor the ignored members of a request get into the cassette.
func TestSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	const key = `sk-"canary"<1>`
	c := open(t, path, &replay.Options{Mode: replay.Record, Secrets: []string{key, ""}})
	p := c.Provider(
		llmtest.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			return nil, &llm.ProviderError{Provider: "fake", Category: llm.CategoryAuthentication, Status: 401,
				Message: "no such key: " + key}
		}))
	req := ask("my key is " + key)
	req.IdempotencyKey, req.TraceID, req.Metadata = "idem-canary", "trace-canary", map[string]string{
		"meta-canary": "data-canary"}
	say(p, req)
	text, err := os.ReadFile(path)
	if err != nil || bytes.Contains(text, []byte("canary")) {
		t.Errorf("%s, %v", text, err)
	}
	if got := say(open(t, path, nil).Player("fake"),
		req); got != "error: fake: auth (HTTP 401): no such key: [secret]" {
		t.Error(got)
	}
}

// An answer that cannot be recorded is not returned, and nothing is recorded after it.
func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	c := open(t, path, &replay.Options{Mode: replay.Record})
	p := c.Provider(counting())
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := say(p, ask("a")); !strings.Contains(got, "record to "+path) {
		t.Error(got)
	}
}

// A canceled call is recorded up to that point. Complete answers are replayed first.
func TestCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	c := open(t, path, &replay.Options{Mode: replay.Record})
	slow := c.Provider(
		llmtest.Func(func(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
			err := emit(llm.Chunk{Text: "one"})
			if ctx.Value(slowly{}) != nil {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return &llm.Response{Text: "one", Finish: llm.FinishStop}, err
		}))
	cut := func(p llm.Provider) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), slowly{}, true))
		_, err := p.Call(ctx, ask("a"), func(llm.Chunk) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	whole := func(p llm.Provider) {
		t.Helper()
		if r, err := p.Call(t.Context(), ask("a"), func(llm.Chunk) error { return nil }); err != nil || r.Text != "one" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	cut(slow)
	whole(slow)
	p := open(t, path, nil).Player("fake")
	whole(p)
	cut(p)
}

type slowly struct{}
