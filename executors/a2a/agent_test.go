package a2a_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	proto "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/a2a"
)

// TestTurns has the ends of a task in each dialect, with and without streams.
func TestTurns(t *testing.T) {
	for i, d := range dialects {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streaming %v", d.name, streaming), func(t *testing.T) {
				r := newRemote(t, i, streaming)
				w := newWorld(t, &a2a.Options{CardURL: r.URL})
				for _, c := range []struct{ said, text, state string }{
					{"hello", "the answer to hello", "completed"},
					{"plain", "no task for that", "completed"},
					{"fail", "it is broken", "failed"},
					{"reject", "not for me", "rejected"},
					{"silence", "The remote agent completed its task without an answer.", "completed"},
				} {
					got := w.answer(t, w.say(t, c.said))
					if got.Text != c.text || got.A2A.State != c.state || (got.A2A.TaskID == "") != (c.said == "plain") {
						t.Errorf("%s: %+v", c.said, got)
					}
				}
				all := r.messages()
				if len(all) != 5 {
					t.Fatalf("%d messages were sent", len(all))
				}
				for i, m := range all {
					if m.ID == "" || m.Role != proto.MessageRoleUser || len(m.Parts) != 1 {
						t.Errorf("message %d: %+v", i, m)
					}
					if i > 0 && (m.ContextID == "" || m.ContextID != all[1].ContextID) {
						t.Errorf("message %d is in context %q, not %q", i, m.ContextID, all[1].ContextID)
					}
				}
			})
		}
	}
}

// The reply is sent to the task that asked, even if another executor has the turn.
func TestAskBack(t *testing.T) {
	for i, d := range dialects {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streaming %v", d.name, streaming), func(t *testing.T) {
				r := newRemote(t, i, streaming)
				w := newWorld(t, &a2a.Options{CardURL: r.URL})
				asked := w.answer(t, w.say(t, "ask"))
				if asked.Text != "which one?" || asked.A2A.State != "input-required" || len(asked.Tags) != 1 ||
					asked.Tags[0] != "input_required" || asked.A2A.TaskID == "" {
					t.Fatalf("%+v", asked)
				}
				got := w.answer(t, w.say(t, "the red one"))
				if got.Text != "the answer to reply the red one" || got.A2A.TaskID != asked.A2A.TaskID ||
					got.A2A.State != "completed" {
					t.Errorf("%+v", got)
				}
				if all := r.messages(); len(all) != 2 || all[1].TaskID != proto.TaskID(asked.A2A.TaskID) ||
					all[1].ContextID != asked.A2A.ContextID {
					t.Errorf("%+v", all)
				}
				next := w.answer(t, w.say(t, "hello"))
				if next.A2A.TaskID == asked.A2A.TaskID || next.A2A.ContextID != asked.A2A.ContextID {
					t.Errorf("after the end of the task: %+v", next)
				}
			})
		}
	}
}

// TestAuthRequired reports the required authorization.
func TestAuthRequired(t *testing.T) {
	r := newRemote(t, 0, true)
	w := newWorld(t, &a2a.Options{CardURL: r.URL})
	got := w.answer(t, w.say(t, "auth"))
	if !strings.Contains(got.Text, "authorization") || !strings.Contains(got.Text, "https://login.example") ||
		got.A2A.State != "auth-required" || got.A2A.TaskID == "" {
		t.Errorf("%+v", got)
	}
}

// Files are sent unchanged in both directions, addresses stay addresses, and data stays data.
func TestFiles(t *testing.T) {
	for i, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			r := newRemote(t, i, true)
			w := newWorld(t, &a2a.Options{CardURL: r.URL})
			content := []byte("\x00\xff\x01 some bytes")
			at, err := w.ann.PutAttachment(t.Context(),
				&parley.PutAttachmentParams{ConversationID: w.id, Name: "in.bin", MediaType: "application/x-in", Data: content})
			if err != nil {
				t.Fatal(err)
			}
			got := w.answer(
				t, w.say(t, fmt.Sprintf(
					`{"text":"file","data":{"a":[1,"b"]},"attachments":[{"sha256":%q,"name":"in.bin","mediaType":"application/x-in"}]}`,
					at.SHA256)))
			if got.Text != "here it is\n\ntext/html: https://files.example/a" || string(got.Data) != `{"n":1}` ||
				len(got.Attachments) != 1 || got.Attachments[0].Name != "four.bin" {
				t.Fatalf("%+v", got)
			}
			back, err := io.ReadAll(parley.ReadAttachment(t.Context(), w.ann, w.id, got.Attachments[0].SHA256))
			if err != nil || !bytes.Equal(back, []byte{0, 1, 2, 255}) {
				t.Errorf("%v %v", back, err)
			}
			sent := r.messages()[0].Parts
			if len(sent) != 3 {
				t.Fatalf("%d parts were sent", len(sent))
			}
			if raw, ok := sent[2].Content.(proto.Raw); !ok || !bytes.Equal(raw, content) || sent[2].Filename != "in.bin" ||
				sent[2].MediaType != "application/x-in" {
				t.Errorf("%+v", sent[2])
			}
		})
	}
}

