package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// TestContractSession: a session from the call to the result, with its events.
func TestContractSession(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		release := make(chan struct{})
		s.runner(when(t, release, echoed))
		handle := s.start(
			s.b,
			parley.StartSessionParams{
				AgentName:       "echo",
				Parameters:      json.RawMessage(`{"x":"<&>"}`),
				Mode:            parley.ModeAsyncPoll,
				ClientRequestID: "k",
			},
		)
		if handle.SessionID == "" || handle.Status.Ended() || handle.CreatedBy != "b" || handle.RunnerID != "host-1" ||
			handle.Depth != 1 ||
			handle.Result != nil ||
			handle.TimedOut ||
			handle.AgentType != parley.AgentTypeDeterministic ||
			handle.Mode != parley.ModeAsyncPoll ||
			handle.Callback != "" {
			t.Fatalf("the handle: %+v", handle)
		}
		running := s.standing(s.b, handle.SessionID, parley.SessionRunning)
		if running.StartedAt == 0 || running.EndedAt != 0 {
			t.Errorf("running: %+v", running)
		}
		wait := &parley.GetSessionParams{SessionID: handle.SessionID, TimeoutMs: 30}
		if got, err := s.b.GetSession(t.Context(), wait); err != nil || !got.TimedOut || got.Status != parley.SessionRunning {
			t.Errorf("after 30 ms: %+v, %v", got, err)
		}
		close(release)
		wait.TimeoutMs = 20_000
		got, err := s.b.GetSession(t.Context(), wait)
		if err != nil || got.Status != parley.SessionCompleted || got.TimedOut || got.Result == nil ||
			got.Result.ResultText == nil ||
			got.EndedAt == 0 {
			t.Fatalf("at the end: %+v, %v", got, err)
		}
		if want := `{"x":"<&>","n":7}`; *got.Result.ResultText != want || string(got.Result.ResultData) != want ||
			got.Result.ExitCode == nil ||
			*got.Result.ExitCode != 0 {
			t.Errorf("the result is %+v", got.Result)
		}
		again := s.start(
			s.b,
			parley.StartSessionParams{
				AgentName:       "echo",
				Parameters:      json.RawMessage(`{"x":"<&>"}`),
				Mode:            parley.ModeAsyncPoll,
				ClientRequestID: "k",
			},
		)
		if !again.Duplicate || again.SessionID != handle.SessionID || again.Result == nil {
			t.Errorf("again: %+v", again)
		}
		if stopped, err := s.b.StopSession(t.Context(), &parley.StopSessionParams{SessionID: handle.SessionID}); err != nil ||
			stopped.Status != parley.SessionCompleted {
			t.Errorf("stopped after its end: %+v, %v", stopped, err)
		}
	})
}

// TestContractSyncSession: the answer is the end, or a handle when the time is over.
func TestContractSyncSession(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		release := make(chan struct{})
		r := s.runner(when(t, release, echoed))
		slow := parley.StartSessionParams{AgentName: "echo", TimeoutMs: 200, ClientRequestID: "k"}
		begin := time.Now()
		handle := s.start(s.b, slow)
		if took := time.Since(begin); !handle.TimedOut || handle.Status.Ended() || handle.Duplicate ||
			took < 200*time.Millisecond {
			t.Fatalf("after %v: %+v", took, handle)
		}
		time.AfterFunc(100*time.Millisecond, func() { close(release) })
		slow.TimeoutMs = 20_000
		got := s.start(s.b, slow)
		if got.SessionID != handle.SessionID || !got.Duplicate || got.TimedOut || got.Status != parley.SessionCompleted ||
			got.Result == nil {
			t.Errorf("the same call again: %+v", got)
		}
		if quick := s.start(s.b, parley.StartSessionParams{AgentName: "echo"}); quick.Status != parley.SessionCompleted ||
			quick.SessionID == handle.SessionID {
			t.Errorf("without a key: %+v", quick)
		}
		if n := r.counted(); n != 2 {
			t.Errorf("%d runs", n)
		}
		stuck := s.door.client(t, s.hub, "b")
		startRunner(
			t,
			s.door.client(t, s.hub, "idle"),
			when(t, nil, echoed),
			parley.Blueprint{Name: "never", ParametersSchema: echo.ParametersSchema},
		)
		never := parley.StartSessionParams{AgentName: "never", ClientRequestID: "n"}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		for errors.Is(ctx.Err(), nil) {
			if _, err := stuck.StartSession(ctx, &never); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call whose ctx ends: %v", err)
			}
		}
		never.TimeoutMs = 1
		if got := s.start(s.b, never); got.Status.Ended() {
			t.Errorf("it has ended with its call: %+v", got)
		}
	})
}

