package hub_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// TestParametersRefused: invalid parameters are refused in the shape of the specification (000,
// section 6), and nothing is created.
func TestParametersRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		hosts(t, h, counter("web-crawler"))
		before := j.Last()
		_, err := h.StartSession(t.Context(), h.LocalPrincipal("ann"), &parley.StartSessionParams{
			AgentName: "web-crawler", Parameters: json.RawMessage(`{"depth":"deep"}`), ClientRequestID: "k",
		})
		refused(t, err, parley.ErrParameters)
		got, err := json.MarshalIndent(parley.ToWire(err), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		const want = `{
  "code": 4001,
  "message": "Parameters do not match agent's parameters_schema",
  "data": {
    "reason": "parameter_validation_failed",
    "retryable": false,
    "error": "parameter_validation_failed",
    "message": "Parameters do not match agent's parameters_schema",
    "agent_name": "web-crawler",
    "validation_errors": [
      {
        "path": "$",
        "message": "'n' is a required property",
        "schema_path": "required"
      },
      {
        "path": "$.depth",
        "message": "'deep' is not of type 'integer'",
        "schema_path": "properties.depth.type"
      }
    ],
    "parameters_schema": {
      "type": "object",
      "required": [
        "n"
      ],
      "properties": {
        "n": {
          "type": "integer",
          "minimum": 1
        },
        "depth": {
          "type": "integer",
          "default": 2
        },
        "url": {
          "type": "string",
          "format": "uri"
        }
      }
    }
  }
}`
		if string(got) != want {
			t.Errorf("it is told\n%s", got)
		}
		if j.Last() != before {
			t.Error("something was created")
		}
		quiet(t, h)
	})
}

