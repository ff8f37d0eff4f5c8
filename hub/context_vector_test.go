package hub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/vector"
)

// asking is an Embedder that counts the texts that it was asked about.
type asking struct {
	texts atomic.Int64
	embed func(ctx context.Context, texts []string) ([][]float32, error)
}

func (*asking) Name() string { return "counted" }

func (a *asking) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	a.texts.Add(int64(len(texts)))
	return a.embed(ctx, texts)
}

const similar = `[{"schema_name":"go.v1"},{"schema_name":"doc.v1","role":"context","fetch":{"method":"vector","nn":2},"key":"docs"},
	{"any_tags":["x"],"role":"context","fetch":"vector","key":"none"},{"schema_name":"doc.v1","role":"context","key":"last"}]`

// wonders starts a session of calc by a note, with documents before it, and returns its runner and
// session.
func wonders(t testing.TB, h *hub.Hub, docs ...string) (x *host, session, id string, seq int64) {
	t.Helper()
	x = listeners(t, h, listens("calc", similar))
	ann := h.LocalPrincipal("ann")
	id = create(t, h, ann, hall("calc"))
	for _, d := range docs {
		noting(t, h, ann, id, "doc.v1", d)
	}
	seq = noting(t, h, ann, id, "go.v1", `{"input":{"n":1},"about":"refund of my order"}`)
	o := x.oneOffer()
	x.take(o.ConversationID, o.ClaimID)
	return x, o.ConversationID, id, seq
}

var docs = []string{`"weather in lisbon"`, `{"title":"how a refund of an order is paid","n":1}`, `"servers have failed"`, `"refund"`}

func TestContextByVector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), counted("x"))
		x, ses, _, _ := wonders(t, h, docs...)
		r := fed(t, h, x.p, parley.GetContextParams{ConversationID: ses})
		_, rest, _ := strings.Cut(string(r.Context), `,"docs":`)
		if rest != `[{"title":"how a refund of an order is paid","n":1},"refund"],"none":[],"last":"refund"}` {
			t.Errorf("the context is %s", r.Context)
		}
		sourcesAre(t, r, "docs vector 3 5", "none vector", "last latest 5")
		if r.Sources[0].Embedder != vector.LexicalName || r.Sources[2].Embedder != "" {
			t.Errorf("sources %+v", r.Sources)
		}
	})
}

// TestContextWithoutAnEmbedder: if the embedder fails, returns invalid vectors, or does not return,
// its source has an error in time, and the other sources are complete.
func TestContextWithoutAnEmbedder(t *testing.T) {
	for name, c := range map[string]struct {
		embed func(ctx context.Context, texts []string) ([][]float32, error)
		want  string
	}{
		"fails": {func(context.Context, []string) ([][]float32, error) { return nil, errors.New("no such model") },
			"embedder counted: no such model"},
		"too few": {func(context.Context, []string) ([][]float32, error) { return [][]float32{{1}}, nil },
			"vector: the embedder has not given a vector of finite numbers for each text: 1 for 5 texts"},
		"waits": {func(ctx context.Context, _ []string) ([][]float32, error) { <-ctx.Done(); return nil, ctx.Err() },
			"the time to fetch was over"},
		"goes on": {func(context.Context, []string) ([][]float32, error) { time.Sleep(time.Hour); return nil, nil },
			"the time to fetch was over"},
		"long word": {func(context.Context, []string) ([][]float32, error) {
			return nil, errors.New(strings.Repeat("é", 1000))
		}, "embedder counted: " + strings.Repeat("é", 119)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := counted("x")
				o.Embedder = &asking{embed: c.embed}
				h := startOn(t, newJournal(t), o)
				x, ses, _, _ := wonders(t, h, docs...)
				began := time.Now()
				r, err := h.GetContext(t.Context(), x.p, &parley.GetContextParams{ConversationID: ses})
				if err != nil || time.Since(began) > 30*time.Second {
					t.Fatalf("%v, after %s", err, time.Since(began))
				}
				sourcesAre(t, r, "docs vector "+c.want, "none vector", "last latest 5")
				if !strings.HasSuffix(string(r.Context), `,"docs":[],"none":[],"last":"refund"}`) {
					t.Errorf("the context is %s", r.Context)
				}
				pass(time.Hour) // so that the pending call returns, for which nothing has waited
			})
		})
	}
}

