package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

func TestJoined(t *testing.T) {
	for name, c := range map[string]struct {
		deltas []string
		want   string
	}{
		"nothing":      {[]string{``, `null`, `{`}, ``},
		"strings":      {[]string{`"a"`, `null`, `"<b>"`}, `"a<b>"`},
		"numbers":      {[]string{`1`, `9007199254740993`}, `9007199254740993`},
		"another kind": {[]string{`"a"`, `{"b":true}`, `null`}, `{"b":true}`},
		"objects":      {[]string{`{"a":"x","n":{"t":"1"}}`, `{"n":{"t":"2"},"m":null}`}, `{"a":"x","n":{"t":"12"}}`},
		"labels": {[]string{`{"type":"t","id":"i","text":"a"}`, `{"type":"t","id":"","text":"b"}`},
			`{"id":"i","text":"ab","type":"t"}`},
		"items by index": {[]string{`[{"index":0,"t":"a"}]`, `[{"index":1,"t":"b"}]`, `[{"index":0,"t":"c"},` +
			`{"index":1,"t":"d"}]`}, `[{"index":0,"t":"ac"},{"index":1,"t":"bd"}]`},
		"items by place": {[]string{`[{"t":"a"},{"t":"b"}]`, `[{"t":"c"},{"t":"d"}]`}, `[{"t":"ac"},{"t":"bd"}]`},
		"the last item": {[]string{`[{"type":"x","t":"a"}]`, `[{"type":"y","t":"b"}]`, `[{"type":"y","t":"c"}]`},
			`[{"t":"a","type":"x"},{"t":"bc","type":"y"}]`},
		"items that are texts": {[]string{`["a"]`, `["b"]`}, `["a","b"]`},
		"an empty list":        {[]string{`[]`}, `[]`},
	} {
		var j wire.Joined
		for _, d := range c.deltas {
			j.Add(json.RawMessage(d))
		}
		if got := string(j.JSON()); got != c.want {
			t.Errorf("%s: %s, expected %s", name, got, c.want)
		}
	}
}

func TestArguments(t *testing.T) {
	for written, want := range map[string]string{
		"": `{}`, " \n": `{}`, "null": `{}`, `{"a": 1}`: `{"a": 1}`, `{"a":`: `{"arguments":"{\"a\":"}`,
		`[1]`: `{"arguments":"[1]"}`, `"x"`: `{"arguments":"\"x\""}`, `{} {}`: `{"arguments":"{} {}"}`,
		"\xff": "{\"arguments\":\"\uFFFD\"}", `{"a":"\ud83d\ude00"}`: `{"a":"\ud83d\ude00"}`,
		`{"a":"\ude00\ud83d"}`: "{\"a\":\"\uFFFD\uFFFD\"}", `{"a":"\\ud83d"}`: `{"a":"\\ud83d"}`,
	} {
		if got := string(wire.Arguments(written)); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%q: %s, expected %s", written, got, want)
		}
	}
}

// TestCleaner splits answers at each place, also between the halves of a surrogate pair.
func TestCleaner(t *testing.T) {
	for _, c := range []struct{ answer, reasoning, text string }{
		{"plain", "", "plain"},
		{"", "", ""},
		{"  plain ", "", "  plain "},
		{"<thin", "", "<thin"},
		{"<thinker>", "", "<thinker>"},
		{"a <think>b</think>", "", "a <think>b</think>"},
		{" \n<think>a</think>\n\nb ", "a", "b "},
		{"<think></think>b", "", "b"},
		{"<think>a</think><think>b</think> c <think>d</think>", "ab", "c <think>d</think>"},
		{"<think>a </thinks> b", "a </thinks> b", ""},
		{"<think>a</thin", "a</thin", ""},
		{"<think>😀</think>😀", "😀", "😀"},
	} {
		units := halves(c.answer)
		for i := range len(units) + 1 {
			for j := i; j <= len(units); j++ {
				pieces := []string{strings.Join(units[:i], ""), strings.Join(units[i:j], ""), strings.Join(units[j:], "")}
				reasoning, text, r := clean(t, pieces)
				if reasoning != c.reasoning || text != c.text || r.Reasoning != c.reasoning || r.Text != c.text {
					t.Fatalf("%q: reasoning %q, text %q, response %+v", pieces, reasoning, text, r)
				}
			}
		}
	}
	refused := errors.New("refused")
	cleaner := wire.NewCleaner(func(llm.Chunk) error { return refused }, true)
	if err := cleaner.Emit()(llm.Chunk{Text: " <th"}); err != nil {
		t.Errorf("text that may be a tag was passed on: %v", err)
	}
	if _, err := cleaner.Finish(&llm.Response{Text: " <th"}, nil); !errors.Is(err, refused) {
		t.Errorf("Finish returned %v", err)
	}
}

// halves returns the characters of a text, and marks for both halves of an emoji.
func halves(text string) (all []string) {
	for _, r := range text {
		if r != '😀' {
			all = append(all, string(r))
			continue
		}
		for _, half := range []string{`"\ud83d"`, `"\ude00"`} {
			all = append(all, wire.Text(wire.MarkSurrogates([]byte(half))))
		}
	}
	return all
}

// clean passes the pieces of an answer through a Cleaner.
func clean(t *testing.T, pieces []string) (reasoning, text string, r *llm.Response) {
	t.Helper()
	cleaner := wire.NewCleaner(func(c llm.Chunk) error {
		reasoning, text = reasoning+c.Reasoning, text+c.Text
		return nil
	}, true)
	for _, p := range pieces {
		if err := cleaner.Emit()(llm.Chunk{Text: p}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := cleaner.Finish(&llm.Response{Text: strings.Join(pieces, "")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reasoning, text, r
}