// TestStartRefused: every refusal of startSession, none of which creates anything.
func TestStartRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		flags := counter("flags")
		stdin := counter("stdin")
		stdin.ParamsVia = parley.ParamsStdin
		hosts(t, h, flags, stdin)
		push(t, h, "x1", "writer")
		ann := h.LocalPrincipal("ann")
		mine := create(t, h, ann, open2("ann"))
		other := create(t, h, h.LocalPrincipal("eve"), open2("eve"))
		closed := create(t, h, ann, open2("ann"))
		if _, err := h.Client(ann).CloseConversation(t.Context(),
			&parley.CloseConversationParams{ConversationID: closed}); err != nil {
			t.Fatal(err)
		}
		running := start(t, h, ann, counts("stdin", 1, parley.ModeAsyncPoll, ""))
		before := j.Last()
		for name, c := range map[string]struct {
			change   func(q *parley.StartSessionParams)
			sentinel error
			words    string
		}{
			"no agent": {func(q *parley.StartSessionParams) { q.AgentName = "" }, parley.ErrValidationFailed,
				"agentName"},
			"no name": {func(q *parley.StartSessionParams) { q.AgentName = "a b" }, parley.ErrValidationFailed,
				"agentName"},
			"an unknown agent": {func(q *parley.StartSessionParams) { q.AgentName = "nobody" }, parley.ErrNotFound,
				"no agent nobody"},
			"of an unknown runner": {func(q *parley.StartSessionParams) { q.AgentName = "flags@other" }, parley.ErrNotFound,
				"no agent flags@other"},
			"an agent with a runner": {func(q *parley.StartSessionParams) { q.AgentName = "writer@box" }, parley.ErrNotFound,
				"no agent"},
			"prompt and parameters": {func(q *parley.StartSessionParams) { q.Prompt = "hi" }, parley.ErrValidationFailed,
				"prompt and parameters"},
			"a prompt for a command": {func(q *parley.StartSessionParams) { q.Prompt, q.Parameters = "hi", nil },
				parley.ErrParameters, "do not match"},
			"an unknown mode": {func(q *parley.StartSessionParams) { q.Mode = "later" }, parley.ErrValidationFailed,
				"mode"},
			"a callback to nobody": {func(q *parley.StartSessionParams) { q.Mode = parley.ModeAsyncCallback },
				parley.ErrValidationFailed, "async_callback"},
			"a negative time": {func(q *parley.StartSessionParams) { q.TimeoutMs = -1 }, parley.ErrValidationFailed,
				"timeoutMs"},
			"no object":               {func(q *parley.StartSessionParams) { q.Parameters = json.RawMessage(`[1]`) }, parley.ErrInvalidParams, "object"},
			"null":                    {func(q *parley.StartSessionParams) { q.Parameters = json.RawMessage(`null`) }, parley.ErrInvalidParams, "object"},
			"nothing where n must be": {func(q *parley.StartSessionParams) { q.Parameters = nil }, parley.ErrParameters, "do not match"},
			"undeclared":              {func(q *parley.StartSessionParams) { q.Parameters = json.RawMessage(`{"n":1,"x":1}`) }, parley.ErrParameters, "do not match"},
			"a key that is too long":  {func(q *parley.StartSessionParams) { q.ClientRequestID = strings.Repeat("k", parley.MaxKeyBytes+1) }, parley.ErrValidationFailed, "clientRequestId"},
			"too many demands": {func(q *parley.StartSessionParams) { q.Demands = many(limits.MaxLabels + 1) },
				parley.ErrValidationFailed, "demands"},
			"an empty demand": {func(q *parley.StartSessionParams) { q.Demands = map[string]string{"": "x"} },
				parley.ErrValidationFailed, "demands"},
			"an absent parent": {func(q *parley.StartSessionParams) { q.ParentConversationID = "absent" },
				parley.ErrNotFound, ""},
			"a foreign parent": {func(q *parley.StartSessionParams) { q.ParentConversationID = other },
				parley.ErrNotFound, ""},
			"the hub's own parent": {func(q *parley.StartSessionParams) { q.ParentConversationID = "~tokens" },
				parley.ErrNotFound, ""},
			"a closed parent": {func(q *parley.StartSessionParams) { q.ParentConversationID = closed },
				parley.ErrConversationClosed, "closed"},
			"a deterministic parent": {func(q *parley.StartSessionParams) {
				q.ParentConversationID, q.Mode = running.SessionID, parley.ModeAsyncCallback
			}, parley.ErrValidationFailed, "callback"},
			"resume of a command":      {func(q *parley.StartSessionParams) { q.Resume, q.AgentName = running.SessionID, "stdin" }, parley.ErrValidationFailed, "Deterministic agents do not support resumption"},
			"resume in another mode":   {func(q *parley.StartSessionParams) { q.Resume, q.Mode = running.SessionID, parley.ModeSync }, parley.ErrValidationFailed, "resume with mode"},
			"resume elsewhere":         {func(q *parley.StartSessionParams) { q.Resume, q.ParentConversationID = running.SessionID, mine }, parley.ErrValidationFailed, "resume with mode"},
			"resume of a conversation": {func(q *parley.StartSessionParams) { q.Resume = mine }, parley.ErrNotFound, "no such session"},
			"resume of nothing": {func(q *parley.StartSessionParams) { q.Resume = "a b" }, parley.ErrValidationFailed,
				"resume"},
		} {
			q := counts("flags", 1, "", "")
			c.change(q)
			_, err := h.StartSession(t.Context(), ann, q)
			if !errors.Is(err, c.sentinel) || parley.ErrorRowOf(err).Err != c.sentinel ||
				!strings.Contains(err.Error(), c.words) {
				t.Errorf("%s: %v, want %v with %q", name, err, c.sentinel, c.words)
			}
		}
		big := json.RawMessage(fmt.Sprintf(`{"n":1,"text":%q}`, bytes.Repeat([]byte("a"), parley.MaxEventBytes)))
		if _, err := h.StartSession(t.Context(), ann, &parley.StartSessionParams{AgentName: "stdin",
			Parameters: big}); !errors.Is(err, parley.ErrTooLarge) {
			t.Errorf("more than an event holds: %v", err)
		}
		synctest.Wait()
		if j.Last() != before {
			t.Errorf("%d events were written", j.Last()-before)
		}
		if live, places := h.SessionsHeld(); live != 1 || places != 1 {
			t.Errorf("%d sessions are live, in %d places", live, places)
		}
		_, err := h.Client(ann).StartSession(t.Context(), &parley.StartSessionParams{AgentName: "flags", Parameters: json.RawMessage(`{"n":`)})
		refused(t, err, parley.ErrInvalidParams)
		_, err = h.StartSession(t.Context(), h.LocalPrincipal("ann", parley.ScopeRead, parley.ScopeWrite, parley.ScopeClaim),
			counts("flags", 1, "", ""))
		refused(t, err, parley.ErrForbidden)
	})
}