// TestContextsWithoutVectorsDoNotWait: however many wait for an embedder that does not answer, one that needs no vectors is there at once.
func TestContextsWithoutVectorsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := counted("x")
		o.Embedder = &asking{embed: func(ctx context.Context, _ []string) ([][]float32,
			error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		h := startOn(t, newJournal(t), o)
		listeners(t, h, listens("calc", similar), listens("plain", `[{"schema_name":"other.v1"},{"schema_name":"doc.v1","role":"context","key":"last"}]`))
		id := create(t, h, h.LocalPrincipal("ann"), hall("calc", "plain"))
		for _, d := range docs {
			noting(t, h, h.LocalPrincipal("ann"), id, "doc.v1", d)
		}
		ask := message(id, "", parley.FinalityTurn, "")
		ask.Payload = json.RawMessage(`{"text":"refund?"}`)
		say(t, h, h.LocalPrincipal("ann"), ask)
		root := h.LocalPrincipal("root", parley.ScopeAdmin)
		var wg sync.WaitGroup
		defer wg.Wait()
		for range 20 {
			wg.Go(func() {
				_, _ = h.GetContext(t.Context(), root, &parley.GetContextParams{ConversationID: id, AgentID: "calc"})
			})
		}
		synctest.Wait()
		began := time.Now()
		r := fed(t, h, root, parley.GetContextParams{ConversationID: id, AgentID: "plain"})
		if took := time.Since(began); took > 0 || !strings.HasSuffix(string(r.Context), `,"last":"refund"}`) {
			t.Errorf("after %s: %s", took, r.Context)
		}
	})
}

// TestContextTellsOfADamagedFile: the log of the hub reports once that a file of vectors was set
// aside.
func TestContextTellsOfADamagedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "vectors")
		if err := os.WriteFile(file, []byte("notes of somebody\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		o := counted("x")
		o.VectorFile, o.Logger = file, slog.New(slog.NewTextHandler(&said, nil))
		h := startOn(t, newJournal(t), o)
		x, ses, _, _ := wonders(t, h, docs...)
		for range 2 {
			fed(t, h, x.p, parley.GetContextParams{ConversationID: ses})
		}
		if n := strings.Count(said.String(), "level=WARN"); n != 1 ||
			!strings.Contains(said.String(), "aside="+file+".aside") {
			t.Errorf("%d warnings: %s", n, said.String())
		}
	})
}

// TestContextKeepsVectors: after a restart no vector is computed again, and new vectors of a model
// with the same name are compared with each other only.
func TestContextKeepsVectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, file := newJournal(t), filepath.Join(t.TempDir(), "vectors")
		length := 3
		e := &asking{embed: func(_ context.Context, texts []string) ([][]float32, error) {
			var out [][]float32
			for _, text := range texts {
				v := make([]float32, length)
				v[0], v[1] = 1, float32(strings.Count(text, "refund"))
				out = append(out, v)
			}
			return out, nil
		}}
		o := counted("x")
		o.Embedder, o.VectorFile = e, file
		h, err := hub.Open(j, o)
		if err != nil {
			t.Fatal(err)
		}
		x, ses, _, _ := wonders(t, h, docs...)
		r := fed(t, h, x.p, parley.GetContextParams{ConversationID: ses})
		if n := e.texts.Load(); n != 5 || r.Sources[0].Embedder != "counted" {
			t.Errorf("it was asked about %d texts; sources %+v", n, r.Sources)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		h = startOn(t, j, o)
		synctest.Wait()
		root := h.LocalPrincipal("root", parley.ScopeAdmin)
		if again := fed(t, h, root,
			parley.GetContextParams{ConversationID: ses}); string(again.Context) != string(r.Context) || e.texts.Load() != 5 {
			t.Errorf("after a restart it was asked about %d texts: %s", e.texts.Load(), again.Context)
		}
		length = 4
		id := recordOf(t, j, ses).Parent
		noting(t, h, h.LocalPrincipal("ann"), id, "doc.v1", `"refund refund refund"`)
		if changed := fed(t, h, root, parley.GetContextParams{ConversationID: ses}); changed.Sources[0].Error != "" ||
			e.texts.Load() != 5+1+5 {
			t.Errorf("another model was asked about %d texts: %+v", e.texts.Load(), changed.Sources)
		}
	})
}

