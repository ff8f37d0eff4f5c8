package rpc_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/internal/methods"
)

// TestEventsAreStoredBytes: all methods return the same bytes of an event, for any members around
// it.
func TestEventsAreStoredBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := w.as("alice")
		trap := `{"events":[],"nextSeq":9,"messages":["<&>"]}`
		p.create(`{"conversationId":"case","title":"\"events\":[],\"nextSeq\":","participants":[{"id":"alice",` +
			`"kind":"peer"}],"metadata":` + trap + `}`)
		p.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"<&>\u2028\u00e9\ud83d\ude00","data":`+
			trap+`,"n":1.0e5},"finality":"turn"}`)
		want := `{"seq":2,"turn":1,"type":"message","from":"alice","at":"2000-01-01T00:00:00.000Z","finality":"turn",` +
			`"payload":{"text":"<&>\u2028\u00e9\ud83d\ude00","data":` + trap + `,"n":1.0e5}}`
		for method, params := range map[string]string{
			methods.GetConversation: `{"conversationId":"case","sinceSeq":1}`,
			methods.Tail:            `{"conversationId":"case","sinceSeq":1}`,
			methods.GetUpdates:      `{"conversationId":"case"}`,
		} {
			result := p.must(method, params)
			var r struct {
				Events   []json.RawMessage `json:"events"`
				Messages []json.RawMessage `json:"messages"`
				Metadata json.RawMessage   `json:"metadata"`
			}
			if err := json.Unmarshal(result, &r); err != nil {
				t.Fatal(err)
			}
			got := append(r.Events, r.Messages...)
			if len(got) != 1 || string(got[0]) != want {
				t.Errorf("%s gives %s", method, got)
			}
			if method == methods.GetConversation && string(r.Metadata) != trap {
				t.Errorf("metadata is %s", r.Metadata)
			}
		}
		p.must(methods.Subscribe, `{"conversationId":"case","sinceSeq":1}`)
		p.find("the event", func(f string) bool { return strings.HasSuffix(f, `"event":`+want+`}}`) })
	})
}

// TestUnsubscribeIsTheEnd: no notification follows its answer, also if many are on their way.
func TestUnsubscribeIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		writer, p := w.as("alice"), w.as("bob")
		writer.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"},{"id":"bob","kind":"peer"}]}`)
		for round := range 20 {
			p.must(methods.Subscribe, `{"conversationId":"case"}`)
			for range 10 {
				writer.start(methods.SendMessage, `{"conversationId":"case","payload":{"text":"a"},"finality":"none"}`)
			}
			id := p.start(methods.Unsubscribe, fmt.Sprintf(`{"subscriptionId":"sub_%d"}`, round+1))
			synctest.Wait()
			frames := p.take()
			if last := frames[len(frames)-1]; !strings.HasPrefix(last, `{"jsonrpc":"2.0","id":`+id) {
				t.Fatalf("round %d: after the answer came %s", round, last)
			}
		}
	})
}

// TestWritesKeepTheirOrder: many writes that are sent without waiting take effect in the order of
// their frames.
func TestWritesKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := w.as("alice")
		p.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"}]}`)
		for round := range 20 {
			var ids []string
			for range 30 {
				ids = append(ids, p.start(methods.SendMessage,
					`{"conversationId":"case","payload":{"text":"a"},"finality":"none"}`))
			}
			for i, id := range ids {
				want := fmt.Sprintf(`"result":{"seq":%d,"turn":1}`, 2+round*30+i)
				if got := p.reply(id); !strings.Contains(got, want) {
					t.Fatalf("%s, want %s", got, want)
				}
			}
		}
	})
}
