package hub

// The rules of what is left out are held against an object in memory: to bring a hub to each of them takes a log of megabytes.

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

func portionOf(key string, fetch parley.FetchMethod, values ...string) *portion {
	k, _ := json.Marshal(key)
	p := &portion{key: k, source: parley.ContextSource{Key: key, Fetch: fetch}, list: fetch == parley.FetchRecent || fetch == parley.FetchVector}
	for i, v := range values {
		p.add(json.RawMessage(v), parley.Cause{Seq: int64(i + 1)})
	}
	return p
}

// TestContextIsShrunkInOrder walks through all that is left out, one step at a time.
func TestContextIsShrunkInOrder(t *testing.T) {
	at := parley.Timestamp(0)
	o := &object{
		trigger:  &parley.ContextTrigger{ConversationID: "c", Seq: 9, Type: "message", From: "ann", At: at, SchemaName: "s", Tags: []string{"t"}, Text: "hi", Data: json.RawMessage(`{"n":1}`)},
		triggers: []json.RawMessage{json.RawMessage(`{"seq":8}`), json.RawMessage(`{"seq":9}`)},
		portions: []*portion{
			portionOf("last", parley.FetchLatest, `"abcdef"`), portionOf("log", parley.FetchRecent, `"old"`, `"new"`, `"newest"`),
			portionOf("like", parley.FetchVector, `"most"`, `"less"`), portionOf("none", parley.FetchLatest), portionOf("asked", parley.FetchEventData, `{"n":1}`),
		},
	}
	const head = `{"trigger":{"conversation_id":"c","seq":9,"type":"message","from":"ann","at":"1970-01-01T00:00:00.000Z"`
	whole := head + `,"schema_name":"s","tags":["t"],"text":"hi","data":{"n":1}}`
	cut := head + `,"schema_name":"s","tags":["t"],"truncated":true}`
	bare := head + `,"schema_name":"s","truncated":true}`
	two := `,"triggers":[{"seq":8},{"seq":9}]`
	want := []string{
		whole + two + `,"last":"abcdef","log":["old","new","newest"],"like":["most","less"],"none":null,"asked":{"n":1}}`,
		whole + two + `,"last":"abcdef","log":["new","newest"],"like":["most","less"],"none":null,"asked":{"n":1}}`,
		whole + two + `,"last":"abcdef","log":["newest"],"like":["most","less"],"none":null,"asked":{"n":1}}`,
		whole + two + `,"last":"abcdef","log":["newest"],"like":["most"],"none":null,"asked":{"n":1}}`,
		whole + two + `,"last":"abcdef","log":[],"like":["most"],"none":null,"asked":{"n":1}}`,
		whole + two + `,"last":"abcdef","log":[],"like":[],"none":null,"asked":{"n":1}}`,
		whole + two + `,"last":"abcdef","log":[],"like":[],"none":null,"asked":null}`,
		whole + two + `,"last":null,"log":[],"like":[],"none":null,"asked":null}`,
		whole + `,"last":null,"log":[],"like":[],"none":null,"asked":null}`,
		cut + `,"last":null,"log":[],"like":[],"none":null,"asked":null}`,
		bare + `,"last":null,"log":[],"like":[],"none":null,"asked":null}`,
		bare + `,"last":null,"log":[],"like":[],"none":null}`,
		bare + `,"last":null,"log":[],"like":[]}`,
		bare + `,"last":null,"log":[]}`,
		bare + `,"last":null}`,
		bare + `}`,
		head + `,"truncated":true}}`,
	}
	for i, w := range want {
		got := string(o.encode())
		if got != w {
			t.Fatalf("step %d:\n%s\nwant\n%s", i, got, w)
		}
		if n := o.bytes(len(o.encodedTrigger())); n != len(got) {
			t.Fatalf("step %d: %d bytes are taken for %d", i, len(got), n)
		}
		o.bound = len(got) - 1
		o.shrink()
	}
	if log := o.portions[1].source; log.Dropped != 3 || len(log.Events) != 0 {
		t.Errorf("the source of log says %+v", log)
	}
}