// TestContractParameters: a refusal of parameters has what is needed to correct the call, the same
// with every client.
func TestContractParameters(t *testing.T) {
	t.Parallel()
	want := &parley.ValidationFailure{
		AgentName: "echo", ParametersSchema: echo.ParametersSchema,
		ValidationErrors: []parley.ValidationError{
			{Path: "$.n", Message: "'seven' is not of type 'integer'", SchemaPath: "properties.n.type"},
		},
	}
	eachDoor(t, func(t *testing.T, s *scene) {
		r := s.runner(echoed)
		_, err := s.b.StartSession(
			t.Context(),
			&parley.StartSessionParams{AgentName: "echo", Parameters: json.RawMessage(`{"n":"seven"}`)},
		)
		var e *parley.Error
		if !errors.As(err, &e) || !errors.Is(err, parley.ErrParameters) {
			t.Fatalf("it is %v", err)
		}
		if d := cmp.Diff(want, e.Validation); d != "" {
			t.Errorf("the failure (-want +got):\n%s", d)
		}
		s.start(s.b, parley.StartSessionParams{AgentName: "echo", Parameters: json.RawMessage(`{"n":7}`)})
		if n := r.counted(); n != 1 {
			t.Errorf("%d runs", n)
		}
	})
}

// TestContractBadSessions are refused by name, and nothing is made.
func TestContractBadSessions(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		s.runner(echoed)
		s.hub.RegisterAgent(t, parley.AgentInfo{Name: "idle", Type: parley.AgentTypeAgent})
		done := s.start(s.b, parley.StartSessionParams{AgentName: "echo"})
		closed, err := s.b.CreateConversation(t.Context(), ab())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.b.CloseConversation(t.Context(), &parley.CloseConversationParams{ConversationID: closed.ConversationID}); err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{}
		for i := range limits.MaxLabels + 1 {
			labels[fmt.Sprint(i)] = "x"
		}
		for name, c := range map[string]struct {
			p    parley.StartSessionParams
			want error
		}{
			"no name":        {parley.StartSessionParams{}, parley.ErrValidationFailed},
			"odd name":       {parley.StartSessionParams{AgentName: "a b"}, parley.ErrValidationFailed},
			"nobody":         {parley.StartSessionParams{AgentName: "nobody"}, parley.ErrNotFound},
			"another runner": {parley.StartSessionParams{AgentName: "echo@host-2"}, parley.ErrNotFound},
			"prompt and parameters": {parley.StartSessionParams{AgentName: "idle", Prompt: "x", Parameters: json.RawMessage(`{"prompt":"x"}`)},
				parley.ErrValidationFailed},
			"no object": {parley.StartSessionParams{AgentName: "echo", Parameters: json.RawMessage(`[]`)},
				parley.ErrInvalidParams},
			"no JSON":   {parley.StartSessionParams{AgentName: "echo", Parameters: json.RawMessage(`{`)}, nil},
			"no prompt": {parley.StartSessionParams{AgentName: "idle"}, parley.ErrParameters},
			"mode":      {parley.StartSessionParams{AgentName: "echo", Mode: "later"}, parley.ErrValidationFailed},
			"timeout":   {parley.StartSessionParams{AgentName: "echo", TimeoutMs: -1}, parley.ErrValidationFailed},
			"key": {parley.StartSessionParams{AgentName: "echo",
				ClientRequestID: strings.Repeat("k", parley.MaxKeyBytes+1)}, parley.ErrValidationFailed},
			"not UTF-8": {parley.StartSessionParams{AgentName: "echo", Demands: map[string]string{"a": "\xff"}},
				nil},
			"many demands": {parley.StartSessionParams{AgentName: "echo", Demands: labels}, parley.ErrValidationFailed},
			"nobody is told": {parley.StartSessionParams{AgentName: "echo", Mode: parley.ModeAsyncCallback},
				parley.ErrValidationFailed},
			"absent parent": {parley.StartSessionParams{AgentName: "echo", ParentConversationID: "absent"},
				parley.ErrNotFound},
			"closed parent": {parley.StartSessionParams{AgentName: "echo", ParentConversationID: closed.ConversationID},
				parley.ErrConversationClosed},
			"resume a command": {parley.StartSessionParams{AgentName: "echo", Resume: done.SessionID},
				parley.ErrValidationFailed},
			"resume nothing": {parley.StartSessionParams{AgentName: "echo", Resume: "ses_absent"}, parley.ErrNotFound},
			"resume otherwise": {parley.StartSessionParams{AgentName: "idle", Prompt: "x", Resume: done.SessionID, Mode: parley.ModeSync},
				parley.ErrValidationFailed},
		} {
			got, err := s.b.StartSession(t.Context(), &c.p)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s: %+v, %v, want %v", name, got, err, c.want)
			}
		}
		list, err := s.b.ListConversations(t.Context(), nil)
		if err != nil || len(list.Conversations) != 3 { // done, closed, and the scene's
			t.Errorf("%d conversations, %v", len(list.Conversations), err)
		}
		one := done.SessionID
		stranger := s.door.client(t, s.hub, "stranger")
		if _, err := stranger.GetSession(t.Context(), &parley.GetSessionParams{SessionID: one}); !errors.Is(
			err,
			parley.ErrNotFound,
		) {
			t.Errorf("read by a stranger: %v", err)
		}
		if _, err := stranger.StopSession(t.Context(), &parley.StopSessionParams{SessionID: one}); !errors.Is(
			err,
			parley.ErrNotFound,
		) {
			t.Errorf("stopped by a stranger: %v", err)
		}
		minus := int64(-1)
		if _, err := s.b.GetSession(t.Context(), &parley.GetSessionParams{SessionID: one, ProgressSince: &minus}); !errors.Is(
			err,
			parley.ErrValidationFailed,
		) {
			t.Errorf("progressSince -1: %v", err)
		}
		if _, err := s.b.StopSession(t.Context(), &parley.StopSessionParams{SessionID: one, Reason: "a\nb"}); !errors.Is(
			err,
			parley.ErrValidationFailed,
		) {
			t.Errorf("a reason of two lines: %v", err)
		}
		reader := s.door.client(t, s.hub, "b", parley.ScopeRead)
		if _, err := reader.StartSession(t.Context(), &parley.StartSessionParams{AgentName: "echo"}); !errors.Is(
			err,
			parley.ErrForbidden,
		) {
			t.Errorf("without the scope create: %v", err)
		}
	})
}

