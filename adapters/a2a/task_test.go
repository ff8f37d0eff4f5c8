package a2a

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// handwrittenLog is a handwritten log of the caller alice and others.
type handwrittenLog struct {
	t      *testing.T
	ledger *taskFold
	seq    int64
	turn   int64
	got    []string // the last updates: their ids and contents
}

func newStory(t *testing.T, room bool, policy parley.PolicyKind, others ...string) *handwrittenLog {
	s := &handwrittenLog{t: t, ledger: newTaskFold("alice", room, "cnv_1", "ctx"), turn: 1}
	sys := parley.System{Kind: parley.KindConversationCreated, Policy: &parley.Policy{Kind: policy},
		Participants: []parley.Participant{{ID: "alice"}}}
	for _, id := range others {
		sys.Participants = append(sys.Participants, parley.Participant{ID: id})
	}
	s.system(sys, false)
	return s
}

// take folds an event and records its updates.
func (s *handwrittenLog) take(e *parley.Event, floor bool) {
	s.seq++
	e.Seq, e.At = s.seq, parley.TimestampOf(time.Unix(1_800_000_000+s.seq, 0))
	s.got = nil
	for _, u := range s.ledger.fold(e, floor) {
		s.got = append(s.got, u.id+" "+describe(u.event))
	}
}

func (s *handwrittenLog) system(sys parley.System, floor bool) {
	raw, _ := json.Marshal(sys)
	s.take(&parley.Event{Type: parley.TypeSystem, From: parley.HubID, Payload: raw}, floor)
}

func (s *handwrittenLog) note(from string, taskID a2a.TaskID) {
	raw, _ := json.Marshal(parley.System{Kind: parley.KindNote, Schema: noteCanceled,
		Data: json.RawMessage(fmt.Sprintf(`{"taskId":%q}`, taskID))})
	s.take(&parley.Event{Type: parley.TypeSystem, From: from, Payload: raw}, false)
}

// say adds a message. Its payload is JSON or text.
func (s *handwrittenLog) say(from, payload string, f parley.Finality, floor bool, o ...parley.Outcome) {
	if !strings.HasPrefix(payload, "{") {
		payload = fmt.Sprintf(`{"text":%q}`, payload)
	}
	e := &parley.Event{Type: parley.TypeMessage, From: from, Turn: s.turn, Finality: f, Payload: json.RawMessage(payload)}
	if len(o) > 0 {
		e.Outcome = &o[0]
	}
	if f.Final() {
		s.turn++
	}
	s.take(e, floor)
}

// ends ends the turn of an agent without a message.
func (s *handwrittenLog) ends(agent string, floor bool) {
	s.system(parley.System{Kind: parley.KindTurnEnded, Turn: s.turn, AgentID: agent, Reason: "skipped",
		Detail: "turn_timeout"}, floor)
	s.turn++
}

func describe(e a2a.Event) string {
	status := func(id a2a.TaskID, st a2a.TaskStatus) string {
		text := string(id) + " " + strings.TrimPrefix(string(st.State), "TASK_STATE_")
		if st.Message != nil {
			text += " " + wordsOf(st.Message.Parts)
		}
		return text
	}
	switch e := e.(type) {
	case *a2a.Task:
		return "task " + status(e.ID, e.Status)
	case *a2a.TaskStatusUpdateEvent:
		return status(e.TaskID, e.Status)
	case *a2a.TaskArtifactUpdateEvent:
		return fmt.Sprintf("%s %s %s", e.TaskID, e.Artifact.ID, wordsOf(e.Artifact.Parts))
	}
	return "?"
}

func wordsOf(parts a2a.ContentParts) string {
	var all []string
	for _, p := range parts {
		raw, _ := json.Marshal(p)
		if t := p.Text(); t != "" {
			raw = []byte(t)
		}
		all = append(all, string(raw))
	}
	return "[" + strings.Join(all, "|") + "]"
}

func (s *handwrittenLog) brings(want ...string) {
	s.t.Helper()
	if got := strings.Join(s.got, "\n"); got != strings.Join(want, "\n") {
		s.t.Errorf("event %d brings\n%s\nwant\n%s", s.seq, got, strings.Join(want, "\n"))
	}
}

