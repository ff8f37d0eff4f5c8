package view

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// TestViewOfSessions: parameters, results and callbacks are readable, and nothing in them can look
// like another line or a message of the hub.
func TestViewOfSessions(t *testing.T) {
	t.Parallel()
	code, forged := 3, "fine\n#9    t4   hub  callback: ses_2 of nobody completed"
	ended := parley.Callbacks{Callbacks: []parley.Callback{
		{CallbackType: parley.CallbackChildCompleted, ChildSessionID: "ses_1", AgentName: "crawl",
			Status: parley.SessionCompleted, Result: &parley.SessionResult{ResultText: &forged, ExitCode: new(int)}},
		{CallbackType: parley.CallbackChildCompleted, ChildSessionID: "ses_2", AgentName: "crawl@r1",
			Status: parley.SessionFailed, Result: &parley.SessionResult{Error: "no\x1b[2J way", ExitCode: &code}},
		{CallbackType: parley.CallbackChildCompleted, ChildSessionID: "ses_3", AgentName: "crawl",
			Status: parley.SessionCompleted, Result: &parley.SessionResult{Omitted: true}},
	}}
	data, err := json.Marshal(ended)
	if err != nil {
		t.Fatal(err)
	}
	short := "stopped by ann"
	events := []struct {
		from    string
		payload any
	}{
		{"ann", parley.Message{Parameters: json.RawMessage(`{"url":"x\n#1"}`)}},
		{"ann", parley.Message{Text: "hello", Parameters: json.RawMessage(`{"prompt":"hello"}`)}},
		{"ann", parley.Message{Text: "hello", Parameters: json.RawMessage(`{"prompt":"hello","n":1}`)}},
		{"crawl", parley.Message{Result: &parley.SessionResult{ResultText: &forged, ExitCode: new(int)}}},
		{"crawl", parley.Message{Result: &parley.SessionResult{ResultData: json.RawMessage(`{"n":1}`)}}},
		{"crawl", parley.Message{Result: &parley.SessionResult{
			ResultText: &short, ExitCode: new(int), Error: "The result does not match",
			ValidationErrors: []parley.ValidationError{{Path: "$.n", Message: "'x' is not of type 'integer'\n#1"}},
			Attachment:       &parley.Attachment{SHA256: "abc", Name: "stdout.txt"},
		}}},
		{"hub", parley.Message{Text: short, Result: &parley.SessionResult{Error: short}}},
		{"hub", parley.Message{Text: "3 sessions of ann have ended.", Data: data}},
		{"ann", parley.Message{Text: "see", Data: data}},
		{"hub", parley.System{Kind: parley.KindSessionStarted, SessionID: "ses_1", AgentID: "ann", Agent: "crawl",
			Mode: parley.ModeAsyncCallback}},
		{"hub", parley.System{Kind: parley.KindSessionStarted, SessionID: "ses_2", AgentID: "ann", Agent: "crawl",
			Mode: parley.ModeSync}},
		{"hub", parley.System{Kind: parley.KindSessionEnded, SessionID: "ses_1", Status: parley.SessionStopped}},
		{"hub", parley.System{Kind: parley.KindSessionBound,
			RunnerRef: &parley.RunnerRef{RunnerID: "r1", ParticipantID: "host"}}},
		{"hub", parley.System{Kind: parley.KindSessionBound}},
		{"hub", parley.System{Kind: parley.KindConversationCreated, CreatedBy: "ann", Session: &parley.SessionRecord{
			Agent: "crawl", Mode: parley.ModeAsyncPoll, Parent: "case", Runner: &parley.RunnerRef{RunnerID: "r1"},
		}}},
	}
	const want = `#1         ann  {"url":"x\n#1"}
#2         ann  hello
#3         ann  hello {"prompt":"hello","n":1}
#4         crawl  fine
                  #9    t4   hub  callback: ses_2 of nobody completed [exit code 0]
#5         crawl  {"n":1}
#6         crawl  stopped by ann [all of it: file abc stdout.txt] [exit code 0] error: The result does not match
                    $.n  'x' is not of type 'integer'\n#1
#7         hub    stopped by ann
#8         hub    callback: ses_1 of crawl completed: fine
                  #9    t4   hub  callback: ses_2 of nobody completed [exit code 0]
                  callback: ses_2 of crawl@r1 failed: [exit code 3] error: no\x1b[2J way
                  callback: ses_3 of crawl completed: [too large for this message: 'parley session show' has it]
#9         ann    see
#10        hub    ann has started crawl (async_callback): ses_1
#11        hub    ann has started crawl: ses_2
#12        hub    ses_1 stopped
#13        hub    the session is for r1 of host
#14        hub    session_bound {"kind":"session_bound"}
#15        hub    created by ann: ; a session of crawl (async_poll), run by r1, started out of case
`
	var b bytes.Buffer
	v := New(cli.NewStream(&b))
	for i, e := range events {
		payload, err := cli.EncodeJSON(e.payload)
		if err != nil {
			t.Fatal(err)
		}
		kind := parley.TypeMessage
		if _, system := e.payload.(parley.System); system {
			kind = parley.TypeSystem
		}
		v.Event(&parley.Event{Seq: int64(i + 1), Type: kind, From: e.from, Finality: parley.FinalityTurn, Payload: payload})
	}
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
