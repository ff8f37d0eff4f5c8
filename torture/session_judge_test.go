package torture

import (
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
)

// kinship is what the log of a parent says of its children.
type kinship struct {
	started map[string]parley.System
	ended   map[string]parley.SessionStatus
	told    map[string]parley.Callback
	tellers int   // messages of the hub
	busy    int64 // the seq with which the turn of the boss ended; 0 before
}

func newKinship() *kinship {
	return &kinship{started: map[string]parley.System{}, ended: map[string]parley.SessionStatus{},
		told: map[string]parley.Callback{}}
}

// take takes the next event, and finds what must not be: a start, an end or a callback for the
// second time, one without what has to come before it, and a callback while the boss is busy.
func (k *kinship) take(e *parley.Event) error {
	switch {
	case e.Type == parley.TypeSystem:
		return k.record(e)
	case e.Type == parley.TypeMessage && e.From == parley.HubID && len(e.Payload) > 0 && e.Finality == parley.FinalityTurn:
		return k.tell(e)
	case e.Type == parley.TypeMessage && e.From == sessionBoss && e.Finality == parley.FinalityTurn:
		k.busy = e.Seq
	}
	return nil
}

func (k *kinship) record(e *parley.Event) error {
	s, err := e.System()
	if err != nil {
		return err
	}
	_, started := k.started[s.SessionID]
	_, ended := k.ended[s.SessionID]
	switch s.Kind {
	case parley.KindSessionStarted:
		if started || s.AgentID != sessionBoss || s.Agent != childAgent || s.Mode != parley.ModeAsyncCallback {
			return fmt.Errorf("seq %d: a start (known before: %v): %s", e.Seq, started, e.Payload)
		}
		k.started[s.SessionID] = s
	case parley.KindSessionEnded:
		if !started || ended {
			return fmt.Errorf("seq %d: an end (started: %v, ended before: %v): %s", e.Seq, started, ended, e.Payload)
		}
		k.ended[s.SessionID] = s.Status
	}
	return nil
}

func (k *kinship) tell(e *parley.Event) error {
	m, err := e.Message()
	if err != nil {
		return err
	}
	var told parley.Callbacks
	if err := json.Unmarshal(m.Data, &told); err != nil {
		return fmt.Errorf("seq %d: %w", e.Seq, err)
	}
	if k.busy == 0 {
		return fmt.Errorf("seq %d: a callback while the boss is busy: %s", e.Seq, e.Payload)
	}
	for _, c := range told.Callbacks {
		status, ended := k.ended[c.ChildSessionID]
		if _, twice := k.told[c.ChildSessionID]; twice || !ended || status != c.Status ||
			c.CallbackType != parley.CallbackChildCompleted || c.AgentName != childAgent {
			return fmt.Errorf("seq %d: a callback (told before: %v, ended: %v as %s): %+v", e.Seq, twice, ended, status, c)
		}
		k.told[c.ChildSessionID] = c
	}
	k.tellers++
	return nil
}

// wantResult says what is wrong with the result of child n.
func wantResult(c *parley.Callback, n int) error {
	var data struct {
		N       int    `json:"n"`
		Session string `json:"session"`
	}
	if c.Result == nil || c.Result.ExitCode == nil {
		return fmt.Errorf("child %d has no exit code: %+v", n, c)
	}
	if err := json.Unmarshal(c.Result.ResultData, &data); err != nil {
		return fmt.Errorf("child %d: %w", n, err)
	}
	status, code := parley.SessionCompleted, 0
	if n == failingChild {
		status, code = parley.SessionFailed, failingCode
	}
	if data.N != n || data.Session != c.ChildSessionID || c.Status != status || *c.Result.ExitCode != code ||
		(c.Result.Error != "") != (code != 0) {
		return fmt.Errorf("child %d in %s is %s: %+v", n, c.ChildSessionID, c.Status, c.Result)
	}
	return nil
}

// oneRun says what is wrong with the log of a session whose command was run to its end: it was
// claimed once, closed once, and by its agent.
func oneRun(events []parley.Event) error {
	claims, finals := 0, 0
	for _, e := range events {
		if e.Type == parley.TypeMessage && e.Finality == parley.FinalityConversation {
			finals++
			if e.From != childAgent {
				return fmt.Errorf("seq %d: closed by %s: %s", e.Seq, e.From, e.Payload)
			}
		}
		if s, err := e.System(); e.Type == parley.TypeSystem && err == nil && s.Kind == parley.KindTurnClaimed {
			claims++
		}
	}
	if claims != 1 || finals != 1 {
		return fmt.Errorf("%d claims and %d closing messages, expected one of each", claims, finals)
	}
	return nil
}
