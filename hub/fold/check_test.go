package fold_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// slowCheck is CheckMessage or CheckTrace on a map of the members: slow, and plain to see.
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

// FuzzCheck holds the checks of payloads against slow ones.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		`{"text":"x"}`, `{"te\u0078t":"x","data":{"a":[1,"]}\""]}}`, `{"kind":"k"}`, `{"text":"x","tags":["a",null]}`, `{"data":[],"schema":""}`,
		`{"text":"\\","result":1}`, `{}`, `[]`, `{"a":"\"","text":1}`, `{"text":"\ud800","schema":"\ud800"}`, `{"":{"text":"x"}}`,
		`{"attachments":[{"sha256":"` + fileA + `","name":"a.pdf","mediaType":"application/pdf","more":{}}]}`, `{"attachments":[]}`, `{"attachments":{}}`,
		`{"attachments":[null]}`, `{"attachments":[{"sha256":"` + fileA + `","name":".."}]}`, `{"attachments":[{"sha256":"` + strings.ToUpper(fileA) + `"}]}`,
		`{"attachments":[{"sha256":"` + fileA + `","name":"a/b"}]}`, `{"attachments":[{"name":"x"}],"text":"x"}`,
		`{"attachments":[{"sha256":"` + fileA + `","name":""}]}`, `{"attachments":[{"sha256":"` + fileA + `","mediaType":1}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		payload := compacted(raw)
		if payload == nil {
			return
		}
		_, err := fold.CheckMessage(payload)
		if want := slowCheck(payload, false); (err == nil) != want {
			t.Errorf("CheckMessage(%s): %v, want %t", payload, err, want)
		}
		if err != nil && !errors.Is(err, parley.ErrValidationFailed) {
			t.Errorf("CheckMessage(%s): %v", payload, err)
		}
		if err, want := fold.CheckTrace(payload), slowCheck(payload, true); (err == nil) != want {
			t.Errorf("CheckTrace(%s): %v, want %t", payload, err, want)
		}
	})
}

// compacted gives what may come to the checks: JSON with each name once, compact; or nil.
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

// FuzzEvent: what decodes as an event keeps its bytes, and its known fields are encoded alike by both encoders.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"x"}}`))
	f.Add([]byte(`{"seq":7,"turn":3,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z","finality":"conversation","outcome":{"status":"failed","reason":"<\"\u2028"},"payload":{"text":"\u00e9<"},"clientRequestId":"é\u0001","new":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e parley.Event
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		kept, err := e.MarshalJSON()
		if err != nil || string(kept) != string(e.Raw()) {
			t.Fatalf("raw %q comes back as %q, %v", e.Raw(), kept, err)
		}
		if year := e.At.Time().Year(); year < 0 || year > 9999 || len(e.Payload) == 0 {
			return
		}
		canonical, err := e.Encode()
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		var again parley.Event
		if err := json.Unmarshal(canonical, &again); err != nil {
			t.Fatalf("%s does not decode: %v", canonical, err)
		}
		twice, err := again.Encode()
		if err != nil || string(twice) != string(canonical) {
			t.Fatalf("%s, again %s, %v", canonical, twice, err)
		}
		if !parley.ValidParticipantID(e.From) || !plain(string(e.Type)) || !plain(string(e.Finality)) || (e.Outcome != nil && !plain(string(e.Outcome.Status))) {
			return // the hub writes no such event
		}
		if got := fold.AppendEvent(nil, &again); string(got) != string(canonical) {
			t.Fatalf("AppendEvent %s, Encode %s", got, canonical)
		}
	})
}

func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
}

// FuzzApply: no bytes make Apply, or what is asked of the state after it, panic.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"conversation_created","createdBy":"a","participants":[{"id":"a","kind":"agent"}],"policy":{"kind":"open"},"limits":{"maxTurns":1,"idleTimeoutMs":5}}}
{"seq":2,"turn":1,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z","finality":"turn","payload":{"text":"x"},"clientRequestId":"k"}
{"seq":3,"turn":2,"type":"message","from":"hub","at":"2000-01-01T00:00:00.000Z","finality":"conversation","payload":{"text":"x"}}`))
	f.Add([]byte(`{"seq":1,"type":"system","payload":{"kind":"conversation_created"}}
{"seq":2,"type":"system","payload":{"kind":"participant_added","participant":{}}}
{"seq":3,"turn":1,"type":"trace"}
{"seq":4,"turn":1,"type":"message","finality":"conversation"}`))
	f.Add([]byte(`{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"conversation_created","createdBy":"a","participants":[{"id":"a","kind":"agent"},{"id":"b","kind":"human"}],"policy":{"kind":"moderator","moderator":"b"},"limits":{"maxAttempts":1,"onTurnTimeout":"skip"}}}
{"seq":2,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_claimed","turn":1,"agentId":"a","executorId":"x","attempt":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","durationMs":5,"graceMs":1}}
{"seq":2,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_claimed","turn":1,"agentId":"b","attempt":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","durationMs":5}}
{"seq":3,"turn":1,"type":"message","from":"b","at":"2000-01-01T00:00:00.000Z","finality":"none","payload":{"text":"x"}}
{"seq":4,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"claim_renewed","turn":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","durationMs":5}}
{"seq":5,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"claim_ended","turn":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","reason":"expired","resetFrom":3}}
{"seq":6,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_reoffered","turn":1,"agentId":"b"}}
{"seq":7,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_ended","turn":1,"agentId":"b","reason":"skipped"}}`))
	f.Fuzz(func(t *testing.T, log []byte) {
		state, keys := fold.State{ID: "x"}, fold.Keys{}
		for line := range strings.Lines(string(log)) {
			var e parley.Event
			if json.Unmarshal([]byte(line), &e) != nil {
				continue
			}
			fold.MetaOf(&e)
			next, err := state.Apply(&e, len(line))
			if err != nil {
				continue
			}
			state = next
			enter(&keys, &fold.Encoded{Event: e})
			state.Due()
			for _, id := range []string{"a", "hub", "", e.From} {
				state.Guidance(id, true)
				if !state.Closed() && state.MaySpeak(id) != (state.Guidance(id, false).Kind == parley.MaySpeak) {
					t.Fatalf("guidance of %q and MaySpeak differ in %+v", id, state)
				}
				decideAll(state, keys, id)
			}
		}
	})
}

