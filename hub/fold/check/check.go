// Package check validates the parameters of calls, as far as that needs no state, and compacts their JSON. Everything
// in it is a pure function. A check returns a *parley.Error for ErrValidationFailed, unless it documents another.
//
//	payload, err := check.CompactParam("payload", raw)
//	if err == nil {
//		speech, err = check.Message(payload)
//	}
package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

func invalid(expected, format string, args ...any) error {
	return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf(format, args...), expected)
}

// Key checks a clientRequestId, which may be empty.
func Key(key string) error {
	if len(key) > parley.MaxKeyBytes {
		return invalid(fmt.Sprintf("1 to %d bytes", parley.MaxKeyBytes), "clientRequestId has %d bytes", len(key))
	}
	return checkText("clientRequestId", key, parley.MaxKeyBytes)
}

// Traceparent refuses an invalid traceparent. An empty one is valid.
func Traceparent(s string) error {
	if s == "" || parley.ValidTraceparent(s) {
		return nil
	}
	return invalid("a traceparent of W3C Trace Context, version 00", "traceparent is not one")
}

// checkText refuses control characters and the replacement character of JSON decoders, so that no two names look the
// same.
func checkText(name, s string, maxBytes int) error {
	if len(s) > maxBytes {
		return invalid(fmt.Sprintf("at most %d bytes", maxBytes), "%s has %d bytes", name, len(s))
	}
	for _, r := range s {
		if r == utf8.RuneError || unicode.IsControl(r) {
			return invalid("text without control characters or broken code points", "%s has the character %U", name, r)
		}
	}
	return nil
}

// Create checks the params of createConversation.
func Create(q *parley.CreateConversationParams) error {
	if q.ConversationID != "" && !parley.ValidConversationID(q.ConversationID) {
		return invalid("1 to 64 of A-Z a-z 0-9 _ -", "conversationId %q is not acceptable", policy.Clip(q.ConversationID))
	}
	if n := len(q.Participants); n < 1 || n > limits.MaxParticipants {
		return invalid(fmt.Sprintf("1 to %d", limits.MaxParticipants), "participants: there are %d", n)
	}
	seen := make(map[string]bool, len(q.Participants))
	for i, p := range q.Participants {
		if err := Participant(fmt.Sprintf("participants[%d]", i), p); err != nil {
			return err
		}
		if seen[p.ID] {
			return invalid("different ids", "participants: %s is named twice", p.ID)
		}
		seen[p.ID] = true
	}
	if q.StartsWith != "" && !seen[q.StartsWith] {
		return invalid("the id of a participant", "startsWith names %q", policy.Clip(q.StartsWith))
	}
	if err := checkLimits(q.Limits); err != nil {
		return err
	}
	if err := checkPolicy(q); err != nil {
		return err
	}
	if err := checkText("title", q.Title, parley.MaxTitleBytes); err != nil {
		return err
	}
	if err := Metadata(q.Metadata); err != nil {
		return err
	}
	if q.Workspace != "" && !parley.ValidWorkspace(q.Workspace) {
		return invalid("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit", "workspace %q is not acceptable",
			policy.Clip(q.Workspace))
	}
	return Key(q.ClientRequestID)
}

// Metadata checks metadata, which is compact JSON or empty.
func Metadata(metadata json.RawMessage) error {
	if len(metadata) > limits.MaxMetadataBytes {
		return invalid(fmt.Sprintf("at most %d bytes", limits.MaxMetadataBytes), "metadata has %d bytes", len(metadata))
	}
	if len(metadata) > 0 && metadata[0] != '{' {
		return invalid("an object", "metadata is %s", jsonKind(metadata))
	}
	return nil
}

