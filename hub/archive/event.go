package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
)

// checkEvent refuses an event that no hub writes: one that is too large, encoded in another
// way, or has ambiguous JSON. The fold checks whether the conversation accepts it.
func checkEvent(data []byte, e *parley.Event) error {
	if len(data) > parley.MaxEventBytes {
		return fmt.Errorf("the event has %d bytes, expected at most %d", len(data), parley.MaxEventBytes)
	}
	if e.From != parley.HubID && !parley.ValidParticipantID(e.From) {
		return fmt.Errorf("from %.80q is no participant", e.From)
	}
	if e.Traceparent != "" && !parley.ValidTraceparent(e.Traceparent) {
		return fmt.Errorf("traceparent %.80q: expected a traceparent of W3C Trace Context, version 00", e.Traceparent)
	}
	compact, err := check.Compact(e.Payload)
	if err != nil || len(compact) != len(e.Payload) || !bytes.Equal(eventdata.AppendEvent(nil, e), data) {
		return errors.New("the event is not encoded as a hub encodes it")
	}
	return checkJSON(data)
}

// checkJSON refuses JSON that is not UTF-8, has half a surrogate pair or a duplicate name, or is
// nested too deep.
func checkJSON(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		_, err := dec.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the event is not JSON that can be kept exactly: %w", err)
		}
		if dec.StackDepth() > limits.MaxDepth {
			return fmt.Errorf("the event nests deeper than %d levels", limits.MaxDepth)
		}
	}
}

// checkSystem refuses a system event that this version of the hub would misread.
func checkSystem(sys *parley.System) error {
	seats := sys.Participants
	if sys.Participant != nil {
		seats = append(seats[:len(seats):len(seats)], *sys.Participant)
	}
	if len(seats) > limits.MaxParticipants {
		return fmt.Errorf("it has %d participants, expected at most %d", len(seats), limits.MaxParticipants)
	}
	for _, p := range seats {
		if !parley.ValidParticipantID(p.ID) {
			return fmt.Errorf("participant %.80q: expected 1 to 64 of A-Z a-z 0-9 . _ -", p.ID)
		}
	}
	if p := sys.Policy; p != nil && !slices.Contains(parley.Policies, p.Kind) {
		return fmt.Errorf("policy %.80q is not served by this version", p.Kind)
	}
	if t := sys.Token; t != nil && (t.TokenID == "" || len(t.Agents) == 0) {
		return errors.New("a token without an id or without agents")
	}
	if sys.Kind == parley.KindConversationCreated && sys.CreatedBy != parley.HubID &&
		!parley.ValidParticipantID(sys.CreatedBy) {
		return fmt.Errorf("createdBy %.80q is no participant", sys.CreatedBy)
	}
	return nil
}
