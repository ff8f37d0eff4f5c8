package agentcontext

// These tests are in the package because a hub needs megabytes of log to reach each step of shrink.

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

func newTestMember(key string, fetch parley.FetchMethod, values ...string) *member {
	k, _ := json.Marshal(key)
	m := &member{key: k, source: parley.ContextSource{Key: key, Fetch: fetch}}
	m.isList = fetch == parley.FetchRecent || fetch == parley.FetchVector
	for i, v := range values {
		m.addValue(json.RawMessage(v), parley.Cause{Seq: int64(i + 1)})
	}
	return m
}

func TestDocument_ShrinksInOrder(t *testing.T) {
	d := &document{
		trigger: &parley.ContextTrigger{
			ConversationID: "c", Seq: 9, Type: "message", From: "ann",
			SchemaName: "s", Tags: []string{"t"}, Text: "hi", Data: json.RawMessage(`{"n":1}`),
		},
		triggers: []json.RawMessage{json.RawMessage(`{"seq":8}`), json.RawMessage(`{"seq":9}`)},
		members: []*member{
			newTestMember("last", parley.FetchLatest, `"abcdef"`),
			newTestMember("log", parley.FetchRecent, `"old"`, `"new"`, `"newest"`),
			newTestMember("like", parley.FetchVector, `"most"`, `"less"`),
			newTestMember("none", parley.FetchLatest),
			newTestMember("asked", parley.FetchEventData, `{"n":1}`),
		},
	}
	const (
		head  = `{"trigger":{"conversation_id":"c","seq":9,"type":"message","from":"ann","at":"1970-01-01T00:00:00.000Z"`
		whole = head + `,"schema_name":"s","tags":["t"],"text":"hi","data":{"n":1}}`
		cut   = head + `,"schema_name":"s","tags":["t"],"truncated":true}`
		bare  = head + `,"schema_name":"s","truncated":true}`
		two   = whole + `,"triggers":[{"seq":8},{"seq":9}]`
		asked = `,"none":null,"asked":{"n":1}}`
		empty = `,"last":null,"log":[],"like":[],"none":null,"asked":null}`
	)
	want := []string{
		two + `,"last":"abcdef","log":["old","new","newest"],"like":["most","less"]` + asked,
		two + `,"last":"abcdef","log":["new","newest"],"like":["most","less"]` + asked,
		two + `,"last":"abcdef","log":["newest"],"like":["most","less"]` + asked,
		two + `,"last":"abcdef","log":["newest"],"like":["most"]` + asked,
		two + `,"last":"abcdef","log":[],"like":["most"]` + asked,
		two + `,"last":"abcdef","log":[],"like":[]` + asked,
		two + `,"last":"abcdef","log":[],"like":[],"none":null,"asked":null}`,
		two + empty,
		whole + empty,
		cut + empty,
		bare + empty,
		bare + `,"last":null,"log":[],"like":[],"none":null}`,
		bare + `,"last":null,"log":[],"like":[]}`,
		bare + `,"last":null,"log":[]}`,
		bare + `,"last":null}`,
		bare + `}`,
		head + `,"truncated":true}}`,
	}
	for i, w := range want {
		got := string(d.encode())
		if got != w {
			t.Fatalf("step %d:\n%s\nwant\n%s", i, got, w)
		}
		if n := d.encodedLen(len(d.encodeTrigger())); n != len(got) {
			t.Fatalf("step %d: encodedLen is %d, want %d", i, n, len(got))
		}
		d.bound = len(got) - 1
		d.shrink()
	}
	if log := d.members[1].source; log.Dropped != 3 || len(log.Events) != 0 {
		t.Errorf("the source of log is %+v", log)
	}
}

