package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// back returns the parts of a draft as the log returns them, with files inserted.
func back(t *testing.T, d *draft) a2a.ContentParts {
	t.Helper()
	e := &parley.Event{Payload: d.payload}
	m, err := e.Message()
	if err != nil {
		t.Fatalf("%v in %s", err, d.payload)
	}
	p := payloadOf(e)
	parts := partsOf(&m, p.Parts)
	for i, q := range parts {
		sha, ok := strings.CutPrefix(string(q.URL()), filePlaceholder)
		if !ok {
			continue
		}
		for j, a := range m.Attachments {
			if a.SHA256 == sha {
				filled := *q
				filled.Content = a2a.Raw(d.files[j].data)
				parts[i] = &filled
			}
		}
	}
	return parts
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Random messages come back unchanged from their payload.
func TestPartsRoundTrip(t *testing.T) {
	plain := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		m := &a2a.Message{}
		for range 1 + rng.IntN(5) {
			m.Parts = append(m.Parts, drawPart(rng))
		}
		d, err := draftOf(m, &payload{MessageID: "m"})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if got, want := asJSON(back(t, d)), asJSON(m.Parts); got != want {
			t.Fatalf("seed %d: %s\ngives\n%s\nof\n%s", seed, d.payload, got, want)
		}
		if !bytes.Contains(d.payload, []byte(`"parts"`)) {
			plain++
		}
	}
	if plain < 100 {
		t.Errorf("only %d of the messages were plain", plain)
	}
}

func drawPart(rng *rand.Rand) *a2a.Part {
	var p *a2a.Part
	switch rng.IntN(5) {
	case 0, 1:
		p = a2a.NewTextPart(pick(rng, "hello", "two\n\nparagraphs", "é\u2028 <&>", " ", "x\n"))
	case 2:
		p = a2a.NewDataPart(pick[any](rng, map[string]any{"a": 1.5, "b": []any{nil, "<"}}, []any{1.0, 2.0}, "text", 7.0, true,
			map[string]any{}))
	case 3:
		p = a2a.NewRawPart([]byte(pick(rng, "\x00\xff", "same", "other")))
		p.Filename = pick(rng, "", "a.txt", "../../etc/passwd", "..", "new\nline", strings.Repeat("é", 200))
	default:
		p = a2a.NewFileURLPart("https://example.com/a?b=c", "image/png")
		p.Filename = pick(rng, "", "a.png")
	}
	if rng.IntN(4) == 0 {
		p.MediaType = pick(rng, "text/plain", "application/json", "text/plain; charset=utf-8", strings.Repeat("x/", 100))
	}
	if rng.IntN(6) == 0 {
		p.Metadata = map[string]any{"k": "v", "n": []any{1.0}}
	}
	return p
}

func TestPayload(t *testing.T) {
	raw := a2a.NewRawPart([]byte("abc"))
	raw.Filename, raw.MediaType = "dir/a.txt", "text/plain"
	const sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	for _, test := range []struct {
		name  string
		parts a2a.ContentParts
		want  string
	}{
		{"text", a2a.ContentParts{a2a.NewTextPart("a<b")}, `{"text":"a<b","a2a":{"messageId":"m"}}`},
		{"text and data", a2a.ContentParts{a2a.NewTextPart("a"), a2a.NewDataPart(map[string]any{"n": 1})},
			`{"text":"a","data":{"n":1},"a2a":{"messageId":"m"}}`},
		{"data before text", a2a.ContentParts{a2a.NewDataPart(map[string]any{"n": 1}), a2a.NewTextPart("a")},
			`{"text":"a","data":{"n":1},"a2a":{"messageId":"m","parts":[{"item":-1},{"cut":[1,0]}]}}`},
		{"two texts", a2a.ContentParts{a2a.NewTextPart("a"), a2a.NewTextPart("b")},
			`{"text":"a\n\nb","a2a":{"messageId":"m","parts":[{"cut":[4,3]},{"cut":[1,0]}]}}`},
		{"two data", a2a.ContentParts{a2a.NewDataPart(1), a2a.NewDataPart("x")},
			`{"data":[1,"x"],"a2a":{"messageId":"m","parts":[{"item":0},{"item":1}]}}`},
		{"address", a2a.ContentParts{a2a.NewFileURLPart("https://e.com/x", "image/png")},
			`{"text":"image/png: https://e.com/x","a2a":{"messageId":"m","parts":[{"url":"https://e.com/x",` +
				`"mediaType":"image/png"}]}}`},
		{"file", a2a.ContentParts{raw}, `{"attachments":[{"sha256":"` + sha + `","name":"a.txt","mediaType":"text/plain"}],` +
			`"a2a":{"messageId":"m","parts":[{"file":0,"filename":"dir/a.txt","mediaType":"text/plain"}]}}`},
	} {
		d, err := draftOf(&a2a.Message{Parts: test.parts}, &payload{MessageID: "m"})
		if err != nil || string(d.payload) != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.name, err, d.payload, test.want)
		}
	}
}