// Participant checks a participant. Its errors call the parameter name.
func Participant(name string, p parley.Participant) error {
	if !parley.ValidParticipantID(p.ID) {
		return invalid("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub",
			"%s.id %q is not acceptable", name, policy.Clip(p.ID))
	}
	if !p.Kind.Valid() {
		return invalid("human, agent, tool or peer", "%s.kind is %q", name, policy.Clip(string(p.Kind)))
	}
	if p.Agent != "" && (!p.Kind.Claims() || !parley.ValidParticipantID(p.Agent)) {
		return invalid("an id like a participant's, for kinds agent and tool", "%s.agent %q is not acceptable", name,
			policy.Clip(p.Agent))
	}
	if !p.Executor.Valid() || p.Executor != "" && !p.Kind.Claims() {
		return invalid("any, internal or external, for kinds agent and tool", "%s.executor is %q", name,
			policy.Clip(string(p.Executor)))
	}
	if len(p.Private) > limits.MaxPrivateBytes {
		return invalid(fmt.Sprintf("at most %d bytes", limits.MaxPrivateBytes), "%s.private has %d bytes", name,
			len(p.Private))
	}
	return checkText(name+".role", p.Role, limits.MaxRoleBytes)
}

func checkPolicy(q *parley.CreateConversationParams) error {
	p, stopWhen := parley.Policy{Kind: parley.PolicyRoundRobin}, ""
	if q.Policy != nil {
		p = *q.Policy
	}
	if q.Limits != nil {
		stopWhen = q.Limits.StopWhen
	}
	return policy.Check(p, stopWhen, q.Participants)
}

func checkLimits(l *parley.Limits) error {
	if l == nil {
		return nil
	}
	for _, x := range []struct {
		name       string
		v, low, up int64
	}{
		{"maxTurns", l.MaxTurns, 1, limits.MaxTurnsLimit},
		{"maxEvents", l.MaxEvents, 1, parley.MaxEventsLimit},
		{"maxBytes", l.MaxBytes, limits.MinBytesLimit, parley.MaxBytesLimit},
		{"idleTimeoutMs", l.IdleTimeoutMs, limits.MinDurationMs, limits.MaxDurationMs},
		{"deadlineMs", l.DeadlineMs, limits.MinDurationMs, limits.MaxDurationMs},
		{"turnTimeoutMs", l.TurnTimeoutMs, limits.MinDurationMs, limits.MaxTurnMs},
		{"maxAttempts", int64(l.MaxAttempts), 1, limits.MaxAttemptsLimit},
		{"maxClaimMs", l.MaxClaimMs, l.TurnTimeout(), limits.MaxTurnMs},
		{"claimWindowMs", l.ClaimWindowMs, limits.MinClaimWindowMs, limits.MaxClaimWindowMs},
		{"maxAutonomousTurns", l.MaxAutonomousTurns, 1, limits.MaxTurnsLimit},
		{"maxHops", int64(l.MaxHops), 1, limits.MaxHopsLimit},
		{"maxWakesPerMinute", int64(l.MaxWakesPerMinute), 1, limits.MaxWakesLimit},
	} {
		if x.v != 0 && (x.v < x.low || x.v > x.up) {
			return invalid(fmt.Sprintf("%d to %d", x.low, x.up), "limits.%s is %d", x.name, x.v)
		}
	}
	if !l.OnTurnTimeout.Valid() {
		return invalid("reoffer, skip or close", "limits.onTurnTimeout is %q", policy.Clip(string(l.OnTurnTimeout)))
	}
	return nil
}

// Outcome checks an outcome, which may be nil.
func Outcome(o *parley.Outcome) error {
	if o == nil {
		return nil
	}
	if !o.Status.Valid() {
		return invalid("completed, failed or canceled", "outcome.status is %q", policy.Clip(string(o.Status)))
	}
	return checkText("outcome.reason", o.Reason, parley.MaxReasonBytes)
}

// Reason checks the reason of releaseClaim and cancelTurn.
func Reason(reason string) error { return checkText("reason", reason, parley.MaxReasonBytes) }

// Finality checks the finality and the outcome of a message.
func Finality(f parley.Finality, o *parley.Outcome) error {
	if !f.Valid() {
		return invalid("none, turn or conversation", "finality is %q", policy.Clip(string(f)))
	}
	if o != nil && f != parley.FinalityConversation {
		return invalid("finality conversation", "outcome was given with finality %s", f)
	}
	return Outcome(o)
}