// TestContractProgress: a wait ends with what is new since a seq.
func TestContractProgress(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		s.hub.RegisterAgent(t, parley.AgentInfo{Name: "a", Type: parley.AgentTypeAgent})
		id := s.start(s.b, parley.StartSessionParams{AgentName: "a", Prompt: "count", Mode: parley.ModeAsyncPoll}).SessionID
		since := int64(0)
		for _, word := range []string{"one", "two"} {
			if _, err := s.a.SendTrace(t.Context(), &parley.SendTraceParams{ConversationID: id, Payload: json.RawMessage(`{"kind":"progress","text":"` + word + `"}`)}); err != nil {
				t.Fatal(err)
			}
			got, err := s.b.GetSession(
				t.Context(),
				&parley.GetSessionParams{SessionID: id, TimeoutMs: 20_000, ProgressSince: &since},
			)
			if err != nil || got.Progress == nil || got.Progress.Text != word || got.Progress.Seq <= since || got.TimedOut ||
				got.Status != parley.SessionRunning {
				t.Fatalf("%s: %+v, %v", word, got, err)
			}
			since = got.Progress.Seq
		}
		got, err := s.b.GetSession(t.Context(), &parley.GetSessionParams{SessionID: id, TimeoutMs: 30, ProgressSince: &since})
		if err != nil || !got.TimedOut {
			t.Errorf("nothing new: %+v, %v", got, err)
		}
		stopped, err := s.b.StopSession(t.Context(), &parley.StopSessionParams{SessionID: id, Reason: "enough"})
		if err != nil || stopped.Status != parley.SessionStopped || stopped.Reason != parley.ReasonStopped ||
			stopped.Result == nil ||
			!strings.Contains(stopped.Result.Error, "enough") {
			t.Errorf("stopped: %+v, %v", stopped, err)
		}
	})
}

