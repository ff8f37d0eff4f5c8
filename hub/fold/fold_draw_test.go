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
			MaxTurns: rapid.SampledFrom([]int64{0, 1, 3}).Draw(rt, "maxTurns"), MaxEvents: rapid.SampledFrom([]int64{0, 1, 6}).Draw(rt, "maxEvents"),
			MaxBytes:      rapid.SampledFrom([]int64{0, 1024}).Draw(rt, "maxBytes"),
			IdleTimeoutMs: rapid.SampledFrom([]int64{0, 100}).Draw(rt, "idle"), DeadlineMs: rapid.SampledFrom([]int64{0, 100, 500}).Draw(rt, "deadline"),
		}
	}
	if rapid.Bool().Draw(rt, "meta") {
		q.Metadata = json.RawMessage(`{"m":[1,"<"]}`)
	}
	key := rapid.SampledFrom(someKeys).Draw(rt, "key")
	q.ClientRequestID = key
	return fold.Command{Verb: fold.Create, From: "maker", Now: m.now, Create: q, Key: key}
}

func drawSeat(rt *rapid.T, id string) parley.Participant {
	return parley.Participant{
		ID: id, Kind: rapid.SampledFrom([]parley.ParticipantKind{parley.KindHuman, parley.KindPeer}).Draw(rt, "kind"), // agents: see TestClaims
		Role:    rapid.SampledFrom(someRoles).Draw(rt, "role"),
		Private: rapid.SampledFrom([]string{"", "secret"}).Draw(rt, "private"),
	}
}

// drawAgain repeats a command that had a key, perhaps not quite.
func (m *machine) drawAgain(rt *rapid.T) fold.Command {
	c := rapid.SampledFrom(m.sent).Draw(rt, "sent")
	c.Now = m.now
	switch rapid.IntRange(0, 7).Draw(rt, "but") {
	case 0:
		c.Outcome = drawOutcome(rt)
	case 1:
		c.From = rapid.SampledFrom(everybody).Draw(rt, "from")
	case 2:
		c.Payload = json.RawMessage(rapid.SampledFrom(payloads).Draw(rt, "payload"))
	case 3:
		c.Turn = m.model.turn()
	}
	if c.Verb == fold.Message && rapid.IntRange(0, 7).Draw(rt, "ends") == 0 {
		c.Finality = rapid.SampledFrom([]parley.Finality{parley.FinalityNone, parley.FinalityTurn, parley.FinalityConversation}).Draw(rt, "finality")
	}
	if c.Verb != fold.Message || c.Finality != parley.FinalityConversation {
		c.Outcome = nil
	}
	return c
}

var verbs = []fold.Verb{
	fold.Message, fold.Message, fold.Message, fold.Message, fold.Message, fold.Trace, fold.Trace, fold.Note, fold.Delta,
	fold.AddParticipant, fold.Close, fold.Tick, fold.Create, fold.AddAttachment, fold.AddAttachment, fold.OfferAttachment,
	fold.StartChild, fold.StartChild, fold.StartChild, fold.EndChild, fold.EndChild, fold.EndChild, fold.Callback, fold.Callback, fold.Callback,
}

