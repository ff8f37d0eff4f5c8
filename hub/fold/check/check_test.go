package check_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/internal/limits"
)

var fileA = strings.Repeat("a1", 32)

// slowCheck is check.Message or check.Trace on a map of the members: slow and simple.
func slowCheck(payload []byte, trace bool) bool {
	var m map[string]json.RawMessage
	if payload[0] != '{' || json.Unmarshal(payload, &m) != nil {
		return false
	}
	text := func(name string) bool { // absent, or a proper short string
		raw, ok := m[name]
		var s string
		return !ok || (raw[0] == '"' && json.Unmarshal(raw, &s) == nil && s != "" && proper(s))
	}
	if trace {
		_, ok := m["kind"]
		return ok && text("kind")
	}
	for _, later := range []string{"parameters", "result"} {
		if _, ok := m[later]; ok {
			return false
		}
	}
	words, hasText := m["text"]
	_, hasData := m["data"]
	_, hasFiles := m["attachments"]
	if (!hasText && !hasData && !hasFiles) || (hasText && words[0] != '"') || !text("schema") {
		return false
	}
	return slowCheckTags(m["tags"]) && slowCheckAttachments(m["attachments"])
}

func slowCheckTags(raw json.RawMessage) bool {
	var tags []string
	if raw == nil {
		return true
	}
	if raw[0] != '[' || json.Unmarshal(raw, &tags) != nil || len(tags) > 32 {
		return false
	}
	for _, tag := range tags {
		if tag == "" || !proper(tag) {
			return false
		}
	}
	return true
}

var (
	fileHash = regexp.MustCompile(`^[0-9a-f]{64}$`)
	fileName = regexp.MustCompile(`^[^/\\\x00-\x1f\x7f-\x{9f}\x{fffd}]{1,255}$`)
	fileType = regexp.MustCompile(`^[^\x00-\x1f\x7f-\x{9f}\x{fffd}]{1,127}$`)
)

func slowCheckAttachments(raw json.RawMessage) bool {
	var files []map[string]any
	if raw == nil {
		return true
	}
	if raw[0] != '[' || json.Unmarshal(raw, &files) != nil || len(files) < 1 || len(files) > 16 {
		return false
	}
	for _, f := range files {
		hash, _ := f["sha256"].(string)
		if f == nil || !fileHash.MatchString(hash) {
			return false
		}
		for member, shape := range map[string]*regexp.Regexp{"name": fileName, "mediaType": fileType} {
			value, there := f[member]
			s, isString := value.(string)
			if there && (!isString || !shape.MatchString(s)) {
				return false
			}
		}
		name, _ := f["name"].(string)
		mediaType, _ := f["mediaType"].(string)
		if name == "." || name == ".." || len(name) > 255 || len(mediaType) > 127 {
			return false
		}
	}
	return true
}

func proper(s string) bool {
	return len(s) <= 128 && !strings.ContainsFunc(s, func(r rune) bool {
		return r == '\ufffd' || r < 0x20 || (r >= 0x7f && r < 0xa0)
	})
}

// FuzzCheck compares the checks of payloads with slow ones.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"text":"x"}`, `{"te\u0078t":"x","data":{"a":[1,"]}\""]}}`, `{"kind":"k"}`, `{"text":"x","tags":["a",null]}`,
		`{"data":[],"schema":""}`,
		`{"text":"\\","result":1}`, `{}`, `[]`, `{"a":"\"","text":1}`, `{"text":"\ud800","schema":"\ud800"}`,
		`{"":{"text":"x"}}`,
		`{"attachments":[{"sha256":"` + fileA + `","name":"a.pdf","mediaType":"application/pdf","more":{}}]}`,
		`{"attachments":[]}`, `{"attachments":{}}`,
		`{"attachments":[null]}`, `{"attachments":[{"sha256":"` + fileA + `","name":".."}]}`,
		`{"attachments":[{"sha256":"` + strings.ToUpper(fileA) + `"}]}`,
		`{"attachments":[{"sha256":"` + fileA + `","name":"a/b"}]}`, `{"attachments":[{"name":"x"}],"text":"x"}`,
		`{"attachments":[{"sha256":"` + fileA + `","name":""}]}`,
		`{"attachments":[{"sha256":"` + fileA + `","mediaType":1}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		payload := compacted(raw)
		if payload == nil {
			return
		}
		_, err := check.Message(payload)
		if want := slowCheck(payload, false); (err == nil) != want {
			t.Errorf("check.Message(%s): %v, want %t", payload, err, want)
		}
		if err != nil && !errors.Is(err, parley.ErrValidationFailed) {
			t.Errorf("check.Message(%s): %v", payload, err)
		}
		if err, want := check.Trace(payload), slowCheck(payload, true); (err == nil) != want {
			t.Errorf("check.Trace(%s): %v, want %t", payload, err, want)
		}
	})
}

// compacted returns compact JSON with each name once, as callers pass it to the checks, or nil.
func compacted(raw []byte) json.RawMessage {
	e := parley.Event{Payload: raw}
	b, err := e.Encode()
	if err != nil || len(raw) == 0 {
		return nil
	}
	var back parley.Event
	if json.Unmarshal(b, &back) != nil || twice(back.Payload) {
		return nil
	}
	return back.Payload
}

// twice reports whether the outermost object has a name twice.
func twice(payload []byte) bool {
	dec := json.NewDecoder(strings.NewReader(string(payload)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	seen := map[string]bool{}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return true
		}
		s, _ := name.(string)
		if seen[s] {
			return true
		}
		seen[s] = true
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return true
		}
	}
	return false
}

// TestCreateOfWaking checks that workspaces have names like participants, and that the limits of waking have bounds.
func TestCreateOfWaking(t *testing.T) {
	create := func(workspace string, l parley.Limits, kind parley.PolicyKind) error {
		return check.Create(&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "a",
			Kind: parley.KindAgent}}, Workspace: workspace, Limits: &l, Policy: &parley.Policy{Kind: kind}})
	}
	for _, workspace := range []string{"", "lab", "Lab-7.x_y"} {
		if err := create(workspace, parley.Limits{MaxHops: limits.MaxHopsLimit, MaxWakesPerMinute: limits.MaxWakesLimit},
			parley.PolicyTriggers); err != nil {
			t.Errorf("workspace %q: %v", workspace, err)
		}
	}
	for want, err := range map[string]error{
		`workspace "-lab" is not acceptable`: create("-lab", parley.Limits{}, parley.PolicyOpen),
		`workspace "la b" is not acceptable`: create("la b", parley.Limits{}, parley.PolicyOpen),
		"limits.maxHops is 101":              create("", parley.Limits{MaxHops: 101}, parley.PolicyOpen),
		"limits.maxHops is -1":               create("", parley.Limits{MaxHops: -1}, parley.PolicyOpen),
		"limits.maxWakesPerMinute is 10001":  create("", parley.Limits{MaxWakesPerMinute: 10_001}, parley.PolicyOpen),
		`policy.kind is "trigger"`:           create("", parley.Limits{}, "trigger"),
	} {
		if !errors.Is(err, parley.ErrValidationFailed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