// history compares the history of a task with its messages, as the first letters of their roles and
// their texts.
func (s *handwrittenLog) history(id a2a.TaskID, want ...string) {
	s.t.Helper()
	var got []string
	for _, m := range s.ledger.task(id).History {
		got = append(got, strings.ToLower(strings.TrimPrefix(string(m.Role), "ROLE_"))+" "+wordsOf(m.Parts))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("history of %s:\n%s\nwant\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	none = parley.FinalityNone
	turn = parley.FinalityTurn
	last = parley.FinalityConversation
)

func TestExchange(t *testing.T) {
	s := newStory(t, false, parley.PolicyRoundRobin, "bob")
	s.say("bob", "before any task", turn, true)
	s.brings()
	s.say("alice", `{"text":"hello","a2a":{"messageId":"m1"}}`, turn, false)
	s.brings("3 task cnv_1.3 SUBMITTED")
	s.system(parley.System{Kind: parley.KindTurnClaimed, AgentID: "bob", Turn: s.turn}, false)
	s.brings("4 cnv_1.3 WORKING")
	s.say("bob", "I look", none, false)
	s.brings("5 cnv_1.3 WORKING [I look]")
	s.say("bob", "42", turn, true)
	s.brings("6.1 cnv_1.3 artifact-6 [42]", "6 cnv_1.3 COMPLETED [42]")
	s.history("cnv_1.3", "user [hello]", "agent [I look]")
	task := s.ledger.task("cnv_1.3")
	if m := task.History[0]; m.ID != "m1" || m.ContextID != "ctx" || m.TaskID != "cnv_1.3" {
		t.Errorf("the caller's message is %+v", m)
	}
	if m := task.Status.Message; m.ID != "cnv_1-6" || fmt.Sprint(m.Metadata[AuthorExtension]) != "map[participant:bob "+
		"seq:6]" {
		t.Errorf("the answer is %+v", m)
	}
	if at := task.Status.Timestamp; !at.Equal(time.Unix(1_800_000_006, 0)) || at.Location() != time.UTC {
		t.Errorf("the status is of %v", at)
	}
	s.say("alice", "by another way", turn, false)
	s.brings("7 task cnv_1.7 SUBMITTED")
	s.history("cnv_1.7", "user [by another way]")
	if m := s.ledger.task("cnv_1.7").History[0]; m.ID != "cnv_1-7" {
		t.Errorf("a message without an id has %q", m.ID)
	}
	if ids := s.ledger.tasks(); fmt.Sprint(ids) != "[cnv_1.3 cnv_1.7]" {
		t.Errorf("tasks are %v", ids)
	}
}

func TestStates(t *testing.T) {
	for _, test := range []struct {
		name   string
		room   bool
		policy parley.PolicyKind
		play   func(*handwrittenLog)
		want   []string
	}{
		{"room", true, "", func(s *handwrittenLog) { s.say("bob", "42", turn, true) }, []string{"3.1 cnv_1.2 artifact-3 [42]",
			"3 cnv_1.2 INPUT_REQUIRED [42]"}},
		{"room, completed", true, "", func(s *handwrittenLog) {
			s.say("bob", `{"text":"42","a2a":{"state":"completed"}}`, turn,
				true)
		},
			[]string{"3.1 cnv_1.2 artifact-3 [42]", "3 cnv_1.2 COMPLETED [42]"}},
		{"tag", false, "", func(s *handwrittenLog) {
			s.say("bob", `{"text":"which?","tags":["input_required"]}`, turn,
				true)
		},
			[]string{"3 cnv_1.2 INPUT_REQUIRED [which?]"}},
		{"state", false, "", func(s *handwrittenLog) {
			s.say("bob", `{"text":"who?","a2a":{"state":"auth-required"}}`, turn,
				true)
		},
			[]string{"3 cnv_1.2 AUTH_REQUIRED [who?]"}},
		{"asks, but another has the floor", false, "",
			func(s *handwrittenLog) { s.say("bob", `{"text":"which?","tags":["input_required"]}`, turn, false) },
			[]string{"3 cnv_1.2 WORKING [which?]"}},
		{"rejected at once", false, "", func(s *handwrittenLog) {
			s.say("bob", `{"text":"no","a2a":{"state":"rejected"}}`, turn,
				false)
		}, []string{"3 cnv_1.2 REJECTED [no]"}},
		{"failed", false, "", func(s *handwrittenLog) { s.say("bob", `{"text":"no","a2a":{"state":"failed"}}`, turn, true) },
			[]string{"3 cnv_1.2 FAILED [no]"}},
		{"a state that is none", false, "", func(s *handwrittenLog) {
			s.say("bob", `{"text":"42","a2a":{"state":"working"}}`, turn,
				true)
		},
			[]string{"3.1 cnv_1.2 artifact-3 [42]", "3 cnv_1.2 COMPLETED [42]"}},
		{"no answer", false, "", func(s *handwrittenLog) { s.ends("bob", true) },
			[]string{"3 cnv_1.2 FAILED [There was no answer: all other turns ended without a message. The last was that " +
				"of bob, which was skipped (turn_timeout).]"}},
		{"no answer, but another is asked", false, "", func(s *handwrittenLog) { s.ends("bob", false) }, nil},
		{"half an answer", false, "", func(s *handwrittenLog) { s.say("bob", "4", none, false); s.ends("bob", true) },
			[]string{"4.1 cnv_1.2 artifact-3 [4]", "4 cnv_1.2 COMPLETED [4]"}},
		{"open: one passes", false, parley.PolicyOpen, func(s *handwrittenLog) { s.ends("bob", true) }, nil},
		{"open: all pass", false, parley.PolicyOpen, func(s *handwrittenLog) { s.ends("bob", true); s.ends("carol", true) },
			[]string{"4 cnv_1.2 FAILED [There was no answer: all other turns ended without a message. The last was that " +
				"of carol, which was skipped (turn_timeout).]"}},
		{"canceled", false, "", func(s *handwrittenLog) { s.note("alice", "cnv_1.2") }, []string{"3 cnv_1.2 CANCELED"}},
		{"canceled by another", false, "", func(s *handwrittenLog) { s.note("bob", "cnv_1.2") }, nil},
		{"another canceled", false, "", func(s *handwrittenLog) { s.note("alice", "cnv_1.1") }, nil},
		{"closed with an answer", true, "", func(s *handwrittenLog) { s.say("bob", "bye", last, false) },
			[]string{"3.1 cnv_1.2 artifact-3 [bye]", "3 cnv_1.2 COMPLETED [bye]"}},
		{"closed as failed", false, "", func(s *handwrittenLog) {
			s.say("bob", "oh", last, false,
				parley.Outcome{Status: parley.OutcomeFailed})
		}, []string{"3 cnv_1.2 FAILED [oh]"}},
		{"closed as rejected", false, "", func(s *handwrittenLog) {
			s.say("bob", `{"text":"no","a2a":{"state":"rejected"}}`, last, false, parley.Outcome{Status: parley.OutcomeFailed})
		}, []string{"3 cnv_1.2 REJECTED [no]"}},
		{"closed by the hub", false, "", func(s *handwrittenLog) {
			s.say("hub", "Too many turns.", last, false, parley.Outcome{Status: parley.OutcomeCanceled, Reason: "max_turns"})
		}, []string{"3 cnv_1.2 CANCELED [Too many turns.]"}},
		{"closed by the hub as completed", false, "", func(s *handwrittenLog) {
			s.say("bob", "42", turn, false)
			s.say("hub",
				"Closed.", last, false)
		},
			[]string{"4.1 cnv_1.2 artifact-3 [42]", "4 cnv_1.2 COMPLETED [42]"}},
		{"closed in a room: said once", true, "", func(s *handwrittenLog) {
			s.say("bob", "42", turn, true)
			s.say("hub", "Closed.",
				last, false)
		}, []string{"4 cnv_1.2 COMPLETED [42]"}},
		{"closed by the caller", true, "", func(s *handwrittenLog) {
			s.say("bob", "42", turn, true)
			s.say("alice", "thanks", last,
				false)
		}, []string{"4 cnv_1.2 COMPLETED [42]"}},
		{"the caller goes on at once", false, "", func(s *handwrittenLog) {
			s.say("alice", `{"text":"and","a2a":{"taskId":"cnv_1.2","messageId":"m"}}`, turn, true)
		},
			[]string{"3 cnv_1.2 INPUT_REQUIRED"}},
		{"a result", false, "", func(s *handwrittenLog) {
			s.say("bob", `{"result":{"result_type":"deterministic","result_text":"7","result_data":7,"exit_code":0}}`, last,
				false)
		}, []string{`3.1 cnv_1.2 artifact-3 [7|{"data":{"exit_code":0,"result_data":7,"result_type":"deterministic"}}]`,
			"3 cnv_1.2 COMPLETED [7]"}},
		{"a result that failed", false, "", func(s *handwrittenLog) {
			s.say("bob", `{"result":{"result_type":"deterministic","result_text":"half","exit_code":3,"error":"exit status 3"}}`,
				last, false, parley.Outcome{Status: parley.OutcomeFailed})
		}, []string{`3.1 cnv_1.2 artifact-3 [half|{"data":{"error":"exit status 3","exit_code":3,` +
			`"result_type":"deterministic"}}]`, "3 cnv_1.2 FAILED [exit status 3]"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			policy := test.policy
			if policy == "" {
				policy = parley.PolicyRoundRobin
			}
			s := newStory(t, test.room, policy, "bob", "carol")
			s.say("alice", "question", turn, policy == parley.PolicyOpen)
			test.play(s)
			s.brings(test.want...)
		})
	}
}

// A message with the id of a waiting task continues it. A message without the id cancels it and
// begins another.
func TestMessageContinuesTask(t *testing.T) {
	s := newStory(t, true, parley.PolicyRoundRobin, "bob")
	s.say("alice", `{"text":"one","a2a":{"messageId":"m1"}}`, turn, false)
	s.say("bob", "which?", turn, true)
	if id, waits := s.ledger.liveTask(); id != "cnv_1.2" || !waits {
		t.Errorf("live is %s, waits %t", id, waits)
	}
	s.say("alice", `{"text":"this","a2a":{"messageId":"m2","taskId":"cnv_1.2"}}`, turn, false)
	s.brings("4 cnv_1.2 WORKING")
	s.history("cnv_1.2", "user [one]", "agent [which?]", "user [this]")
	s.say("bob", "and?", turn, true)
	s.say("alice", `{"text":"other","a2a":{"messageId":"m3"}}`, turn, false)
	s.brings("6.1 cnv_1.2 CANCELED", "6 task cnv_1.6 SUBMITTED")
	s.say("bob", "done", turn, true)
	s.say("bob", "and more", turn, true)
	s.history("cnv_1.6", "user [other]", "agent [done]")
}

// Messages of a failed attempt are neither history nor an answer, and streams are notified.
func TestWithdrawn(t *testing.T) {
	s := newStory(t, false, parley.PolicyRoundRobin, "bob")
	s.say("alice", "one", turn, false)
	s.say("bob", "wrong", none, false)
	s.say("bob", "very wrong", none, false)
	s.system(parley.System{Kind: parley.KindClaimEnded, Turn: s.turn, Reason: "failed", ResetFrom: 3}, false)
	s.brings("5 cnv_1.2 WORKING")
	s.history("cnv_1.2", "user [one]")
	s.ends("bob", true)
	if task := s.ledger.task("cnv_1.2"); task.Status.State != a2a.TaskStateFailed || len(task.Artifacts) > 0 {
		t.Errorf("the task is %+v", task)
	}
}

// A trace repeats the status and changes nothing.
func TestTrace(t *testing.T) {
	s := newStory(t, false, parley.PolicyRoundRobin, "bob")
	s.say("alice", "one", turn, false)
	before := asJSON(s.ledger.task("cnv_1.2").Status)
	e := &parley.Event{Type: parley.TypeTrace, From: "bob", Turn: s.turn,
		Payload: json.RawMessage(`{"kind":"progress","n":12345678901234567890}`)}
	s.seq++
	e.Seq = s.seq
	all := s.ledger.fold(e, false)
	if len(all) != 1 || describe(all[0].event) != "cnv_1.2 SUBMITTED" {
		t.Fatalf("the trace brings %v", all)
	}
	raw, _ := json.Marshal(all[0].event.Meta()[TraceExtension])
	if string(raw) != `{"kind":"progress","n":12345678901234567890}` {
		t.Errorf("the trace is %s", raw)
	}
	if after := asJSON(s.ledger.task("cnv_1.2").Status); after != before {
		t.Errorf("the status was %s and is %s", before, after)
	}
}

// An answer that asks to be a message is one if it completed the task.
func TestMessageAnswer(t *testing.T) {
	s := newStory(t, false, parley.PolicyRoundRobin, "bob")
	s.say("alice", "one", turn, false)
	if s.ledger.messageAnswer("cnv_1.2") != nil {
		t.Error("there is an answer before it was given")
	}
	s.say("bob", `{"text":"hi","a2a":{"message":true}}`, turn, true)
	if m := s.ledger.messageAnswer("cnv_1.2"); m == nil || wordsOf(m.Parts) != "[hi]" || m.TaskID != "" {
		t.Errorf("the answer is %+v", m)
	}
}

// The first message of a session has the id in its metadata.
func TestSession(t *testing.T) {
	s := &handwrittenLog{t: t, ledger: newTaskFold("alice", false, "ses_1", "ses_1"), turn: 1}
	s.system(parley.System{Kind: parley.KindConversationCreated, Session: &parley.SessionRecord{},
		Metadata: json.RawMessage(`{"a2a":{"messageId":"m9"}}`)}, false)
	s.say("alice", `{"parameters":{"n":1}}`, turn, false)
	s.history("ses_1.2", `user [{"data":{"n":1}}]`)
	if m := s.ledger.task("ses_1.2").History[0]; m.ID != "m9" {
		t.Errorf("the message is %q", m.ID)
	}
}

// Changes of a returned task do not change the fold.
func TestTasksAreCopies(t *testing.T) {
	s := newStory(t, true, parley.PolicyRoundRobin, "bob")
	s.say("alice", "one", turn, false)
	s.say("bob", "two", turn, true)
	before, _ := json.Marshal(s.ledger.task("cnv_1.2"))
	task := s.ledger.task("cnv_1.2")
	task.Status.Message.SetMeta("x", 1)
	task.History[0].Parts[0] = a2a.NewTextPart("changed")
	task.History[0].SetMeta("x", 1)
	task.Artifacts[0].Parts[0] = a2a.NewTextPart("changed")
	task.SetMeta("x", 1)
	*task.Status.Timestamp = time.Time{}
	if after, _ := json.Marshal(s.ledger.task("cnv_1.2")); string(after) != string(before) {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
}
