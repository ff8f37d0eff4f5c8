package triggers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

// TestAssistant is the first flow of the seed: what a user says wakes the assistant, which is given
// the page that they look at, and answers.
func TestAssistant(t *testing.T) {
	s := newStage(t, "agents", "assistant", "smart-search")
	c := s.begin("assistant:agent", "smart-search:tool")
	s.note(c, "page", "browser.page.context.v1", `{"domain":"kitchen.example","title":"Soups"}`)
	s.note(c, "page", "browser.page.context.v1", `{"domain":"garden.example","title":"Roots"}`)
	asked := s.say(c, "ann", parley.Message{Text: "When are turnips sown?", Schema: "user.message.v1"})
	answer := s.event(c, asked, func(e *parley.Event) bool {
		return e.Type == parley.TypeMessage && e.From == "assistant" && e.Finality == parley.FinalityTurn
	})
	m, err := answer.Message()
	if err != nil || !strings.Contains(m.Text, "garden.example") {
		t.Errorf("the assistant has said %s (%v), expected it to know the page", answer.Payload, err)
	}
	if answer.Cause == nil || answer.Cause.Seq != asked || answer.Hops != 1 {
		t.Errorf("its cause is %+v with %d hops, expected seq %d and 1", answer.Cause, answer.Hops, asked)
	}
	trace := s.event(c, asked, func(e *parley.Event) bool {
		return e.Type == parley.TypeTrace && strings.Contains(string(e.Payload), `"kind":"context"`)
	})
	if !strings.Contains(string(trace.Payload), `"key":"browser_page_context"`) ||
		strings.Contains(string(trace.Payload), "garden.example") {
		t.Errorf("the trace of its context is %s, expected seqs and no copies", trace.Payload)
	}
}

// TestSmartSearch is the second flow: a request to the tool starts it, with the page that the user
// looks at, and its answer is a note.
func TestSmartSearch(t *testing.T) {
	s := newStage(t, "agents", "assistant", "smart-search")
	c := s.begin("assistant:agent", "smart-search:tool")
	s.note(c, "page", "browser.page.context.v1", `{"domain":"garden.example","title":"Roots"}`)
	other := s.note(c, "ann", "tool.request.v1", `{"tool":"other","input":{"query":"turnips"}}`)
	asked := s.note(c, "ann", "tool.request.v1", `{"tool":"smart-search","input":{"query":"turnips"}}`)
	var answer parley.Answer
	note := s.answer(c, asked, "tool.response.v1", &answer)
	if answer.Status != parley.SessionCompleted || !strings.Contains(string(answer.Output),
		`"query":"turnips site:garden.example"`) ||
		!strings.Contains(string(answer.Output), "https://garden.example/soil") ||
		strings.Contains(string(answer.Output), "kitchen.example") {
		t.Errorf("the answer is %+v with %s", answer, answer.Output)
	}
	if note.From != "smart-search" || note.Cause == nil || note.Cause.Seq != asked {
		t.Errorf("it is from %s, for %+v", note.From, note.Cause)
	}
	wrong := s.note(c, "ann", "tool.request.v1", `{"tool":"smart-search","input":{"limit":1000}}`)
	s.answer(c, wrong, "tool.response.v1", &answer)
	if answer.Status != parley.SessionFailed || len(answer.ValidationErrors) != 2 {
		t.Errorf("the answer to input that does not match is %+v", answer)
	}
	for seq, want := range map[int64]bool{other: false, asked: true} {
		r := s.explain(c, seq)
		for _, a := range r.Agents {
			if a.Agent == "smart-search" && (a.Woken != want || a.WouldWake != want || a.Because == "") {
				t.Errorf("seq %d: %+v, expected it woken: %v", seq, a, want)
			}
		}
	}
}

// TestSameContext: a command and an LLM agent with the same selectors are given the same bytes for
// the same event.
func TestSameContext(t *testing.T) {
	s := newStage(t, "mirrors", "mirror-agent", "mirror-command")
	c := s.begin("mirror-agent:agent", "mirror-command:tool")
	s.note(c, "page", "browser.page.context.v1",
		`{"domain":"garden.example", "n": 1.50, "html":"<p>&amp;</p>", "word":"Rübe \u2028"}`)
	for _, data := range []string{`{"n":1}`, `{"secret":"x","n":2}`, `{"n":3e2,"deep":{"a":[1,null]}}`} {
		s.note(c, "ann", "note.v1", data)
	}
	asked := s.note(c, "ann", "user.message.v1", `{"text":"<hello> & \"you\""}`)
	given := map[string]string{}
	for _, e := range s.answers(c, asked, 2) {
		var a parley.Answer
		sys, err := e.System()
		if err != nil || json.Unmarshal(sys.Data, &a) != nil || a.Status != parley.SessionCompleted {
			t.Fatalf("the answer of %s is %s (%v)", e.From, e.Payload, err)
		}
		given[e.From] = s.result(a.SessionID)
	}
	command := strings.TrimSpace(given["mirror-command"])
	for _, part := range []string{`"browser_page_context":{"domain":"garden.example","n":1.50,"html":"<p>&amp;</p>"`,
		`"notes":[{"n":2},{"n":3e2,"deep":{"a":[1,null]}}]`, `<hello> & `} {
		if !strings.Contains(command, part) {
			t.Errorf("the context has no %s: %s", part, command)
		}
	}
	if command == "" || !strings.Contains(given["mirror-agent"], command) {
		t.Errorf("the command was given\n%s\nand the LLM agent\n%s", command, given["mirror-agent"])
	}
}

// TestPolite: two agents that thank each other for each thanks stop within the limit of the
// conversation, and the log says why.
func TestPolite(t *testing.T) {
	s := newStage(t, "polite", "polite-ann", "polite-bob")
	c := s.begin("polite-ann:tool", "polite-bob:tool")
	asked := s.note(c, "ann", "thanks.of.ann.v1", `{"text":"Thank you, bob!"}`)
	stop := s.event(c, asked, func(e *parley.Event) bool {
		sys, err := e.System()
		return e.Type == parley.TypeSystem && err == nil && sys.Kind == parley.KindTriggerMatched &&
			sys.Trigger.Wakes[0].Stopped != ""
	})
	sys, err := stop.System()
	if err != nil || sys.Trigger.Wakes[0].Stopped != parley.StoppedMaxHops {
		t.Errorf("it has stopped by %s (%v), expected %s", stop.Payload, err, parley.StoppedMaxHops)
	}
	thanks := 0
	for _, e := range s.events(c, asked) {
		if sys, err := e.System(); e.Type == parley.TypeSystem && err == nil && sys.Kind == parley.KindNote {
			thanks++
		}
	}
	if thanks != parley.DefaultMaxHops {
		t.Errorf("%d times was thanked, expected %d", thanks, parley.DefaultMaxHops)
	}
	for _, a := range s.explain(c, sys.Trigger.Seq).Agents {
		if a.Agent == sys.Trigger.Wakes[0].Agent && (a.State != parley.TriggerStopped || !strings.Contains(a.Because,
			"limits.maxHops")) {
			t.Errorf("explained as %+v, expected that the hops have stopped it", a)
		}
	}
}
