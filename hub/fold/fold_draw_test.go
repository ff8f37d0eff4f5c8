package fold_test

import (
	"encoding/json"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

func (m *machine) drawCreate(rt *rapid.T) fold.Command {
	q := &parley.CreateConversationParams{
		Title: rapid.SampledFrom([]string{"", "T <1>"}).Draw(rt, "title"),
	}
	for _, id := range everybody[:rapid.IntRange(1, 3).Draw(rt, "n")] {
		q.Participants = append(q.Participants, drawSeat(rt, id))
	}
	switch rapid.IntRange(0, 2).Draw(rt, "policy") {
	case 1:
		q.Policy = &parley.Policy{Kind: parley.PolicyOpen}
	case 2:
		q.Policy = &parley.Policy{Kind: parley.PolicyRoundRobin}
	}
	if rapid.Bool().Draw(rt, "starts") {
		q.StartsWith = rapid.SampledFrom(q.Participants).Draw(rt, "startsWith").ID
	}
	if rapid.Bool().Draw(rt, "limited") {
		q.Limits = &parley.Limits{
			MaxTurns:      rapid.SampledFrom([]int64{0, 1, 3}).Draw(rt, "maxTurns"),
			MaxEvents:     rapid.SampledFrom([]int64{0, 1, 6}).Draw(rt, "maxEvents"),
			MaxBytes:      rapid.SampledFrom([]int64{0, 1024}).Draw(rt, "maxBytes"),
			IdleTimeoutMs: rapid.SampledFrom([]int64{0, 100}).Draw(rt, "idle"),
			DeadlineMs:    rapid.SampledFrom([]int64{0, 100, 500}).Draw(rt, "deadline"),
		}
	}
	if rapid.Bool().Draw(rt, "meta") {
		q.Metadata = json.RawMessage(`{"m":[1,"<"]}`)
	}
	key := rapid.SampledFrom(someKeys).Draw(rt, "key")
	q.ClientRequestID = key
	return fold.Command{Do: &fold.Create{Params: q}, From: "maker", Now: m.now, Key: key}
}

func drawSeat(rt *rapid.T, id string) parley.Participant {
	return parley.Participant{
		// agents: see TestClaims
		ID: id, Kind: rapid.SampledFrom([]parley.ParticipantKind{parley.KindHuman, parley.KindPeer}).Draw(rt, "kind"),
		Role:    rapid.SampledFrom(someRoles).Draw(rt, "role"),
		Private: rapid.SampledFrom([]string{"", "secret"}).Draw(rt, "private"),
	}
}

// drawAgain repeats a command that had a key, perhaps with a change.
func (m *machine) drawAgain(rt *rapid.T) fold.Command {
	c := rapid.SampledFrom(m.sent).Draw(rt, "sent")
	c.Now = m.now
	said, _ := c.Do.(*fold.Message)
	trace, _ := c.Do.(*fold.Trace)
	switch { // the actions that were sent do not change
	case said != nil:
		again := *said
		said, c.Do = &again, &again
	case trace != nil:
		again := *trace
		trace, c.Do = &again, &again
	}
	switch but := rapid.IntRange(0, 7).Draw(rt, "but"); {
	case but == 1:
		c.From = rapid.SampledFrom(everybody).Draw(rt, "from")
	case said != nil && but == 0:
		said.Outcome = drawOutcome(rt)
	case said != nil && but == 2:
		said.Payload = json.RawMessage(rapid.SampledFrom(payloads).Draw(rt, "payload"))
	case said != nil && but == 3:
		said.Turn = m.model.turn()
	case trace != nil && but == 2:
		trace.Payload = json.RawMessage(rapid.SampledFrom(payloads).Draw(rt, "payload"))
	case trace != nil && but == 3:
		trace.Turn = m.model.turn()
	}
	if said == nil {
		return c
	}
	if rapid.IntRange(0, 7).Draw(rt, "ends") == 0 {
		said.Finality = rapid.SampledFrom([]parley.Finality{
			parley.FinalityNone, parley.FinalityTurn, parley.FinalityConversation,
		}).Draw(rt, "finality")
	}
	if said.Finality != parley.FinalityConversation {
		said.Outcome = nil
	}
	return c
}

var actions = []fold.Action{
	&fold.Message{}, &fold.Message{}, &fold.Message{}, &fold.Message{}, &fold.Message{}, &fold.Trace{}, &fold.Trace{},
	&fold.Note{},
	&fold.Delta{}, &fold.AddParticipant{}, &fold.Close{}, &fold.Tick{}, &fold.Create{}, &fold.AddAttachment{},
	&fold.AddAttachment{}, &fold.OfferAttachment{}, &fold.StartChild{}, &fold.StartChild{}, &fold.StartChild{},
	&fold.EndChild{},
	&fold.EndChild{}, &fold.EndChild{}, &fold.Callback{}, &fold.Callback{}, &fold.Callback{},
}

func (m *machine) draw(rt *rapid.T) fold.Command {
	if len(m.sent) > 0 && rapid.IntRange(0, 4).Draw(rt, "again") == 0 {
		return m.drawAgain(rt)
	}
	c := fold.Command{Do: drawAction(rt, actions), Now: m.now}
	c.From = rapid.SampledFrom(everybody).Draw(rt, "from")
	if speaker := m.model.speaker(); speaker != "" && rapid.IntRange(0, 2).Draw(rt, "any") > 0 {
		c.From = speaker
	}
	c.Admin = rapid.IntRange(0, 9).Draw(rt, "admin") == 0
	switch a := c.Do.(type) {
	case *fold.Create:
		if rapid.Bool().Draw(rt, "retry") {
			q := m.model.params
			return fold.Command{Do: &fold.Create{Params: &q}, From: c.From, Now: m.now, Key: q.ClientRequestID}
		}
		again := m.drawCreate(rt)
		again.From = rapid.SampledFrom([]string{"maker", c.From}).Draw(rt, "creator")
		return again
	case *fold.AddParticipant:
		p := drawSeat(rt, rapid.SampledFrom(everybody[:4]).Draw(rt, "new"))
		a.Participant = &p
		c.From = rapid.SampledFrom([]string{"maker", c.From}).Draw(rt, "adder")
	case *fold.Close:
		if rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
			c.Do = &fold.Tick{}
			return c
		}
		a.Outcome = drawOutcome(rt)
	case *fold.Note:
		c.Key = rapid.SampledFrom(someKeys).Draw(rt, "key")
		a.Note = &parley.Note{
			Schema: "s.v1", Tags: rapid.SampledFrom([][]string{nil, {"t"}, {"t", "u"}}).Draw(rt, "tags"),
			Data: json.RawMessage(rapid.SampledFrom([]string{`1`, `{"x":"<"}`}).Draw(rt, "data")),
		}
	case *fold.AddAttachment:
		a.Attachment = drawAttachment(rt)
	case *fold.OfferAttachment:
		a.Attachment = drawAttachment(rt)
		switch rapid.IntRange(0, 2).Draw(rt, "unknown") {
		case 1:
			a.Attachment.SHA256 = ""
		case 2:
			a.Attachment.SHA256, a.Attachment.Size = "", 0
		}
	case *fold.StartChild, *fold.EndChild, *fold.Callback:
		c.From = parley.HubID
		m.drawChild(rt, a)
	case *fold.Delta:
		a.Turn = m.drawTurn(rt)
	case *fold.Trace:
		if rapid.IntRange(0, 2).Draw(rt, "says turn") == 0 {
			a.Turn = m.drawTurn(rt)
		}
		c.Key, a.Payload = rapid.SampledFrom(someKeys).Draw(rt, "key"), json.RawMessage(`{"kind":"k"}`)
	case *fold.Message:
		c.Key = rapid.SampledFrom(someKeys).Draw(rt, "key")
		m.drawMessage(rt, a)
	}
	return c
}