func TestPartsRefused(t *testing.T) {
	many := func(n int, p *a2a.Part) (all a2a.ContentParts) {
		for range n {
			all = append(all, p)
		}
		return all
	}
	deep := any(1.0)
	for range maxValueDepth + 1 {
		deep = []any{deep}
	}
	labeled := func(change func(*a2a.Part)) a2a.ContentParts {
		p := a2a.NewTextPart("x")
		change(p)
		return a2a.ContentParts{a2a.NewTextPart("first"), p}
	}
	for _, test := range []struct {
		parts a2a.ContentParts
		words string
	}{
		{nil, "message.parts is empty"},
		{many(MaxParts+1, a2a.NewTextPart("x")), "message.parts has 65 parts"},
		{many(parley.MaxMessageAttachments+1, a2a.NewRawPart([]byte("x"))),
			"message.parts[16].raw exceeds the number of files"},
		{a2a.ContentParts{nil}, "message.parts[0] is empty"},
		{a2a.ContentParts{a2a.NewTextPart("")}, "message.parts[0].text is empty"},
		{a2a.ContentParts{a2a.NewTextPart("\xff")}, "message.parts[0].text is not UTF-8"},
		{a2a.ContentParts{a2a.NewRawPart(nil)}, "message.parts[0].raw is empty"},
		{a2a.ContentParts{a2a.NewRawPart(make([]byte, parley.MaxAttachmentBytes+1))},
			"message.parts[0].raw has 16777217 bytes"},
		{a2a.ContentParts{a2a.NewDataPart(nil)}, "message.parts[0].data is null"},
		{a2a.ContentParts{a2a.NewDataPart(deep)}, "message.parts[0].data is nested too deeply"},
		{a2a.ContentParts{a2a.NewFileURLPart("", "")}, "message.parts[0].url is empty"},
		{a2a.ContentParts{a2a.NewFileURLPart("a\nb: c", "")}, "message.parts[0].url has a control character"},
		{a2a.ContentParts{a2a.NewFileURLPart(a2a.URL("https://e/"+strings.Repeat("x", MaxPartURLBytes)), "")},
			"message.parts[0].url has 8202 bytes"},
		{a2a.ContentParts{a2a.NewFileURLPart(filePlaceholder+"00", "")}, "message.parts[0].url has a reserved scheme"},
		{labeled(func(p *a2a.Part) { p.Filename = strings.Repeat("x", MaxFilenameBytes+1) }),
			"message.parts[1].filename has 1025 bytes"},
		{labeled(func(p *a2a.Part) { p.MediaType = strings.Repeat("x", MaxPartTypeBytes+1) }),
			"message.parts[1].mediaType has 256 bytes"},
		{labeled(func(p *a2a.Part) { p.SetMeta("x", strings.Repeat("x", MaxMetadataBytes)) }),
			"message.parts[1].metadata has 16392 bytes"},
		{a2a.ContentParts{a2a.NewTextPart(strings.Repeat("x", maxPayloadBytes))}, "the message without its files has"},
	} {
		_, err := draftOf(&a2a.Message{Parts: test.parts}, &payload{})
		if err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%q is not said by %v", test.words, err)
		}
	}
	_, err := draftOf(&a2a.Message{Parts: many(1, a2a.NewTextPart("x"))},
		&payload{Metadata: map[string]any{"x": strings.Repeat("x", MaxMetadataBytes)}})
	if err == nil || !strings.Contains(err.Error(), "message.metadata has") {
		t.Errorf("metadata that is too large: %v", err)
	}
}

func TestModes(t *testing.T) {
	parts := a2a.ContentParts{
		a2a.NewTextPart("words"), a2a.NewDataPart(map[string]any{"n": 1}),
		{Content: a2a.URL(filePlaceholder + "00"), MediaType: "image/png"}, {Content: a2a.Raw("x")},
	}
	for _, test := range []struct {
		accepted string
		want     string
	}{
		{"", "words,data,image/png,application/octet-stream"},
		{"*/*", "words,data,image/png,application/octet-stream"},
		{"text/plain", `words,{"n":1}`},
		{"Text/Plain; charset=utf-8", `words,{"n":1}`},
		{"text", `words,{"n":1}`},
		{"application/json", "data"},
		{"image/*,application/json", "data,image/png"},
		{"text/plain,application/json", "words,data"},
		{"file", "words,data,image/png,application/octet-stream"},
		{"audio/ogg", "Left out, because acceptedOutputModes does not include: application/json, application/octet-stream, " +
			"image/png, text/plain."},
	} {
		var got []string
		for _, p := range modesOf(strings.Split(test.accepted, ",")).filter(parts) {
			switch v := p.Content.(type) {
			case a2a.Text:
				got = append(got, string(v))
			case a2a.Data:
				got = append(got, "data")
			default:
				got = append(got, typeOf(p))
			}
		}
		if strings.Join(got, ",") != test.want {
			t.Errorf("%q takes %q, want %q", test.accepted, strings.Join(got, ","), test.want)
		}
	}
}