func many(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint("k", i)] = "v"
	}
	return m
}

// TestParametersOfCommands: parameters that cannot be passed to a command as flags or variables are
// refused, with the fault of each. As JSON on stdin all are accepted.
func TestParametersOfCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("left out: one caller sends megabytes of parameters")
	}
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		var blueprints []parley.Blueprint
		for _, via := range []parley.ParamsVia{"", parley.ParamsFlags, parley.ParamsEnv, parley.ParamsStdin} {
			b := parley.Blueprint{Name: "via-" + string(via), ParamsVia: via, ParametersSchema: json.RawMessage(`{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{},"e":{},"f":{},"g":{},"h":{},"i":{}}}`)}
			blueprints = append(blueprints, b)
		}
		x := arrive(t, h, "ops", parley.RegisterExecutorParams{ExecutorID: "box", Capacity: 100})
		x.says(blueprints...)
		long := func(n int) string { return strings.Repeat("x", n) }
		var nine []string
		for _, name := range strings.Split("abcdefghi", "") {
			nine = append(nine, fmt.Sprintf("%q:%q", name, long(120<<10)))
		}
		for _, c := range []struct {
			parameters string
			path       string // of the one fault; empty if there is none
		}{
			{`{"a":"; rm -rf /","b":"$(id)","c":"line\nline","d":"-x","e":"--force","f":["a,b","--c=d"],"g":null,"h":true,"i":{"deep":[1]}}`, ""},
			{`{"a":"a\u0000b"}`, "$.a"},
			{`{"a":["x",{"y":"\u0000"}],"b":{"\u0000":1}}`, ""}, // which is given as JSON
			{`{"a":"\\u0000"}`, ""},
			{`{"z":1}`, "$.z"},
			{`{"A":1}`, "$.A"},
			{`{"a":"` + long(127<<10) + `"}`, ""},
			{`{"a":"` + long(128<<10) + `"}`, "$.a"},
			{`{` + strings.Join(nine, ",") + `}`, "$"},
			{`{` + strings.Join(nine[:7], ",") + `}`, ""},
		} {
			for _, b := range blueprints {
				if b.ParamsVia == parley.ParamsStdin && len(c.parameters) > parley.MaxEventBytes {
					continue // more than an event holds
				}
				before := j.Last()
				_, err := h.Client(h.LocalPrincipal("ann")).StartSession(t.Context(),
					&parley.StartSessionParams{AgentName: b.Name, Parameters: json.RawMessage(c.parameters),
						Mode: parley.ModeAsyncPoll})
				if c.path == "" || b.ParamsVia == parley.ParamsStdin {
					if err != nil {
						t.Errorf("%s, %.60s: %v", b.Name, c.parameters, err)
					}
					continue
				}
				var e *parley.Error
				if !errors.As(err, &e) || e.Validation == nil {
					t.Errorf("%s, %.60s: %v", b.Name, c.parameters, err)
					continue
				}
				if len(e.Validation.ValidationErrors) != 1 || !strings.HasPrefix(e.Validation.ValidationErrors[0].Path, c.path) || j.Last() != before {
					t.Errorf("%s, %.60s: %+v", b.Name, c.parameters, e.Validation.ValidationErrors)
				}
			}
		}
	})
}