func (m *machine) draw(rt *rapid.T) fold.Command {
	if len(m.sent) > 0 && rapid.IntRange(0, 4).Draw(rt, "again") == 0 {
		return m.drawAgain(rt)
	}
	c := fold.Command{Verb: rapid.SampledFrom(verbs).Draw(rt, "verb"), Now: m.now}
	c.From = rapid.SampledFrom(everybody).Draw(rt, "from")
	if speaker := m.model.speaker(); speaker != "" && rapid.IntRange(0, 2).Draw(rt, "any") > 0 {
		c.From = speaker
	}
	c.Admin = rapid.IntRange(0, 9).Draw(rt, "admin") == 0
	switch c.Verb {
	case fold.Create:
		if rapid.Bool().Draw(rt, "retry") {
			q := m.model.params
			return fold.Command{Verb: fold.Create, From: c.From, Now: m.now, Create: &q, Key: q.ClientRequestID}
		}
		again := m.drawCreate(rt)
		again.From = rapid.SampledFrom([]string{"maker", c.From}).Draw(rt, "creator")
		return again
	case fold.AddParticipant:
		p := drawSeat(rt, rapid.SampledFrom(everybody[:4]).Draw(rt, "new"))
		c.Participant = &p
		c.From = rapid.SampledFrom([]string{"maker", c.From}).Draw(rt, "adder")
		return c
	case fold.Close:
		if rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
			c.Verb = fold.Tick
			return c
		}
		c.Outcome = drawOutcome(rt)
		return c
	case fold.Note:
		c.Key = rapid.SampledFrom(someKeys).Draw(rt, "key")
		c.Note = &parley.Note{
			Schema: "s.v1", Tags: rapid.SampledFrom([][]string{nil, {"t"}, {"t", "u"}}).Draw(rt, "tags"),
			Data: json.RawMessage(rapid.SampledFrom([]string{`1`, `{"x":"<"}`}).Draw(rt, "data")),
		}
		return c
	case fold.AddAttachment, fold.OfferAttachment:
		return drawAttachment(rt, c)
	case fold.StartChild, fold.EndChild, fold.Callback:
		return m.drawChild(rt, c)
	}
	if c.Verb != fold.Tick {
		m.drawSpeech(rt, &c)
	}
	return c
}

// drawAttachment draws a file; a file has always the same size.
func drawAttachment(rt *rapid.T, c fold.Command) fold.Command {
	i := rapid.IntRange(0, len(someFiles)-1).Draw(rt, "file")
	c.Attachment = &parley.System{SHA256: someFiles[i], Size: []int64{1, 700, 5000, 2, 1, 3}[i], Name: "n"}
	if c.Verb == fold.OfferAttachment {
		switch rapid.IntRange(0, 2).Draw(rt, "unknown") {
		case 1:
			c.Attachment.SHA256 = ""
		case 2:
			c.Attachment.SHA256, c.Attachment.Size = "", 0
		}
	}
	return c
}

func (m *machine) drawSpeech(rt *rapid.T, c *fold.Command) {
	if rapid.IntRange(0, 2).Draw(rt, "says turn") == 0 || c.Verb == fold.Delta {
		c.Turn = max(0, m.model.turn()+rapid.SampledFrom([]int64{0, 0, -1, 1, -2, 1}).Draw(rt, "turn"))
	}
	if c.Verb == fold.Delta {
		return
	}
	c.Key = rapid.SampledFrom(someKeys).Draw(rt, "key")
	c.Payload = json.RawMessage(rapid.SampledFrom(payloads).Draw(rt, "payload"))
	if c.Verb == fold.Trace {
		c.Payload = json.RawMessage(`{"kind":"k"}`)
		return
	}
	if rapid.IntRange(0, 4).Draw(rt, "refers") == 0 {
		hash, _ := eventdata.ParseAttachmentHash(rapid.SampledFrom(someFiles).Draw(rt, "refers to"))
		c.Refers = []eventdata.AttachmentHash{hash}
	}
	if rapid.IntRange(0, 2).Draw(rt, "says after") == 0 {
		after := max(0, int64(len(m.model.log))+rapid.Int64Range(-4, 1).Draw(rt, "after"))
		c.AfterSeq = &after
	}
	c.Finality = rapid.SampledFrom([]parley.Finality{
		parley.FinalityNone, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityTurn,
	}).Draw(rt, "finality")
	if rapid.IntRange(0, 11).Draw(rt, "ends") == 0 {
		c.Finality = parley.FinalityConversation
		c.Outcome = drawOutcome(rt)
	}
}

func drawOutcome(rt *rapid.T) *parley.Outcome {
	return rapid.SampledFrom([]*parley.Outcome{
		nil, {Status: parley.OutcomeCompleted}, {Status: parley.OutcomeFailed, Reason: "it \"broke\" <so>"}, {Status: parley.OutcomeCanceled, Reason: "deadline"},
	}).Draw(rt, "outcome")
}
