package generate

import (
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
)

// kinds lists the members of a system event's payload by its kind.
var kinds = []struct {
	kind               string
	required, optional []string
}{
	{parley.KindConversationCreated, []string{"createdBy", "policy", "limits"}, []string{"participants", "title",
		"startsWith", "metadata", "paramsHash", "session", "workspace"}},
	{parley.KindConversationForked, []string{"createdBy", "fork"}, []string{"title", "paramsHash"}},
	{parley.KindParticipantAdded, []string{"participant", "addedBy"}, nil},
	{parley.KindParticipantPrivate, []string{"participantId", "text"}, nil},
	{parley.KindNote, []string{"schema", "data"}, []string{"tags"}},
	{parley.KindAttachmentAdded, []string{"sha256", "size"}, []string{"name", "mediaType"}},
	{parley.KindTurnClaimed, []string{"turn", "agentId", "attempt", "claimHash", "durationMs", "upTo"},
		[]string{"executorId", "graceMs", "internal", "runner"}},
	{parley.KindClaimRenewed, []string{"turn", "claimHash", "durationMs"}, []string{"reason"}},
	{parley.KindClaimEnded, []string{"turn", "claimHash", "reason"}, []string{"resetFrom", "detail"}},
	{parley.KindTurnEnded, []string{"turn", "agentId", "reason"}, []string{"detail"}},
	{parley.KindTurnReoffered, []string{"turn", "agentId"}, nil},
	{parley.KindSessionStarted, []string{"sessionId", "agentId", "agent", "mode"}, nil},
	{parley.KindSessionEnded, []string{"sessionId", "status"}, nil},
	{parley.KindSessionBound, []string{"runnerRef"}, nil},
	{parley.KindApprovalRequested, []string{"turn", "agentId", "claimHash", "approval"}, nil},
	{parley.KindApprovalDetails, []string{"turn", "agentId", "approval"}, nil},
	{parley.KindApprovalResolved, []string{"turn", "agentId", "approval"}, []string{"durationMs"}},
	{parley.KindApprovalAnswer, []string{"turn", "agentId", "approval"}, nil},
	{parley.KindTriggerMatched, []string{"trigger"}, nil},
	{parley.KindTriggerEnded, []string{"trigger"}, []string{"detail"}},
	{parley.KindRunnerRegistered, []string{"runnerRecord"}, nil},
	{parley.KindRunnerLeft, []string{"runnerRef", "reason"}, nil},
	{parley.KindTokenCreated, []string{"token"}, nil},
	{parley.KindTokenRevoked, []string{"tokenId", "revokedBy"}, nil},
}

// addPayloads adds the schemas of the payloads of messages and traces. Clients build these
// payloads, and the hub keeps their unknown members.
func (d *definitions) addPayloads() {
	for name, b := range payloadBounds {
		schema, property := cut(name)
		b(d.property(schema, property))
	}
	d.schemas["Message"].AnyOf = []*jsonschema.Schema{
		{Required: []string{"text"}}, {Required: []string{"data"}}, {Required: []string{"attachments"}},
		{Required: []string{"parameters"}}, {Required: []string{"result"}},
	}
	result := d.schemas["SessionResult"]
	result.Required = []string{"result_type"} // in a stored message; the hub's own has the text too
	text := d.property("SessionResult", "result_text")
	text.Type, text.AnyOf = "", []*jsonschema.Schema{{Type: "string"}, {Type: "null"}}
	d.set("SendMessageParams", "payload", "Message")
	d.set("SendTraceParams", "payload", "Trace")
	d.schemas["SendMessageParams"].If = &jsonschema.Schema{Required: []string{"outcome"}}
	d.schemas["SendMessageParams"].Then = having("finality", string(parley.FinalityConversation))
	d.schemas["SendMessageParams"].AllOf = []*jsonschema.Schema{
		{If: &jsonschema.Schema{Required: []string{"turnHint"}}, Then: having("finality", string(parley.FinalityTurn))},
	}
	if claim, served := d.schemas["ClaimTurnParams"]; served {
		claim.OneOf = []*jsonschema.Schema{{Required: []string{"claimId"}}, {Required: []string{"turn"}}}
	}
}

// set replaces a property of type any JSON by a reference.
func (d *definitions) set(name, property, to string) {
	p := d.property(name, property)
	p.Ref = definitionPrefix + to
}

// addEvents adds the rules for the type of an event and for the kind of a system event.
func (d *definitions) addEvents() {
	seq := func(name string) { between(1, maxInteger)(d.property("Event", name)) }
	seq("seq")
	seq("turn")
	payload := func(name string) *jsonschema.Schema {
		s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
		s.Properties.Set("payload", ref(name))
		return s
	}
	message, trace, system := payload("Message"), payload("Trace"), payload("System")
	message.Required = []string{"turn", "finality"}
	trace.Required = []string{"turn"}
	system.Not = &jsonschema.Schema{Required: []string{"turn"}}
	d.schemas["Event"].AllOf = []*jsonschema.Schema{
		when("type", string(parley.TypeMessage), message),
		when("type", string(parley.TypeTrace), trace),
		when("type", string(parley.TypeSystem), system),
	}
	s := d.schemas["System"]
	var names []any
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		p.Value.Description = ""
	}
	for _, k := range kinds {
		for _, name := range slices.Concat(k.required, k.optional) {
			p := d.property("System", name)
			p.Description = strings.TrimPrefix(p.Description+", "+k.kind, ", ")
		}
		s.AllOf = append(s.AllOf, when("kind", k.kind, &jsonschema.Schema{Required: k.required}))
		names = append(names, k.kind)
	}
	kind := d.property("System", "kind")
	kind.Type, kind.AnyOf = "", known(names...).AnyOf
}

// having is an object whose member has a given value.
func having(name string, value any) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(name, &jsonschema.Schema{Const: value})
	return s
}

// when applies a schema to objects whose member has a given value.
func when(name string, value any, then *jsonschema.Schema) *jsonschema.Schema {
	given := having(name, value)
	given.Required = []string{name}
	return &jsonschema.Schema{If: given, Then: then}
}
