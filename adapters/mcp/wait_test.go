package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
)

// waitingIDE is an IDE in a synctest bubble that can ask for progress.
type waitingIDE struct {
	*ide
	asks bool // for progress
	told []progressSign
}

// progressSign is a progress notification.
type progressSign struct {
	at       time.Time
	progress float64
	text     string
}

func newWaitingIDE(t *testing.T, s *mcp.Server, name, era string, asks bool) *waitingIDE {
	t.Helper()
	w := &waitingIDE{asks: asks}
	w.ide = serveAs(t, s, name, era, &protocol.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *protocol.ProgressNotificationClientRequest) {
		w.told = append(w.told, progressSign{time.Now(), r.Params.Progress, r.Params.Message})
	}})
	return w
}

type waitResult struct {
	updates
	Guidance struct{ Kind string }
	WaitedMs int64 `json:"waited_ms"`
	CapMs    int64 `json:"cap_ms"`
}

// waits makes a call and returns its duration.
func (w *waitingIDE) waits(args map[string]any) (u waitResult, text string, took time.Duration) {
	w.t.Helper()
	p := &protocol.CallToolParams{Name: "wait_for_updates", Arguments: args}
	if w.asks {
		p.SetProgressToken("t1")
	}
	start := time.Now()
	r, err := w.session.CallTool(w.t.Context(), p)
	took = time.Since(start)
	if err != nil || r.IsError {
		w.t.Fatalf("%v: %v, %+v", args, err, r)
	}
	if err := json.Unmarshal(raw(w.t, r.StructuredContent), &u); err != nil {
		w.t.Fatal(err)
	}
	return u, schemaText(r), took
}

// A wait takes 20 s by default and at most 50 s, or more for a client that is known to wait longer
// and asks for progress. A caller that asks for progress receives it every 10 s. A timeout is a
// short success that names the next call and the limit.
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		for _, c := range []struct {
			client string
			asks   bool
			more   time.Duration // MaxWait of the adapter
			args   map[string]any
			want   time.Duration
			most   time.Duration
		}{
			{"test-ide", true, 0, nil, 20 * time.Second, 50 * time.Second},
			{"test-ide", false, 0, nil, 20 * time.Second, 50 * time.Second},
			{"test-ide", true, 0, map[string]any{"wait_seconds": 0}, 0, 50 * time.Second},
			{"test-ide", true, 0, map[string]any{"wait_seconds": 300}, 50 * time.Second, 50 * time.Second},
			{"test-ide", true, 2 * time.Minute, map[string]any{"wait_seconds": 300}, 2 * time.Minute, 2 * time.Minute},
			{"claude-code", true, 0, map[string]any{"wait_seconds": 300}, 170 * time.Second, 170 * time.Second},
			{"claude-code", false, 0, map[string]any{"wait_seconds": 300}, 50 * time.Second, 50 * time.Second},
			{"claude-code", true, 0, nil, 20 * time.Second, 170 * time.Second},
		} {
			t.Run(fmt.Sprintf("%s/%s/asks %t/%v", era, c.client, c.asks, c.args["wait_seconds"]), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLabWith(t, &mcp.Options{MaxWait: c.more})
					w := newWaitingIDE(t, l.s, c.client, era, c.asks)
					args := map[string]any{"conversation_id": l.id, "since_seq": 1}
					for k, v := range c.args {
						args[k] = v
					}
					u, text, took := w.waits(args)
					if took != c.want || u.TimedOut != (c.want > 0) || u.MaySpeak || u.CapMs != c.most.Milliseconds() ||
						u.WaitedMs != took.Milliseconds() || u.SinceSeq != 1 {
						t.Errorf("after %s, expected %s, of at most %s: %+v", took, c.want, c.most, u)
					}
					next := fmt.Sprintf("wait_for_updates {conversation_id: %q, since_seq: 1", l.id)
					if len(text) > 400 || !strings.Contains(text, next) || u.TimedOut && !strings.Contains(text, "nothing is lost") {
						t.Errorf("a wait without messages has %d bytes: %s", len(text), text)
					}
					asked, _ := c.args["wait_seconds"].(int)
					if cut := strings.Contains(text, fmt.Sprintf("at most %v s", c.most.Seconds())); cut != (asked == 300) {
						t.Errorf("the notice of the limit: %s", text)
					}
					w.checkSigns(took)
				})
			})
		}
	}
}