func TestDocument_KeepsItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		d := &document{bound: limits.MinContextBytes + rng.IntN(4000)}
		if rng.IntN(4) > 0 {
			d.trigger = &parley.ContextTrigger{
				ConversationID: strings.Repeat("c", 64), Seq: 1 << 60, Type: "message", From: strings.Repeat("f", 64),
				SchemaName: strings.Repeat("\x01", rng.IntN(129)),
				Tags:       slices.Repeat([]string{strings.Repeat("t", 128)}, rng.IntN(33)),
				Text:       strings.Repeat("x", rng.IntN(3000)),
				Data:       json.RawMessage(`"` + strings.Repeat("d", rng.IntN(100_000)) + `"`),
			}
			for range rng.IntN(3) {
				d.triggers = append(d.triggers, json.RawMessage(`"`+strings.Repeat("w", rng.IntN(2000))+`"`))
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
			d.members = append(d.members, newTestMember(fmt.Sprintf("%0128d", i), fetch, values...))
		}
		d.shrink()
		got := d.encode()
		if len(got) > d.bound || !json.Valid(got) {
			t.Fatalf("%d bytes, at most %d: %s", len(got), d.bound, got)
		}
	}
}

// TestEntry_IsNotSkipped compares mayBeEntry with the decoded events.
func TestEntry_IsNotSkipped(t *testing.T) {
	const (
		ann     = `"from":"a","at":"2026-01-01T00:00:00.000Z",`
		hub     = `"from":"hub","at":"2026-01-01T00:00:00.000Z",`
		message = `{"seq":3,"turn":1,"type":"message",`
		system  = `{"seq":3,"type":"system",`
		none    = `"data":{"finality":"none"}}`
	)
	for event, want := range map[string]struct{ isEntry, mayBeEntry bool }{
		`{"seq":3,"turn":1,"type":"trace",` + ann + `"payload":{"kind":"k"}}`:               {false, false},
		message + ann + `"finality":"none","payload":{"text":"t"}}`:                         {false, false},
		message + ann + `"finality":"turn","payload":{"text":"\"finality\":\"none\""}}`:     {true, true},
		message + ann + `"finality":"conversation","payload":{"text":"t"}}`:                 {true, true},
		message + hub + `"finality":"turn","payload":{"text":"t"}}`:                         {false, true},
		system + ann + `"payload":{"kind":"note","schema":"s","data":1}}`:                   {true, true},
		system + hub + `"payload":{"kind":"participant_added","title":"note"}}`:             {false, false},
		system + hub + `"payload":{"kind":"turn_claimed"}}`:                                 {false, false},
		` {"payload":{"schema":"s","data":1,"kind":"note"},` + ann + `"type":"system"}`:     {true, true},
		` {"payload":{` + none + `, "finality": "turn",` + ann + `"type":"message"}`:        {true, true},
		system + ann + `"payload":{"schema":"s","kind":"note","data":1}}`:                   {true, true},
		`{"seq":3,` + ann + `"type":"message","payload":{` + none + `,"finality":"turn"}`:   {true, true},
		message + ann + `"payload":{"text":"t","data":{"type":"trace"}},"finality":"turn"}`: {true, true},
		message + ann + `"payload":{"text":"t","data":{"kind":"note"}},"finality":"none"}`:  {false, true},
		message + ann + `"finality":"turn","payload":{"data":null},"hops":1,"cause":{}}`:    {true, true},
	} {
		e, err := decodeEntry([]byte(event))
		if err != nil || (e != nil) != want.isEntry {
			t.Errorf("decodeEntry(%s) = %+v, %v", event, e, err)
		}
		if got := mayBeEntry([]byte(event)); got != want.mayBeEntry {
			t.Errorf("mayBeEntry(%s) = %t", event, got)
		}
	}
	schemas := [][]byte{[]byte(`"a.v1"`)}
	for event, want := range map[string]bool{`{"schema":"a\u002ev1"}`: true, `{"schema":"b.v1"}`: false} {
		if mayHaveSchema([]byte(event), schemas) != want || !mayHaveSchema([]byte(event), nil) {
			t.Errorf("mayHaveSchema(%s) is not %t, or not true without schemas", event, want)
		}
	}
}