// TestContractResume: an agent that is no command may ask back.
func TestContractResume(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		s.hub.RegisterAgent(t, parley.AgentInfo{Name: "a", Type: parley.AgentTypeAgent})
		id := s.start(
			s.b,
			parley.StartSessionParams{AgentName: "a", Prompt: "book a table", Mode: parley.ModeAsyncPoll},
		).SessionID
		speak := func(words string, f parley.Finality) {
			t.Helper()
			if _, err := s.a.SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: id, Payload: text(words),
				Finality: f}); err != nil {
				t.Fatal(err)
			}
		}
		speak("for how many?", parley.FinalityTurn)
		got, err := s.b.GetSession(t.Context(), &parley.GetSessionParams{SessionID: id, TimeoutMs: 20_000})
		if err != nil || got.Status != parley.SessionInputRequired || got.TimedOut || got.Result == nil ||
			*got.Result.ResultText != "for how many?" {
			t.Fatalf("%+v, %v", got, err)
		}
		again := parley.StartSessionParams{AgentName: "a", Prompt: "for 4", Resume: id, ClientRequestID: "k"}
		if got := s.start(s.b, again); got.SessionID != id || got.Status != parley.SessionPending || got.Duplicate {
			t.Fatalf("resumed: %+v", got)
		}
		speak("booked", parley.FinalityConversation)
		if got := s.start(s.b, again); got.Status != parley.SessionCompleted || !got.Duplicate ||
			*got.Result.ResultText != "booked" {
			t.Errorf("the same call again: %+v", got)
		}
	})
}

// TestContractWaiting: while an agent waits for a session that it started, its registration is
// notified that the claim uses no capacity, and afterwards that it does again.
func TestContractWaiting(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		release := make(chan struct{})
		s.runner(when(t, release, echoed))
		told := s.register(
			s.a,
			&parley.RegisterExecutorParams{ExecutorID: "x", Agents: []string{"a"}, Mode: parley.ModePush, Capacity: 1},
			nil,
		)
		told.next()
		offer := told.next().RequestTurn
		if _, err := s.a.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.id, ClaimID: offer.ClaimID}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan *parley.Session, 1)
		go func() {
			got, err := s.a.StartSession(
				t.Context(),
				&parley.StartSessionParams{AgentName: "echo", ParentConversationID: s.id, TimeoutMs: 20_000},
			)
			if err != nil {
				t.Error(err)
			}
			ended <- got
		}()
		want := parley.ClaimWaitingNotification{
			ConversationID: s.id,
			AgentID:        "a",
			Turn:           1,
			ClaimID:        offer.ClaimID,
			Waiting:        true,
		}
		if w := told.next().ClaimWaiting; w == nil || *w != want {
			t.Errorf("told %+v", w)
		}
		s.begin(ab())
		if o := told.next().RequestTurn; o == nil || o.ConversationID != s.id {
			t.Errorf("with room for another: %+v", o)
		}
		close(release)
		want.Waiting = false
		if w := told.next().ClaimWaiting; w == nil || *w != want {
			t.Errorf("told %+v", w)
		}
		if got := <-ended; got == nil || got.Status != parley.SessionCompleted ||
			got.ParentConversationID != want.ConversationID ||
			got.CreatedBy != "a" {
			t.Errorf("%+v", got)
		}
	})
}