// WithDefaults returns limits with the default of each bound that is not set. l may be nil.
func WithDefaults(l *parley.Limits) parley.Limits {
	var lim parley.Limits
	if l != nil {
		lim = *l
	}
	if lim.MaxEvents == 0 {
		lim.MaxEvents = limits.DefaultMaxEvents
	}
	if lim.MaxBytes == 0 {
		lim.MaxBytes = limits.DefaultMaxBytes
	}
	return lim
}

// Speech is what a decision needs of the payload of a message.
type Speech struct {
	// Refers are the files to which it refers.
	Refers []eventdata.AttachmentHash
	// Parameters and Result are true when it has these members.
	Parameters, Result bool
}

// Message checks the payload of a message, which is compact JSON. It ignores members that it does not know.
func Message(payload json.RawMessage) (Speech, error) {
	var text, data, schema, tags, attachments, parameters, result json.RawMessage
	err := eachMember(payload, func(name, value []byte) {
		switch string(name) {
		case "text":
			text = value
		case "data":
			data = value
		case "schema":
			schema = value
		case "tags":
			tags = value
		case "attachments":
			attachments = value
		case "parameters":
			parameters = value
		case "result":
			result = value
		}
	})
	switch {
	case err != nil:
		return Speech{}, err
	case text == nil && data == nil && attachments == nil && parameters == nil && result == nil:
		return Speech{}, invalid("an object with text, data or attachments",
			"the payload has neither text nor data nor attachments")
	case text != nil && text[0] != '"':
		return Speech{}, invalid("a string", "payload.text is %s", jsonKind(text))
	case parameters != nil && parameters[0] != '{':
		return Speech{}, invalid("an object", "payload.parameters is %s", jsonKind(parameters))
	}
	if _, err := stringMember("schema", schema, limits.MaxTagBytes); err != nil {
		return Speech{}, err
	}
	if err := checkTagsMember(tags); err != nil {
		return Speech{}, err
	}
	s := Speech{Parameters: parameters != nil, Result: result != nil}
	if s.Refers, err = checkAttachmentsMember(attachments); err != nil {
		return Speech{}, err
	}
	return s, s.checkResult(result)
}

// checkResult checks the result of a session.
func (s *Speech) checkResult(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var r parley.SessionResult
	if raw[0] != '{' {
		return invalid("an object", "payload.result is %s", jsonKind(raw))
	}
	err := json.Unmarshal(raw, &r)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return invalid("the result of a session", "payload.result.%s is a JSON %s", policy.Clip(wrong.Field), wrong.Value)
	case err != nil:
		return invalid("the result of a session", "payload.result cannot be read")
	case !slices.Contains(parley.AgentTypes, r.ResultType):
		return invalid("agent, deterministic, function or workflow", "payload.result.result_type is %q",
			policy.Clip(string(r.ResultType)))
	case r.Attachment == nil:
		return nil
	}
	hash, ok := eventdata.ParseAttachmentHash(r.Attachment.SHA256)
	if !ok {
		return invalid("a SHA-256 in lower-case hex", "payload.result.attachment.sha256 is %q",
			policy.Clip(r.Attachment.SHA256))
	}
	s.Refers = append(s.Refers, hash)
	return nil
}

// Trace checks the payload of a trace, which is compact JSON.
func Trace(payload json.RawMessage) error {
	var kind json.RawMessage
	err := eachMember(payload, func(name, value []byte) {
		if string(name) == "kind" {
			kind = value
		}
	})
	switch {
	case err != nil:
		return err
	case kind == nil:
		return invalid("an object with kind", "the payload has no kind")
	}
	_, err = stringMember("kind", kind, limits.MaxTagBytes)
	return err
}

// Note checks a note.
func Note(n *parley.Note) error {
	if n.Schema == "" || len(n.Schema) > limits.MaxTagBytes {
		return invalid(fmt.Sprintf("1 to %d bytes", limits.MaxTagBytes), "payload.schema has %d bytes", len(n.Schema))
	}
	if err := checkText("payload.schema", n.Schema, limits.MaxTagBytes); err != nil {
		return err
	}
	if len(n.Data) == 0 {
		return invalid("any JSON", "payload.data is missing")
	}
	return checkTags(n.Tags)
}

