package fold_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// runs returns the sessions that were started and run.
func (m *model) runs() []fold.Child {
	var out []fold.Child
	for _, f := range m.log {
		switch f.kind {
		case parley.KindSessionStarted:
			out = append(out, f.child)
		case parley.KindSessionEnded:
			out = slices.DeleteFunc(out, func(c fold.Child) bool { return c.ID == f.child.ID })
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// untold returns the ended sessions in mode async_callback whose callback was not sent.
func (m *model) untold() []fold.EndedChild {
	var out []fold.EndedChild
	for _, f := range m.log {
		if f.kind == parley.KindSessionEnded && f.child.Mode == parley.ModeAsyncCallback && !m.wasTold(f.child.ID) {
			out = append(out, fold.EndedChild{ID: f.child.ID, By: f.child.By, Agent: f.child.Agent, Status: f.status})
		}
	}
	return out
}

func (m *model) wasTold(id string) bool {
	return slices.ContainsFunc(m.log, func(f fact) bool { return slices.Contains(f.told, id) })
}

// starter is who has started a session.
func (m *model) starter(id string) string {
	for _, f := range m.log {
		if f.kind == parley.KindSessionStarted && f.child.ID == id {
			return f.child.By
		}
	}
	return ""
}

// calledBack returns the participant that received the last callback and did not end a turn since, or an empty string.
func (m *model) calledBack() string {
	by := ""
	for _, f := range m.log {
		switch {
		case len(f.told) > 0:
			by = m.starter(f.told[0])
		case f.speech() && f.final() && f.from == by:
			by = ""
		}
	}
	if m.seat(by) == nil {
		return ""
	}
	return by
}

// children does what follows from what is known of sessions.
func (m *model) children(a *answer, c *fold.Command) {
	running := m.runs()
	find := func(id string) int {
		return slices.IndexFunc(running, func(o fold.Child) bool { return o.ID == id })
	}
	switch do := c.Do.(type) {
	case *fold.Callback:
		m.callBack(a, c, do.Callbacks)
	case *fold.StartChild:
		k := do.Child
		if find(k.ID) >= 0 {
			return
		}
		m.append(a, c, fact{typ: parley.TypeSystem, kind: parley.KindSessionStarted, from: parley.HubID, child: k,
			payload: fmt.Sprintf(
				`{"kind":"session_started","agentId":%q,"sessionId":%q,"agent":%q,"mode":%q}`, k.By, k.ID, k.Agent, k.Mode,
			)})
		m.closeAtLimit(a, c)
	case *fold.EndChild:
		if i := find(do.SessionID); i >= 0 {
			m.append(a, c, fact{
				typ: parley.TypeSystem, kind: parley.KindSessionEnded, from: parley.HubID, child: running[i], status: do.Status,
			})
		}
	}
}

// callBack sends the next callback between two turns.
func (m *model) callBack(a *answer, c *fold.Command, callbacks []parley.Callback) {
	untold := m.untold()
	if _, _, open := m.open(); open || len(untold) == 0 {
		return
	}
	var told []string
	for _, o := range callbacks {
		if slices.ContainsFunc(untold, func(e fold.EndedChild) bool {
			return e.ID == o.ChildSessionID && e.By == untold[0].By
		}) {
			told = append(told, o.ChildSessionID)
		}
	}
	if len(told) > 0 {
		m.append(a, c, fact{turn: m.turn(), typ: parley.TypeMessage, from: parley.HubID, finality: parley.FinalityTurn,
			told: told})
	}
}

// drawChild draws a start or end of a session, also of unknown ones.
func (m *machine) drawChild(rt *rapid.T, action fold.Action) {
	known := []fold.Child{}
	for _, f := range m.model.log {
		if f.kind == parley.KindSessionStarted {
			known = append(known, f.child)
		}
	}
	fresh := fold.Child{
		ID: fmt.Sprint("ses_", len(known)), By: rapid.SampledFrom(m.model.seats()).Draw(rt, "by").ID, Agent: "count",
		Mode: rapid.SampledFrom([]parley.SessionMode{parley.ModeAsyncCallback, parley.ModeAsyncCallback,
			parley.ModeAsyncPoll, parley.ModeSync}).Draw(rt, "mode"),
	}
	switch a := action.(type) {
	case *fold.StartChild:
		a.Child = rapid.SampledFrom(append(m.model.runs(), fresh, fresh, fresh, fresh)).Draw(rt, "child")
	case *fold.EndChild:
		a.SessionID = rapid.SampledFrom(append(append(known, fresh), slices.Repeat(m.model.runs(), 4)...)).
			Draw(rt, "child").ID
		a.Status = rapid.SampledFrom([]parley.SessionStatus{
			parley.SessionCompleted, parley.SessionFailed, parley.SessionStopped}).Draw(rt, "status")
	case *fold.Callback:
		for _, k := range append(known, fresh) {
			if rapid.IntRange(0, 3).Draw(rt, "tell") > 0 {
				a.Callbacks = append(a.Callbacks, parley.Callback{
					CallbackType: parley.CallbackChildCompleted, ChildSessionID: k.ID, Status: parley.SessionCompleted,
					Result: &parley.SessionResult{},
				})
			}
		}
	}
}