// With several authors, each text has its author, and all messages since the last turn are sent at
// once.
func TestAuthors(t *testing.T) {
	r := newRemote(t, 0, true)
	w := newWorld(t, &a2a.Options{CardURL: r.URL}, "bea")
	first := w.say(t, "good morning")
	if _, err := w.hub.Client(t, "bea").SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: w.id, Payload: []byte(`{"text":"hello"}`), Finality: parley.FinalityTurn,
	}); err != nil {
		t.Fatal(err)
	}
	if got := w.answer(t, first); got.Text != "the answer to hello" {
		t.Errorf("%+v", got)
	}
	parts := r.messages()[0].Parts
	if len(parts) != 2 || parts[0].Text() != "ann: good morning" || parts[1].Text() != "bea: hello" {
		t.Errorf("%v", parts)
	}
}

// Messages before the end are traces.
func TestProgress(t *testing.T) {
	r := newRemote(t, 0, true)
	w := newWorld(t, &a2a.Options{CardURL: r.URL})
	w.answer(t, w.say(t, "hello"))
	var kinds []string
	for _, tr := range w.traces(t) {
		kinds = append(kinds, tr.Kind+" "+tr.Text)
	}
	if len(kinds) != 2 || kinds[0] != "a2a.task " || kinds[1] != "a2a.progress looking at hello" {
		t.Errorf("%q", kinds)
	}
}

// A session sends its prompt, continues after input, and ends with the task.
func TestSession(t *testing.T) {
	for _, c := range []struct {
		prompt string
		status parley.SessionStatus
		text   string
	}{
		{"hello", parley.SessionCompleted, "the answer to hello"},
		{"ask", parley.SessionInputRequired, "which one?"},
		{"fail", parley.SessionFailed, "it is broken"},
	} {
		t.Run(c.prompt, func(t *testing.T) {
			r := newRemote(t, 0, true)
			w := newWorld(t, &a2a.Options{CardURL: r.URL})
			w.hub.RegisterAgent(t, parley.AgentInfo{Name: "bot", Type: parley.AgentTypeAgent, Description: "far away"})
			s, err := w.ann.StartSession(t.Context(), &parley.StartSessionParams{
				AgentName: "bot", Parameters: []byte(fmt.Sprintf(`{"prompt":%q}`, c.prompt)), Mode: parley.ModeSync,
				TimeoutMs: 20_000, ClientRequestID: "s",
			})
			if err != nil {
				t.Fatal(err)
			}
			if s.Status != c.status || s.Result == nil || s.Result.ResultText == nil && s.Result.Error == "" {
				t.Fatalf("%+v %+v", s, s.Result)
			}
			if s.Result.ResultText != nil && *s.Result.ResultText != c.text {
				t.Errorf("%q", *s.Result.ResultText)
			}
		})
	}
}

// In its first turn an agent sends the private text, otherwise the title, otherwise nothing.
func TestNothingIsSentEmpty(t *testing.T) {
	for _, c := range []struct{ title, private, want string }{
		{"", "", ""},
		{"a case", "", "a case"},
		{"a case", "you are the judge", "you are the judge"},
	} {
		r := newRemote(t, 0, true)
		w := newWorldHub(t)
		s, err := w.ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
			Title: c.title,
			Participants: []parley.Participant{{ID: "bot", Kind: parley.KindAgent, Private: c.private},
				{ID: "ann", Kind: parley.KindHuman}},
		})
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := newAgent(t, &a2a.Options{CardURL: r.URL}).HandleTurn(t.Context(), &parley.Turn{
			ConversationID: s.ConversationID, AgentID: "bot", Agent: "bot", Number: 1, Attempt: 1, Key: "k",
			Client: w.hub.Client(t, "bot"),
		})
		if err != nil {
			t.Fatal(err)
		}
		all := r.messages()
		switch {
		case c.want == "" && (outcome != parley.TurnNoAction || len(all) != 0):
			t.Errorf("%+v: %s, %d messages", c, outcome, len(all))
		case c.want != "" && (len(all) != 1 || all[0].Parts[0].Text() != c.want):
			t.Errorf("%+v: %v", c, all)
		}
	}
}