// TestStarted: what the log has of a session: its record, its limits, the parameters with the defaults of the schema, and the floor with its agent.
func TestStarted(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		slow := counter("slow")
		slow.TimeoutMs, slow.Idempotent = 1000, true
		x := hosts(t, h, slow)
		ann := h.LocalPrincipal("ann")
		q := counts("slow", 3, parley.ModeAsyncPoll, "")
		q.Parameters = json.RawMessage(`{"n":3,"url":null}`) // null counts as absent
		s := start(t, h, ann, q)
		if s.Status != parley.SessionPending || s.RunnerID != "box" || s.Depth != 1 ||
			s.AgentType != parley.AgentTypeDeterministic || s.CreatedBy != "ann" || s.TimedOut {
			t.Errorf("%+v", s)
		}
		snapshot, _, err := h.GetConversation(t.Context(), ann, &parley.GetConversationParams{ConversationID: s.SessionID})
		if err != nil {
			t.Fatal(err)
		}
		if r := snapshot.Session; r == nil || r.Root != s.SessionID || r.Caller != "ann" || r.AgentID != "slow" ||
			r.TimeoutMs != 1000 || *r.Runner != (parley.RunnerRef{RunnerID: "box", ParticipantID: "ops"}) {
			t.Errorf("the record is %+v", r)
		}
		if l := snapshot.Limits; l.MaxAttempts != limits.IdempotentAttempts || l.TurnTimeoutMs != 11_000 ||
			l.MaxClaimMs != 11_000 || l.OnTurnTimeout != parley.TurnClose || l.IdleTimeoutMs != 0 {
			t.Errorf("the limits are %+v", l)
		}
		if g := snapshot.Guidance; g.Speaker != "slow" || g.Turn != 2 || g.Kind != parley.Wait {
			t.Errorf("guidance is %+v", g)
		}
		log := events(t, j, s.SessionID)
		if string(log[1].Payload) != `{"parameters":{"n":3,"depth":2}}` {
			t.Errorf("the first message is %s", log[1].Raw())
		}
		if o := x.oneOffer(); o.AgentID != "slow" || o.Turn != 2 {
			t.Errorf("the offer is %+v", o)
		}
	})
}

// TestPrompt: a prompt is a parameter, in whichever way it is given, and the text of the message too.
func TestPrompt(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		push(t, h, "w1", "writer")
		ann := h.LocalPrincipal("ann")
		for _, q := range []*parley.StartSessionParams{
			{AgentName: "writer", Prompt: "a <poem>", Mode: parley.ModeAsyncPoll},
			{AgentName: "writer", Parameters: json.RawMessage(`{"prompt":"a <poem>"}`), Mode: parley.ModeAsyncPoll},
		} {
			s := start(t, h, ann, q)
			if got := string(events(t, j, s.SessionID)[1].Payload); got != `{"text":"a <poem>","parameters":{"prompt":"a <poem>"}}` {
				t.Errorf("the message is %s", got)
			}
			if s.AgentType != parley.AgentTypeAgent || s.RunnerID != "" {
				t.Errorf("%+v", s)
			}
		}
		for _, q := range []*parley.StartSessionParams{{AgentName: "writer"}, {AgentName: "writer", Parameters: json.RawMessage(`{"prompt":""}`)}, {AgentName: "writer", Parameters: json.RawMessage(`{"prompt":1}`)}} {
			_, err := h.StartSession(t.Context(), ann, q)
			refused(t, err, parley.ErrParameters)
		}
		// An agent that has the caller's name sits beside it, and is still the same agent.
		self := start(t, h, h.LocalPrincipal("writer"), &parley.StartSessionParams{AgentName: "writer", Prompt: "myself",
			Mode: parley.ModeAsyncPoll})
		log := events(t, j, self.SessionID)
		sys, err := log[0].System()
		if err != nil || sys.Session.AgentID != "writer.agent" || sys.Participants[1].Agent != "writer" ||
			log[1].From != "writer" {
			t.Errorf("%s %v", log[0].Raw(), err)
		}
	})
}