// TestContextLeavesOut is the bound at the door: a trigger that is larger than that, and lists that are.
func TestContextLeavesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), counted("x"))
		b := counter("calc")
		b.Subscriptions = json.RawMessage(`{"max_context_bytes":1024,"selectors":[{"schema_name":"go.v1"},{"schema_name":"doc.v1","role":"context","fetch":"recent","key":"docs"}]}`)
		x := listeners(t, h, b)
		ann := h.LocalPrincipal("ann")
		id := create(t, h, ann, hall("calc"))
		for i := range 20 {
			noting(t, h, ann, id, "doc.v1", fmt.Sprintf(`"%0200d"`, i))
		}
		noting(t, h, ann, id, "doc.v1", `"`+strings.Repeat("x", 100_000)+`"`)
		for i := range 2 {
			noting(t, h, ann, id, "doc.v1", fmt.Sprintf(`"%0200d"`, i))
		}
		noting(t, h, ann, id, "go.v1", `{"input":{"n":1}}`)
		first := x.oneOffer()
		x.take(first.ConversationID, first.ClaimID)
		r := fed(t, h, x.p, parley.GetContextParams{ConversationID: first.ConversationID})
		sourcesAre(t, r, "docs recent 23 24 -8")
		noting(t, h, ann, id, "go.v1", `{"input":{"n":1},"more":"`+strings.Repeat("y", 300_000)+`"}`)
		second := x.oneOffer()
		x.take(second.ConversationID, second.ClaimID)
		r = fed(t, h, x.p, parley.GetContextParams{ConversationID: second.ConversationID})
		if len(r.Context) > 1024 || !strings.Contains(string(r.Context), `"truncated":true`) || !strings.HasSuffix(string(r.Context), `,"docs":[]}`) {
			t.Errorf("%s", r.Context)
		}
	})
}

// TestContextIsOfWhatCounts: words of a turn that was given up are no context; a note beside them is.
func TestContextIsOfWhatCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), counted("x"))
		b := counter("calc")
		b.Subscriptions = json.RawMessage(`[{"schema_name":"go.v1"},{"any_tags":["k"],"role":"context","fetch":"recent","key":"k"}]`)
		x := listeners(t, h, b)
		bot := push(t, h, "w", "bot")
		ann := h.LocalPrincipal("ann")
		q := hall("calc")
		q.Participants = append(q.Participants, parley.Participant{ID: "bot", Kind: parley.KindAgent})
		q.StartsWith, q.Policy = "bot", &parley.Policy{Kind: parley.PolicyOpen}
		id := create(t, h, ann, q)
		claim := bot.claim()
		m := message(id, "", parley.FinalityNone, "")
		m.Payload, m.ClaimID = json.RawMessage(`{"text":"half","tags":["k"]}`), claim.ClaimID
		say(t, h, bot.p, m)
		if _, err := one(func(done func(parley.SeqResult, error)) {
			h.SendNote(ann, &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "n.v1", Tags: []string{"k"}, Data: json.RawMessage(`"between"`)}}, done)
		}); err != nil {
			t.Fatal(err)
		}
		if err := release(h, bot.p, id, claim.ClaimID, parley.ReleaseFailed); err != nil {
			t.Fatal(err)
		}
		noting(t, h, ann, id, "go.v1", `{"input":{"n":1}}`)
		o := x.oneOffer()
		x.take(o.ConversationID, o.ClaimID)
		r := fed(t, h, x.p, parley.GetContextParams{ConversationID: o.ConversationID})
		if !strings.HasSuffix(string(r.Context), `,"k":["between"]}`) {
			t.Errorf("%s", r.Context)
		}
	})
}