// TestContextKeepsToItsBound: however large what is found is, and however many members there are, nothing is larger than the least bound.
func TestContextKeepsToItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		o := &object{bound: parley.MinContextBytes + rng.IntN(4000)}
		if rng.IntN(4) > 0 {
			o.trigger = &parley.ContextTrigger{
				ConversationID: strings.Repeat("c", 64), Seq: 1 << 60, Type: "message", From: strings.Repeat("f", 64), SchemaName: strings.Repeat("\x01", rng.IntN(129)),
				Tags: slices.Repeat([]string{strings.Repeat("t", 128)}, rng.IntN(33)), Text: strings.Repeat("x", rng.IntN(3000)), Data: json.RawMessage(`"` + strings.Repeat("d", rng.IntN(100_000)) + `"`),
			}
			for range rng.IntN(3) {
				o.triggers = append(o.triggers, json.RawMessage(`"`+strings.Repeat("w", rng.IntN(2000))+`"`))
			}
		}
		for i := range rng.IntN(33) {
			fetch := []parley.FetchMethod{parley.FetchLatest, parley.FetchRecent, parley.FetchVector}[rng.IntN(3)]
			var values []string
			for range rng.IntN(100) {
				values = append(values, `"`+strings.Repeat("v", rng.IntN(500))+`"`)
			}
			if fetch == parley.FetchLatest && len(values) > 1 {
				values = values[:1]
			}
			o.portions = append(o.portions, portionOf(fmt.Sprintf("%0128d", i), fetch, values...))
		}
		o.shrink()
		got := o.encode()
		if len(got) > o.bound || !json.Valid(got) {
			t.Fatalf("%d bytes, at most %d: %s", len(got), o.bound, got)
		}
	}
}

// TestRemarkIsNotMissed holds the quick look at an event against the decoded one.
func TestRemarkIsNotMissed(t *testing.T) {
	const head = `{"seq":3,"turn":1,"type":`
	for event, want := range map[string]bool{
		head + `"trace","from":"a","at":"2026-01-01T00:00:00.000Z","payload":{"kind":"k"}}`:                                                                       false,
		head + `"message","from":"a","at":"2026-01-01T00:00:00.000Z","finality":"none","payload":{"text":"t"}}`:                                                   false,
		head + `"message","from":"a","at":"2026-01-01T00:00:00.000Z","finality":"turn","payload":{"text":"\"finality\":\"none\""}}`:                               true,
		head + `"message","from":"a","at":"2026-01-01T00:00:00.000Z","finality":"conversation","payload":{"text":"t"}}`:                                           true,
		head + `"message","from":"hub","at":"2026-01-01T00:00:00.000Z","finality":"turn","payload":{"text":"t"}}`:                                                 false,
		`{"seq":3,"type":"system","from":"a","at":"2026-01-01T00:00:00.000Z","payload":{"kind":"note","schema":"s","data":1}}`:                                    true,
		`{"seq":3,"type":"system","from":"hub","at":"2026-01-01T00:00:00.000Z","payload":{"kind":"participant_added","title":"note"}}`:                            false,
		` {"at":"2026-01-01T00:00:00.000Z","payload":{"schema":"s","data":1,"kind":"note"}, "from":"a", "seq":3, "type":"system"}`:                                true,
		` {"at":"2026-01-01T00:00:00.000Z","payload":{"data":{"finality":"none"}}, "finality": "turn", "from":"a", "seq":3, "turn":1, "type":"message"}`:          true,
		`{"seq":3,"type":"system","from":"a","at":"2026-01-01T00:00:00.000Z","payload":{"schema":"s","kind":"note","data":1}}`:                                    true,
		`{"seq":3,"turn":1,"from":"a","type":"message","at":"2026-01-01T00:00:00.000Z","payload":{"text":"t","data":{"finality":"none"}},"finality":"turn"}`:      true,
		`{"seq":3,"turn":1,"type":"message","from":"a","at":"2026-01-01T00:00:00.000Z","payload":{"text":"t","data":{"type":"trace"}},"finality":"turn"}`:         true,
		`{"seq":3,"turn":1,"type":"message","from":"a","at":"2026-01-01T00:00:00.000Z","payload":{"text":"t","data":{"kind":"note"}},"finality":"none"}`:          false,
		`{"seq":3,"turn":1,"type":"message","from":"a","at":"2026-01-01T00:00:00.000Z","finality":"turn","payload":{"text":"t","data":null},"hops":1,"cause":{}}`: true,
	} {
		r, err := remarkIn([]byte(event))
		if err != nil || (r != nil) != want {
			t.Errorf("%s: %+v, %v", event, r, err)
		}
		if want && !canBeRemark([]byte(event)) {
			t.Errorf("missed: %s", event)
		}
	}
	if canBeRemark([]byte(head+`"trace","from":"a","at":"x","payload":{}}`)) || canBeRemark([]byte(head+`"message","from":"a","at":"x","finality":"none","payload":{}}`)) ||
		canBeRemark([]byte(`{"seq":3,"type":"system","from":"hub","at":"x","payload":{"kind":"turn_claimed"}}`)) {
		t.Error("what the hub has written is decoded for nothing")
	}
	if !mayName([]byte(`{"schema":"a\u002ev1"}`), [][]byte{[]byte(`"a.v1"`)}) || mayName([]byte(`{"schema":"b.v1"}`), [][]byte{[]byte(`"a.v1"`)}) || !mayName([]byte(`{}`), nil) {
		t.Error("a schema is missed, or looked for in vain")
	}
}