// stringMember returns a member that is a string, and "" for a missing one.
func stringMember(name string, raw json.RawMessage, maxBytes int) (string, error) {
	if raw == nil {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || raw[0] != '"' {
		return "", invalid("a string", "payload.%s is %s", name, jsonKind(raw))
	}
	if s == "" {
		return "", invalid("a string that is not empty", "payload.%s is empty", name)
	}
	return s, checkText("payload."+name, s, maxBytes)
}

func checkTagsMember(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var tags []string
	if err := json.Unmarshal(raw, &tags); err != nil || raw[0] != '[' {
		return invalid("an array of strings", "payload.tags is %s", jsonKind(raw))
	}
	return checkTags(tags)
}

func checkTags(tags []string) error {
	if len(tags) > limits.MaxTags {
		return invalid(fmt.Sprintf("at most %d", limits.MaxTags), "payload.tags: there are %d", len(tags))
	}
	for _, tag := range tags {
		if tag == "" {
			return invalid("tags that are not empty", "payload.tags: one is empty")
		}
		if err := checkText("payload.tags", tag, limits.MaxTagBytes); err != nil {
			return err
		}
	}
	return nil
}

// jsonKind names the JSON type of a value by its first byte.
func jsonKind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "missing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// Labels checks labels or demands. Its errors call the parameter name.
func Labels(name string, labels map[string]string) error {
	if len(labels) > limits.MaxLabels {
		return invalid(fmt.Sprintf("at most %d", limits.MaxLabels), "%s: there are %d", name, len(labels))
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if k == "" {
			return invalid("keys that are not empty", "%s: a key is empty", name)
		}
		if err := checkText(name+": a key", k, limits.MaxLabelBytes); err != nil {
			return err
		}
		if err := checkText(name+"."+policy.Clip(k), labels[k], limits.MaxLabelBytes); err != nil {
			return err
		}
	}
	return nil
}

// Fork checks the params of forkConversation.
func Fork(q *parley.ForkConversationParams) error {
	switch {
	case q.Seq < 1:
		return invalid("1 or more", "seq is %d", q.Seq)
	case q.Seq > limits.MaxForkEvents:
		return TooMuchShared(fmt.Sprintf("the fork would begin with %d events", q.Seq))
	case q.ForkID != "" && !parley.ValidConversationID(q.ForkID):
		return invalid("1 to 64 of A-Z a-z 0-9 _ -", "forkId %q is not acceptable", policy.Clip(q.ForkID))
	}
	if err := checkText("title", q.Title, parley.MaxTitleBytes); err != nil {
		return err
	}
	return Key(q.ClientRequestID)
}

// TooMuchShared returns ErrTooLarge for a fork of too many events or bytes.
func TooMuchShared(message string) error {
	return parley.Refuse(parley.ErrTooLarge, message,
		fmt.Sprintf("at most %d events of %d bytes together", limits.MaxForkEvents, limits.MaxForkBytes))
}

// ForkRecord checks the record of a fork.
func ForkRecord(r *parley.ForkRecord) error {
	hash, err := hex.DecodeString(r.Hash)
	switch {
	case !parley.ValidConversationID(r.ConversationID):
		return invalid("the id of a conversation", "a fork of %q", policy.Clip(r.ConversationID))
	case r.Seq < 1 || r.Seq > limits.MaxForkEvents:
		return invalid(fmt.Sprintf("1 to %d", limits.MaxForkEvents), "a fork at seq %d", r.Seq)
	case err != nil || len(hash) != sha256.Size || hex.EncodeToString(hash) != r.Hash:
		return invalid("a SHA-256 in lower-case hex", "a fork with the hash %q", policy.Clip(r.Hash))
	}
	return nil
}

// AdapterConversationID reports whether an adapter stores its own state in the conversation: its id is
// ~a2a. and 1 to 59 characters of A-Z, a-z, 0-9, _ and -. Only admins create, read and write such
// conversations, and they write notes only.
func AdapterConversationID(id string) bool {
	rest, ok := strings.CutPrefix(id, "~a2a.")
	return ok && len(id) <= 64 && parley.ValidConversationID(rest)
}