// FuzzPayload checks that any payload has valid parts, and the same ones each time.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a"}`, `{"text":"é","a2a":{"parts":[{"cut":[1,0]},{"cut":[2,0]},{"cut":[-1,9]},{"item":5},{"file":3},` +
			`{"url":"x"},{"data":null}]}}`,
		`{"data":[1,2],"a2a":{"parts":[{"item":1},{"item":-1},{"item":-2}],"state":5,"messageId":[]}}`, `{"a2a":7}`, `[]`,
		`{"a2a":{"parts":{"a":1}}}`,
		`{"attachments":[{"sha256":"x","name":"n"}],"tags":["input_required"],"a2a":{"metadata":[],"extensions":"x"}}`,
		`{"result":{"result_type":"deterministic","result_text":null,"attachment":{"sha256":"aa"}}}`,
		`{"parameters":{"a":1}}`,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, raw []byte, own bool) {
		if !json.Valid(raw) {
			t.Skip()
		}
		var told [2]string
		for i := range told {
			l := newTaskFold("alice", false, "cnv_1", "ctx")
			from := "bob"
			if own {
				from = "alice"
			}
			var all []update
			all = append(all, l.fold(&parley.Event{Seq: 1, Turn: 1, Type: parley.TypeMessage, From: "alice", Finality: turn,
				Payload: json.RawMessage(`{"text":"x"}`)}, false)...)
			all = append(all, l.fold(&parley.Event{Seq: 2, Turn: 2, Type: parley.TypeMessage, From: from, Finality: turn,
				Payload: raw}, true)...)
			all = append(all, l.fold(&parley.Event{Seq: 3, Turn: 3, Type: parley.TypeMessage, From: "bob", Finality: last,
				Payload: raw}, true)...)
			all = append(all, l.fold(&parley.Event{Seq: 4, Turn: 3, Type: parley.TypeTrace, From: "bob", Payload: raw}, true)...)
			all = append(all, l.fold(&parley.Event{Seq: 5, Type: parley.TypeSystem, From: "hub", Payload: raw}, true)...)
			for _, u := range all {
				one, err := json.Marshal(a2a.StreamResponse{Event: u.event})
				if err != nil {
					t.Fatal(err)
				}
				told[i] += string(one)
			}
			for _, id := range l.tasks() {
				task := l.task(id)
				for _, m := range append(task.History, task.Status.Message) {
					checkParts(t, m)
				}
				told[i] += asJSON(task)
			}
		}
		if told[0] != told[1] {
			t.Fatalf("once\n%s\nand once\n%s", told[0], told[1])
		}
	})
}

func checkParts(t *testing.T, m *a2a.Message) {
	if m == nil {
		return
	}
	if len(m.Parts) == 0 {
		t.Fatal("a message without parts")
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again a2a.Message
	if err := json.Unmarshal(raw, &again); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
}

// FuzzDraft checks that a message that the library accepts is refused, or comes back unchanged.
func FuzzDraft(f *testing.F) {
	f.Add([]byte(`[{"text":"a"},{"data":{"a":1}},{"raw":"AAEC","filename":"x"},{"url":"https://x","mediaType":"a/b",` +
		`"metadata":{"a":[]}}]`))
	f.Add([]byte(`[{"data":1e400},{"text":"\ud800"}]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var parts a2a.ContentParts
		if json.Unmarshal(raw, &parts) != nil {
			t.Skip()
		}
		d, err := draftOf(&a2a.Message{Parts: parts}, &payload{MessageID: "m"})
		if err != nil {
			return
		}
		if got, want := plainJSON(asJSON(back(t, d))), plainJSON(asJSON(parts)); got != want {
			t.Fatalf("%s\ngives\n%s\nof\n%s", d.payload, got, want)
		}
	})
}

// plainJSON normalizes the spelling of numbers.
func plainJSON(s string) string {
	var v any
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		return err.Error()
	}
	return fmt.Sprint(v)
}