// TestContractCallback: the parent of a session in mode async_callback receives its end as a
// message, and the caller has the floor.
func TestContractCallback(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		s.runner(echoed)
		s.begin(peers())
		session := s.start(
			s.b,
			parley.StartSessionParams{AgentName: "echo", Mode: parley.ModeAsyncCallback, ParentConversationID: s.id},
		)
		for e, err := range s.b.Events(t.Context(), s.id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Type != parley.TypeMessage {
				continue
			}
			m, err := e.Message()
			if err != nil {
				t.Fatal(err)
			}
			var told parley.Callbacks
			if err := json.Unmarshal(m.Data, &told); err != nil || e.From != parley.HubID || e.Finality != parley.FinalityTurn ||
				len(told.Callbacks) != 1 {
				t.Fatalf("%+v: %+v, %v", e, told, err)
			}
			c := told.Callbacks[0]
			if c.CallbackType != parley.CallbackChildCompleted || c.ChildSessionID != session.SessionID ||
				c.AgentName != "echo" ||
				c.Status != parley.SessionCompleted ||
				c.Result == nil ||
				string(c.Result.ResultData) != `{"n":7}` {
				t.Errorf("the callback is %+v", c)
			}
			break
		}
		if g := s.guidance(s.b); g.Kind != parley.MaySpeak || g.Speaker != "b" {
			t.Errorf("guidance after it: %+v", g)
		}
		if got := s.standing(s.b, session.SessionID, parley.SessionCompleted); got.Callback != parley.CallbackDelivered {
			t.Errorf("the session says %+v", got)
		}
	})
}

// TestContractBlueprints: a runner receives the names of its agents, can list them, and can remove
// them. That ends their sessions.
func TestContractBlueprints(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		list := func() []parley.AgentInfo {
			t.Helper()
			got, err := s.b.ListAgents(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return got.Agents
		}
		if _, err := s.a.RegisterBlueprints(t.Context(), &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{echo}}); !errors.Is(
			err,
			parley.ErrValidationFailed,
		) {
			t.Errorf("without a registration: %v", err)
		}
		first := s.runner(when(t, nil, echoed))
		told := s.register(
			s.a,
			&parley.RegisterExecutorParams{ExecutorID: "other", Agents: []string{}, Mode: parley.ModePush},
			nil,
		)
		told.next()
		named, err := s.a.RegisterBlueprints(
			t.Context(),
			&parley.RegisterBlueprintsParams{
				Blueprints: []parley.Blueprint{echo, {Name: "only", ParametersSchema: echo.ParametersSchema}},
			},
		)
		want := []parley.RegisteredBlueprint{{Name: "echo", AgentName: "echo@other"}, {Name: "only", AgentName: "only"}}
		if err != nil || !cmp.Equal(named.Agents, want) {
			t.Errorf("%+v, %v", named, err)
		}
		var names []string
		for _, a := range list() {
			names = append(names, a.Name+" of "+a.RunnerID)
		}
		if d := cmp.Diff([]string{"echo of host-1", "echo@other of other", "only of other"}, names); d != "" {
			t.Errorf("the agents (-want +got):\n%s", d)
		}
		for _, bad := range []parley.Blueprint{
			{Name: "a b", ParametersSchema: echo.ParametersSchema},
			{Name: "x"},
			{Name: "x", ParametersSchema: json.RawMessage(`{"type":"no such type"}`)},
			{Name: "x", ParametersSchema: json.RawMessage(`{"$ref":"https://example.com/schema.json"}`)},
			{Name: "x", ParametersSchema: echo.ParametersSchema, ParamsVia: "mail"},
			{Name: "x", ParametersSchema: echo.ParametersSchema, TimeoutMs: 99},
			{Name: "x", ParametersSchema: echo.ParametersSchema, Labels: map[string]string{"": "x"}},
			{Name: "x", ParametersSchema: echo.ParametersSchema, Description: strings.Repeat("x",
				limits.MaxAgentDescriptionBytes+1)},
		} {
			_, err := s.a.RegisterBlueprints(t.Context(), &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{bad}})
			if !errors.Is(err, parley.ErrValidationFailed) && !errors.Is(err, parley.ErrTooLarge) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		running := s.start(s.b, parley.StartSessionParams{AgentName: "echo", Mode: parley.ModeAsyncPoll})
		s.standing(s.b, running.SessionID, parley.SessionRunning)
		if _, err := first.client.RegisterBlueprints(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		got, err := s.b.GetSession(t.Context(), &parley.GetSessionParams{SessionID: running.SessionID, TimeoutMs: 20_000})
		if err != nil || got.Status != parley.SessionFailed || got.Reason != parley.ReasonInterrupted ||
			got.Result.Error != "Runner disconnected during execution" {
			t.Errorf("what ran: %+v, %v", got, err)
		}
		if got := list(); len(got) != 2 || got[0].Name != "echo" || got[0].RunnerID != "other" {
			t.Errorf("left are %+v", got)
		}
	})
}
