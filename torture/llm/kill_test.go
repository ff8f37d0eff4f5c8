package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/sdk"
)

// slowest detects a hang in one turn.
const slowest = 5 * time.Minute

// TestTurnsUnderKills kills the process of an LLM agent, or its hub, at each point of a turn with
// tools and an approval. The turn is completed once. A tool call is recorded before the tool runs,
// and a tool that ran does not run again. The approval is requested once and decided once, and the
// decision remains.
func TestTurnsUnderKills(t *testing.T) {
	w := newWorld(t)
	operations, kills, answers := 0, 0, 0
	try := func(at point, victim string) {
		t.Run(victim+": "+string(at), func(t *testing.T) {
			s := &sitting{world: w, t: t, at: at, victim: victim, office: w.open(at, victim)}
			s.play()
			operations, kills, answers = operations+s.looks, kills+s.kills, answers+s.answers
		})
	}
	for range *rounds {
		for _, p := range points {
			try(p, victimSelf)
		}
	}
	most := *hubKills
	if most == 0 {
		most = len(points)
	}
	for i := range most {
		try(points[i*len(points)/most], victimHub)
	}
	promise.ID(21).Kept(t, promise.Tried{Faults: kills, Operations: operations, Violations: promise.Broken(t)})
	promise.ID(22).Kept(t, promise.Tried{Faults: kills, Operations: answers, Violations: promise.Broken(t)})
}

// sitting is one session in which someone is killed.
type sitting struct {
	*world
	t      *testing.T
	at     point
	victim string
	office *office

	looks, kills, answers int
}

func (s *sitting) play() {
	ctx, cancel := context.WithTimeout(s.t.Context(), slowest)
	defer cancel()
	id := s.begin(ctx)
	s.answer(ctx, id)
	end := s.await(ctx, id)
	for !s.office.killed() { // the last point is behind the answer to the final message
		s.pause(ctx)
	}
	s.kills = s.office.close()
	s.judge(ctx, end)
}

// begin starts the session, as soon as the agent is there.
func (s *sitting) begin(ctx context.Context) string {
	for {
		v, err := s.alice.StartSession(ctx, &parley.StartSessionParams{
			AgentName: agentName, Parameters: json.RawMessage(`{"prompt":"please"}`), Mode: parley.ModeAsyncPoll,
			ClientRequestID: s.victim + string(s.at) + fmt.Sprint(time.Now().UnixNano()),
		})
		if err == nil {
			return v.SessionID
		}
		if !isNotFound(err) {
			s.t.Fatal(err)
		}
		s.pause(ctx)
	}
}

func isNotFound(err error) bool { return parley.ErrorRowOf(err).Err == parley.ErrNotFound }

func (s *sitting) pause(ctx context.Context) {
	select {
	case <-time.After(retryPause):
	case <-ctx.Done():
		s.t.Fatal("it takes too long")
	}
}

// answer waits for the approval and approves, twice: the second answer must be refused.
func (s *sitting) answer(ctx context.Context, id string) {
	for {
		l, err := s.alice.ListApprovals(ctx, &parley.ListApprovalsParams{ConversationID: id})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(l.Approvals) == 0 {
			s.pause(ctx)
			continue
		}
		a := l.Approvals[0]
		if !a.MayAnswer || len(l.Approvals) != 1 {
			s.t.Fatalf("the approvals are %+v, expected one that alice may answer", l.Approvals)
		}
		got, err := s.alice.ResolveApproval(ctx, &parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved})
		if err != nil || got.Status != parley.ApprovalApproved {
			s.t.Fatalf("answered: %+v, %v", got, err)
		}
		if _, err := s.alice.ResolveApproval(ctx, &parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionRejected}); parley.ErrorRowOf(err).Err != parley.ErrAlreadyResolved {
			s.t.Errorf("a second answer: %v, expected already_resolved", err)
		}
		s.answers += 2
		return
	}
}

func (s *sitting) await(ctx context.Context, id string) *parley.Session {
	for ctx.Err() == nil {
		v, err := s.alice.GetSession(ctx, &parley.GetSessionParams{SessionID: id, TimeoutMs: 1000})
		if err != nil {
			s.t.Fatal(err)
		}
		if v.Status.Ended() {
			return v
		}
	}
	s.t.Fatal("the session does not end")
	return nil
}