// checkSigns checks the progress notifications of a wait.
func (w *waitingIDE) checkSigns(took time.Duration) {
	w.t.Helper()
	synctest.Wait()
	want := 0
	if w.asks {
		want = int(took / (10 * time.Second))
	}
	if n := len(w.told); n != want && n != want-1 { // the last one would come with the answer
		w.t.Errorf("%d signs of life in %s", n, took)
	}
	for i, s := range w.told {
		if i > 0 && (s.progress <= w.told[i-1].progress || s.at.Sub(w.told[i-1].at) != 10*time.Second) || s.text == "" {
			w.t.Errorf("sign %d: %+v after %+v", i, s, w.told[max(0, i-1)])
		}
	}
}

// A wait ends with its condition and nothing less. The default is the turn of the caller. Every
// wait ends when the conversation is closed.
func TestWaitUntil(t *testing.T) {
	t.Parallel()
	const trace, word, turn, end = 1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second
	for _, era := range eras {
		for until, want := range map[string]time.Duration{"": turn, "my_turn": turn, "message": word, "any": trace,
			"closed": end} {
			for _, closes := range []bool{false, true} { // close at once, without the other steps
				t.Run(fmt.Sprintf("%s/%s/%t", era, until, closes), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l := newLab(t)
						w := newWaitingIDE(t, l.s, "test-ide", era, false)
						go l.runBob(closes)
						args := map[string]any{"conversation_id": l.id, "since_seq": 1}
						if until != "" {
							args["until"] = until
						}
						u, text, took := w.waits(args)
						expected := want
						if closes {
							expected = trace
						}
						if took != expected || u.TimedOut {
							t.Errorf("after %s, expected %s: %s", took, expected, text)
						}
						if ended := closes || until == "closed"; ended != (u.Status == "closed") ||
							ended != (u.Guidance.Kind == "closed") || ended && !strings.Contains(text, "closed") {
							t.Errorf("closed is %t: %+v: %s", ended, u, text)
						}
						if speaks := took == turn; u.MaySpeak != speaks || speaks && !strings.Contains(text,
							"You may speak: post_message") {
							t.Errorf("may speak is %t: %s", u.MaySpeak, text)
						}
						time.Sleep(10 * time.Second) // in the bubble, until bob has finished
					})
				})
			}
		}
	}
}

// runBob lets bob add a trace, post a message, end his turn and close the conversation, one second
// apart. With closes, he only closes it after a second.
func (l *lab) runBob(closes bool) {
	steps := []func() error{
		func() error {
			_, err := l.bob.SendTrace(context.Background(), &parley.SendTraceParams{ConversationID: l.id,
				Payload: raw(l.t, parley.Trace{Kind: "thought", Text: "hm"})})
			return err
		},
		l.post("a word", parley.FinalityNone), l.post("that is all", parley.FinalityTurn),
		func() error {
			_, err := l.bob.CloseConversation(context.Background(), &parley.CloseConversationParams{ConversationID: l.id})
			return err
		},
	}
	if closes {
		steps = steps[3:]
	}
	for _, step := range steps {
		time.Sleep(time.Second) // in the bubble
		if err := step(); err != nil {
			l.t.Error(err)
		}
	}
}

func (l *lab) post(text string, f parley.Finality) func() error {
	return func() error {
		_, err := l.bob.SendMessage(context.Background(), &parley.SendMessageParams{ConversationID: l.id,
			Payload: raw(l.t, parley.Message{Text: text}), Finality: f})
		return err
	}
}