// decideAll asks a state for everything that has to do with turns.
func decideAll(s fold.State, keys fold.Keys, id string) {
	named := fold.ClaimHash{}
	if s.Claim != nil {
		named = s.Claim.Hash
	}
	for _, v := range []fold.Verb{fold.Message, fold.Trace, fold.Take, fold.Renew, fold.Release, fold.Cancel, fold.EndClaim, fold.Timeout, fold.Tick} {
		fold.Decide(s, keys, fold.Command{
			Verb: v, From: id, Key: "k", Turn: s.CurrentTurn(), Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"x"}`),
			Named: &named, New: fold.HashClaim("clm_1_new"), Reason: parley.ClaimYielded, Offered: true, AgentID: id,
		})
	}
	for _, a := range s.Asks() {
		fold.Decide(s, keys, fold.Command{Verb: fold.Timeout, From: parley.HubID, AgentID: a.AgentID, Since: a.Since, Asked: true})
	}
}

// TestCloseOfTheOverdue: who asks for a close after a limit of time has come is not named as the one who closed.
func TestCloseOfTheOverdue(t *testing.T) {
	s := &story{t: t, state: fold.State{ID: "x"}, now: 1000}
	s.create(roundRobin, "", &parley.Limits{DeadlineMs: 5000}, seats("a", "b")...)
	s.now += 5000
	d := fold.Decide(s.state, fold.Keys{}, fold.Command{Verb: fold.Close, From: "maker", Now: s.now})
	if !errors.Is(d.Err, parley.ErrConversationClosed) || len(d.Events) != 1 {
		t.Fatalf("%+v", d)
	}
	if e := d.Events[0].Event; e.Outcome.Reason != parley.ReasonDeadline || strings.Contains(string(e.Payload), "maker") {
		t.Fatalf("%s %+v", e.Payload, e.Outcome)
	}
}

// TestNothingThere: only create is taken where there is no conversation.
func TestNothingThere(t *testing.T) {
	named := fold.HashClaim("clm_1_x")
	for v := fold.Message; v <= fold.Timeout; v++ {
		c := fold.Command{
			Verb: v, Named: &named, From: "a", Key: "k", Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"x"}`),
			Note: &parley.Note{Schema: "s"}, Participant: &parley.Participant{ID: "a"}, Token: &parley.TokenRecord{},
		}
		if d := fold.Decide(fold.State{ID: "x"}, fold.Keys{}, c); !errors.Is(d.Err, parley.ErrNotFound) || len(d.Events) > 0 {
			t.Errorf("verb %d: %+v", v, d)
		}
	}
}

// TestCheckWaking: workspaces are named like participants, and the limits of waking have bounds.
func TestCheckWaking(t *testing.T) {
	create := func(workspace string, l parley.Limits, kind parley.PolicyKind) error {
		return fold.CheckCreate(&parley.CreateConversationParams{Participants: seats("a"), Workspace: workspace, Limits: &l, Policy: &parley.Policy{Kind: kind}})
	}
	for _, workspace := range []string{"", "lab", "Lab-7.x_y"} {
		if err := create(workspace, parley.Limits{MaxHops: parley.MaxHopsLimit, MaxWakesPerMinute: parley.MaxWakesLimit}, parley.PolicyTriggers); err != nil {
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