// judge holds what was done and what is written against what is promised.
func (s *sitting) judge(ctx context.Context, v *parley.Session) {
	t := s.t
	if v.Status != parley.SessionCompleted || v.Result == nil || v.Result.ResultText == nil {
		t.Fatalf("the session is %s (%s): %+v, expected it completed", v.Status, v.Reason, v.Result)
	}
	if s.kills != 1 {
		t.Errorf("somebody was killed %d times, expected once", s.kills)
	}
	ran, asked := map[string]int{}, 0
	keys := map[string]bool{}
	for _, line := range s.office.done() {
		name, key, _ := strings.Cut(line, " ")
		if name == "model" {
			asked++
			continue
		}
		ran[name]++
		_, key, _ = strings.Cut(key, ".2.") // the turn's; the rest is what the record calls it
		keys[key] = true
	}
	s.judgeRuns(ran, asked)
	counts, started := s.written(ctx, v.SessionID)
	for _, kind := range []string{parley.KindApprovalRequested, parley.KindApprovalResolved, "final"} {
		if counts[kind] != 1 {
			t.Errorf("there are %d of %s in the log, expected 1", counts[kind], kind)
		}
	}
	unclear := 0
	if s.victim == victimSelf && (s.at == startWritten || s.at == toolRan || s.at == approvedRan) {
		unclear = 1
	}
	if counts[string(record.ToolInterrupted)] != unclear {
		t.Errorf("%d tools were interrupted, expected %d; the model has said %q", counts[string(record.ToolInterrupted)],
			unclear, *v.Result.ResultText)
	}
	for key := range keys {
		if !started[key] {
			t.Errorf("the tool of key %s has run, and that was not written before", key)
		}
	}
	s.looks += len(keys) + len(counts) + asked
}

// judgeRuns: a tool has run once, except one that was killed between the trace and its run: of that
// the model reads that it was interrupted.
func (s *sitting) judgeRuns(ran map[string]int, asked int) {
	t := s.t
	most := 3
	if s.victim == victimSelf && (s.at == modelAsked || s.at == answerUnwritten) {
		most = 4 // no one knows what was answered
	}
	if asked < 3 || asked > most {
		t.Errorf("the model was asked %d times, expected 3 to %d", asked, most)
	}
	for _, name := range []string{plain, gated} {
		want := 1
		if s.victim == victimSelf && s.at == startWritten && name == plain {
			want = 0
		}
		if ran[name] != want {
			t.Errorf("%s has run %d times, expected %d", name, ran[name], want)
		}
	}
}

// written counts the events of a session by kind, and returns the keys of the tools that were
// started.
func (s *sitting) written(ctx context.Context, id string) (map[string]int, map[string]bool) {
	counts, started := map[string]int{}, map[string]bool{}
	for e, err := range events(ctx, s.alice, id) {
		if err != nil {
			s.t.Fatal(err)
		}
		switch e.Type {
		case parley.TypeSystem:
			sys, err := e.System()
			if err != nil {
				s.t.Fatal(err)
			}
			counts[sys.Kind]++
		case parley.TypeMessage:
			if e.Finality.Final() && e.From != "alice" {
				counts["final"]++
			}
		case parley.TypeTrace:
			s.trace(&e, counts, started)
		}
	}
	return counts, started
}

func (s *sitting) trace(e *parley.Event, counts map[string]int, started map[string]bool) {
	var t parley.Trace
	if err := json.Unmarshal(e.Payload, &t); err != nil {
		s.t.Fatal(err)
	}
	var of record.ToolEnded // and what of ToolStarted has the same name
	if t.Kind != record.KindToolStarted && t.Kind != record.KindToolResult {
		return
	}
	if err := json.Unmarshal(t.Data, &of); err != nil {
		s.t.Fatal(err)
	}
	if t.Kind == record.KindToolStarted {
		started[of.Key] = true
	} else {
		counts[string(of.Metadata.Status)]++
	}
}

func events(ctx context.Context, c *sdk.Client, id string) func(func(parley.Event, error) bool) {
	return c.Events(ctx, id, 0)
}