// drawAttachment draws a file. Its size is always the same.
func drawAttachment(rt *rapid.T) *parley.System {
	i := rapid.IntRange(0, len(someFiles)-1).Draw(rt, "file")
	return &parley.System{SHA256: someFiles[i], Size: []int64{1, 700, 5000, 2, 1, 3}[i], Name: "n"}
}

func (m *machine) drawTurn(rt *rapid.T) int64 {
	return max(0, m.model.turn()+rapid.SampledFrom([]int64{0, 0, -1, 1, -2, 1}).Draw(rt, "turn"))
}

func (m *machine) drawMessage(rt *rapid.T, a *fold.Message) {
	if rapid.IntRange(0, 2).Draw(rt, "says turn") == 0 {
		a.Turn = m.drawTurn(rt)
	}
	a.Payload = json.RawMessage(rapid.SampledFrom(payloads).Draw(rt, "payload"))
	if rapid.IntRange(0, 4).Draw(rt, "refers") == 0 {
		hash, _ := eventdata.ParseAttachmentHash(rapid.SampledFrom(someFiles).Draw(rt, "refers to"))
		a.Refers = []eventdata.AttachmentHash{hash}
	}
	if rapid.IntRange(0, 2).Draw(rt, "says after") == 0 {
		after := max(0, int64(len(m.model.log))+rapid.Int64Range(-4, 1).Draw(rt, "after"))
		a.AfterSeq = &after
	}
	a.Finality = rapid.SampledFrom([]parley.Finality{
		parley.FinalityNone, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityTurn,
	}).Draw(rt, "finality")
	if rapid.IntRange(0, 11).Draw(rt, "ends") == 0 {
		a.Finality = parley.FinalityConversation
		a.Outcome = drawOutcome(rt)
	}
}

func drawOutcome(rt *rapid.T) *parley.Outcome {
	return rapid.SampledFrom([]*parley.Outcome{
		nil, {Status: parley.OutcomeCompleted}, {Status: parley.OutcomeFailed, Reason: "it \"broke\" <so>"},
		{Status: parley.OutcomeCanceled, Reason: "deadline"},
	}).Draw(rt, "outcome")
}
