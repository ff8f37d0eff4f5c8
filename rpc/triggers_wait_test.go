package rpc_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/methods"
)

// silent is an embedder that never answers.
type silent struct{}

func (silent) Name() string { return "silent" }

func (silent) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestReadsDoNotWaitForTheEmbedder: while a call waits for the embedder, other calls on its
// connection are answered.
func TestReadsDoNotWaitForTheEmbedder(t *testing.T) {
	for method, params := range map[string]string{
		methods.GetContext:      `{"conversationId":"case","agentId":"bot"}`,
		methods.ExplainTriggers: `{"conversationId":"case","seq":3}`,
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, journal: memory.New(), ids: map[string]int{}, embeds: silent{}}
				w.start()
				t.Cleanup(w.end)
				bot, ann := w.with(w.as("admin").token(`{"agentId":"bot"}`)), w.as("ann")
				bot.must(methods.RegisterExecutor, `{"executorId":"h","agents":[],"mode":"push","graceMs":180000}`)
				bot.must(methods.RegisterBlueprints, `{"blueprints":[{"name":"bot","parameters_schema":{"type":"object"},
					"subscriptions":[{"any_tags":["ask"]},{"schema_name":"page.v1","role":"context","fetch":"vector"}]}]}`)
				ann.create(`{"conversationId":"case","policy":{"kind":"triggers"},"participants":[{"id":"ann","kind":"human"},` +
					`{"id":"bot","kind":"agent"}]}`)
				ann.must(methods.SendNote, `{"conversationId":"case","payload":{"schema":"page.v1","data":"roots"}}`)
				ann.must(methods.SendMessage,
					`{"conversationId":"case","payload":{"text":"roots?","tags":["ask"]},"finality":"turn"}`)
				waits := bot.start(method, params)
				synctest.Wait()
				for _, read := range []struct{ method, params string }{{methods.Tail,
					`{"conversationId":"case","sinceSeq":0}`}, {methods.GetConversation, `{"conversationId":"case"}`}} {
					bot.must(read.method, read.params)
				}
				if _, answered, _ := bot.look(func(f string) bool { return parseReply(t, f).is(waits) }); answered {
					t.Error("the call has not waited for the embedder, so that this proves nothing")
				}
			})
		})
	}
}

// is reports whether the reply is that to a call.
func (r reply) is(id string) bool { return string(r.ID) == id }