// TestStartAgain: a call with the same key meets the first session, whatever has become of it and of its agent; with other params it is refused; and keys of
// other callers, and out of other conversations, are others.
func TestStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, counted("x"))
		x := hosts(t, h, counter("count"))
		ann := h.LocalPrincipal("ann")
		p1, p2 := create(t, h, ann, open2("ann", "bob")), create(t, h, ann, open2("ann", "bob"))
		keyed := func(parent string) *parley.StartSessionParams {
			q := counts("count", 1, parley.ModeAsyncPoll, parent)
			q.ClientRequestID = "key"
			return q
		}
		first := start(t, h, ann, keyed(p1))
		if first.Duplicate {
			t.Fatal("the first is a duplicate")
		}
		again := func(h *hub.Hub, when string, status parley.SessionStatus) {
			t.Helper()
			s := start(t, h, h.LocalPrincipal("ann"), keyed(p1))
			if s.SessionID != first.SessionID || !s.Duplicate || s.Status != status {
				t.Fatalf("%s: %+v", when, s)
			}
			q := keyed(p1)
			q.Parameters = json.RawMessage(`{"n":2}`)
			_, err := h.StartSession(t.Context(), h.LocalPrincipal("ann"), q)
			refused(t, err, parley.ErrIdempotencyConflict)
			q = keyed(p1)
			q.Demands = map[string]string{"gpu": "1"}
			_, err = h.StartSession(t.Context(), h.LocalPrincipal("ann"), q)
			refused(t, err, parley.ErrIdempotencyConflict)
		}
		again(h, "at once", parley.SessionPending)
		others := map[string]bool{first.SessionID: true}
		for _, s := range []*parley.Session{start(t, h, ann, keyed(p2)), start(t, h, ann, keyed("")),
			start(t, h, h.LocalPrincipal("bob"), keyed(p1)), start(t, h, h.LocalPrincipal("bob"), keyed(""))} {
			if s.Duplicate || others[s.SessionID] {
				t.Fatalf("%+v is no other", s)
			}
			others[s.SessionID] = true
		}
		for range 4 {
			for _, o := range x.offered() {
				x.take(o.ConversationID, o.ClaimID)
				if o.ConversationID == first.SessionID {
					again(h, "while it runs", parley.SessionRunning)
				}
				x.ends(o.ConversationID, o.ClaimID, parley.OutcomeCompleted, ran("done"))
			}
		}
		again(h, "after its end", parley.SessionCompleted)
		x.says()
		again(h, "after its agent has left", parley.SessionCompleted)
		h = startOn(t, crash(t, j), counted("y"))
		again(h, "after a restart", parley.SessionCompleted)
		if s := session(t, h, h.LocalPrincipal("ann"), first.SessionID); *s.Result.ResultText != "done" {
			t.Errorf("%+v", s.Result)
		}
		quiet(t, h)
	})
}

// TestStartTwice: of calls with one key that come at once one begins the session, and the others meet it.
func TestStartTwice(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		x := hosts(t, h, counter("count"))
		parent := create(t, h, h.LocalPrincipal("ann"), open2("ann"))
		type answer struct {
			s   *parley.Session
			err error
		}
		answers := make(chan answer)
		for range 20 {
			go func() {
				q := counts("count", 1, parley.ModeSync, parent)
				q.ClientRequestID = "key"
				s, err := h.StartSession(t.Context(), h.LocalPrincipal("ann"), q)
				answers <- answer{s, err}
			}()
		}
		x.works("once")
		begun := 0
		for range 20 {
			a := <-answers
			if a.err != nil || a.s.Status != parley.SessionCompleted || *a.s.Result.ResultText != "once" {
				t.Fatalf("%+v %v", a.s, a.err)
			}
			if !a.s.Duplicate {
				begun++
			}
		}
		if begun != 1 {
			t.Errorf("%d calls began it", begun)
		}
		x.noOffer()
		if got := children(t, j, parent); len(got) != 2 {
			t.Errorf("the parent has %v", got)
		}
		quiet(t, h)
	})
}
