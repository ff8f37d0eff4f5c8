package generate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// bound narrows the schema of a field.
type bound func(*jsonschema.Schema)

// maxInteger is the largest integer that every JSON reader represents exactly.
const maxInteger = 1<<53 - 1

const (
	conversationPattern = `^[A-Za-z0-9_-]{1,64}$`
	participantPattern  = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`
	agentPattern        = `^[A-Za-z0-9][A-Za-z0-9._-]{0,63}(@[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$`
	sha256Pattern       = `^[0-9a-f]{64}$`
	claimPattern        = `^clm_[0-9]+_`
	traceparentPattern  = `^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`
	// linePattern is text without control characters.
	linePattern = `^[^\x00-\x1f\x7f-\x9f]*$`
)

// bounds are the limits of the hub by type and field, in addition to those of the types. The hub
// counts the length of text in bytes, and a schema in characters. A schema must never refuse a
// value that the hub accepts.
var bounds = map[string]bound{
	"AuthenticateParams.ClientName":  text(1, 128),
	"AuthenticateParams.Token":       text(0, 8<<10),
	"AuthenticateParams.Traceparent": traceparent,

	"CreateConversationParams.ConversationID":  newConversation,
	"CreateConversationParams.Title":           line(1, parley.MaxTitleBytes),
	"CreateConversationParams.Participants":    items(1, limits.MaxParticipants),
	"CreateConversationParams.StartsWith":      participant,
	"CreateConversationParams.Metadata":        object,
	"CreateConversationParams.Workspace":       workspace,
	"CreateConversationParams.ClientRequestID": line(1, parley.MaxKeyBytes),

	"ForkConversationParams.Seq":             between(1, limits.MaxForkEvents),
	"ForkConversationParams.ForkID":          newConversation,
	"ForkConversationParams.Title":           line(1, parley.MaxTitleBytes),
	"ForkConversationParams.ClientRequestID": line(1, parley.MaxKeyBytes),

	"Participant.ID":       participant,
	"Participant.Role":     line(1, limits.MaxRoleBytes),
	"Participant.Private":  text(1, limits.MaxPrivateBytes),
	"Outcome.Reason":       line(1, parley.MaxReasonBytes),
	"Limits.MaxTurns":      between(1, limits.MaxTurnsLimit),
	"Limits.MaxEvents":     between(1, parley.MaxEventsLimit),
	"Limits.MaxBytes":      between(limits.MinBytesLimit, parley.MaxBytesLimit),
	"Limits.IdleTimeoutMs": between(limits.MinDurationMs, limits.MaxDurationMs),
	"Limits.DeadlineMs":    between(limits.MinDurationMs, limits.MaxDurationMs),

	"Limits.TurnTimeoutMs":      between(limits.MinDurationMs, limits.MaxTurnMs),
	"Limits.MaxAttempts":        between(1, limits.MaxAttemptsLimit),
	"Limits.MaxClaimMs":         between(limits.MinDurationMs, limits.MaxTurnMs),
	"Limits.ClaimWindowMs":      between(limits.MinClaimWindowMs, limits.MaxClaimWindowMs),
	"Limits.MaxAutonomousTurns": between(1, limits.MaxTurnsLimit),
	"Limits.MaxHops":            between(1, limits.MaxHopsLimit),
	"Limits.MaxWakesPerMinute":  between(1, limits.MaxWakesLimit),
	"Limits.StopWhen":           text(1, limits.MaxExpressionBytes),
	"Participant.Agent":         participant,
	"Policy.Rules":              items(1, limits.MaxRules),
	"Policy.Moderator":          participant,
	"Rule.When":                 text(1, limits.MaxExpressionBytes),
	"Rule.Next":                 participant,
	"TurnHint.Next":             participant,

	"CreateConversationParams.Traceparent": traceparent,
	"ForkConversationParams.Traceparent":   traceparent,
	"SendMessageParams.Traceparent":        traceparent,
	"SendTraceParams.Traceparent":          traceparent,
	"SendNoteParams.Traceparent":           traceparent,
	"StartSessionParams.Traceparent":       traceparent,

	"SendMessageParams.ClaimID":  claim,
	"SendTraceParams.ClaimID":    claim,
	"SendDeltaParams.ClaimID":    claim,
	"ClaimTurnParams.ClaimID":    claim,
	"RenewClaimParams.ClaimID":   claim,
	"ReleaseClaimParams.ClaimID": claim,
	"GetContextParams.ClaimID":   claim,

	"RegisterExecutorParams.ExecutorID": participant,
	"RegisterExecutorParams.Agents":     each(0, limits.MaxExecutorAgents, participant),
	"RegisterExecutorParams.Capacity":   between(1, limits.MaxCapacity),
	"RegisterExecutorParams.GraceMs":    between(limits.MinGraceMs, limits.MaxGraceMs),
	"RegisterExecutorParams.Holding":    items(0, limits.MaxHolding),
	"RegisterExecutorParams.Labels":     labels,
	"ReleaseClaimParams.Reason":         line(1, parley.MaxReasonBytes),
	"CancelTurnParams.Turn":             between(1, maxInteger),
	"CancelTurnParams.Reason":           line(1, parley.MaxReasonBytes),

	"RegisterBlueprintsParams.Blueprints": items(0, limits.MaxBlueprints),
	"Blueprint.Name":                      participant,
	"Blueprint.Description":               text(1, limits.MaxAgentDescriptionBytes),
	"Blueprint.ParametersSchema":          object,
	"Blueprint.OutputSchema":              object,
	"Blueprint.AgentConfig":               object,
	"Blueprint.Subscriptions":             objectOrList,
	"Blueprint.TimeoutMs":                 between(limits.MinDurationMs, limits.MaxSessionTimeoutMs),
	"Blueprint.Labels":                    labels,

	"StartSessionParams.AgentName":       agentName,
	"StartSessionParams.Parameters":      object,
	"StartSessionParams.Demands":         labels,
	"StartSessionParams.TimeoutMs":       between(0, maxInteger),
	"StartSessionParams.Metadata":        object,
	"StartSessionParams.Resume":          conversation,
	"StartSessionParams.ClientRequestID": line(1, parley.MaxKeyBytes),
	"GetSessionParams.TimeoutMs":         between(0, maxInteger),
	"GetSessionParams.ProgressSince":     between(0, maxInteger),
	"StopSessionParams.Reason":           line(1, parley.MaxReasonBytes),

	"RequestApprovalParams.ClaimID":         claim,
	"RequestApprovalParams.Key":             line(1, parley.MaxKeyBytes),
	"RequestApprovalParams.Title":           line(1, parley.MaxTitleBytes),
	"RequestApprovalParams.Details":         object,
	"RequestApprovalParams.AnswerSchema":    object,
	"RequestApprovalParams.ExpiresInMs":     between(limits.MinApprovalMs, limits.MaxApprovalMs),
	"GetApprovalParams.TimeoutMs":           between(0, maxInteger),
	"ListApprovalsParams.Limit":             between(1, parley.MaxPage),
	"ResolveApprovalParams.Comment":         line(1, parley.MaxReasonBytes),
	"ResolveApprovalParams.ClientRequestID": line(1, parley.MaxKeyBytes),

	"GetConversationParams.SinceSeq":      between(0, maxInteger),
	"GetConversationParams.Limit":         between(1, parley.MaxPage),
	"ListConversationsParams.Limit":       between(1, 100),
	"ListConversationsParams.Workspace":   workspace,
	"ListConversationsParams.Participant": participant,
	"ListConversationsParams.Text":        text(1, parley.MaxTitleBytes),
	"WatchConversationsParams.Workspace":  workspace,
	"WatchConversationsParams.Limit":      between(1, 100),
	"WatchConversationsParams.TimeoutMs":  between(0, maxInteger),
	"TailParams.SinceSeq":                 between(0, maxInteger),
	"TailParams.Limit":                    between(1, parley.MaxPage),
	"WaitForChangeParams.SinceSeq":        between(0, maxInteger),
	"WaitForChangeParams.TimeoutMs":       between(0, maxInteger),
	"GetUpdatesParams.SinceSeq":           between(0, maxInteger),
	"GetUpdatesParams.Limit":              between(1, parley.MaxPage),
	"GetUpdatesParams.TimeoutMs":          between(0, maxInteger),
	"SubscribeParams.SinceSeq":            between(0, maxInteger),
	"SubscribeParams.Types":               items(1, 0),
	"ExplainParams.Seq":                   between(1, maxInteger),
	"ExplainTriggersParams.Seq":           between(1, maxInteger),

	"SendMessageParams.AfterSeq":        between(0, maxInteger),
	"SendMessageParams.ClientRequestID": line(1, parley.MaxKeyBytes),
	"SendTraceParams.ClientRequestID":   line(1, parley.MaxKeyBytes),
	"SendNoteParams.ClientRequestID":    line(1, parley.MaxKeyBytes),
	"Note.Schema":                       line(1, limits.MaxTagBytes),
	"Note.Tags":                         tags,
	"SendDeltaParams.Turn":              between(1, maxInteger),
	"SendDeltaParams.Index":             between(0, maxInteger),
	"SendDeltaParams.Text":              text(0, parley.MaxDeltaBytes),

	"PutAttachmentParams.Data":      text(4, 0), // one byte
	"PutAttachmentParams.Name":      line(1, limits.MaxNameBytes),
	"PutAttachmentParams.MediaType": line(1, limits.MaxMediaTypeBytes),
	"GetAttachmentParams.Offset":    between(0, maxInteger),
	"GetAttachmentParams.Length":    between(1, limits.MaxAttachmentPart),

	"CreateTokenParams.AgentID":       participant,
	"CreateTokenParams.Agents":        each(0, 0, participant), // the hub counts unique ids
	"CreateTokenParams.Scopes":        items(1, 0),
	"CreateTokenParams.Conversations": each(1, limits.MaxConversationScope, conversation),
	"CreateTokenParams.Workspaces":    each(1, limits.MaxWorkspaces, workspace),
	"CreateTokenParams.ExpiresInMs":   between(1000, limits.MaxDurationMs),
	"ListTokensParams.Limit":          between(1, parley.MaxPage),
}

// payloadBounds are the bounds of the payloads that clients build, by schema and property.
var payloadBounds = map[string]bound{
	"Message.schema":       line(1, limits.MaxTagBytes),
	"Message.tags":         tags,
	"Message.attachments":  items(1, parley.MaxMessageAttachments),
	"Message.parameters":   object,
	"Attachment.sha256":    pattern(sha256Pattern),
	"Attachment.name":      line(1, limits.MaxNameBytes),
	"Attachment.mediaType": line(1, limits.MaxMediaTypeBytes),
	"Trace.kind":           line(1, limits.MaxTagBytes),
}

func between(least, most int64) bound {
	return func(s *jsonschema.Schema) {
		s.Minimum, s.Maximum = number(least), number(most)
	}
}

func number(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// text is a string. If most is 0, its length is unlimited.
func text(least, most int) bound {
	return func(s *jsonschema.Schema) {
		s.MinLength, s.MaxLength = nil, nil
		if least > 0 {
			s.MinLength = size(least)
		}
		if most > 0 {
			s.MaxLength = size(most)
		}
		if most > 0 && !strings.Contains(s.Description, "bytes") {
			s.Description = strings.TrimSpace(fmt.Sprintf("%s At most %d bytes.", s.Description, most))
		}
	}
}

// line is text without control characters.
func line(least, most int) bound {
	return func(s *jsonschema.Schema) {
		text(least, most)(s)
		s.Pattern = linePattern
	}
}

func pattern(p string) bound {
	return func(s *jsonschema.Schema) { s.Pattern, s.MinLength = p, nil }
}

func participant(s *jsonschema.Schema) {
	pattern(participantPattern)(s)
	s.Not = &jsonschema.Schema{Const: parley.HubID}
}

// workspace is a name in the form of a participant id. No name is reserved.
func workspace(s *jsonschema.Schema) { pattern(participantPattern)(s) }

// agentName is a name in the form of a participant id, optionally followed by the id of a runner.
func agentName(s *jsonschema.Schema) {
	pattern(agentPattern)(s)
	s.Not = &jsonschema.Schema{Pattern: "^" + parley.HubID + "(@|$)|@" + parley.HubID + "$"}
}

func conversation(s *jsonschema.Schema) { pattern(conversationPattern)(s) }

// claim is the id of a claim.
func claim(s *jsonschema.Schema) {
	text(1, parley.MaxKeyBytes)(s)
	pattern(claimPattern)(s)
}

// traceparent names a span. Ids of only zeros are invalid.
func traceparent(s *jsonschema.Schema) {
	pattern(traceparentPattern)(s)
	s.Not = &jsonschema.Schema{Pattern: "^00-(0{32}|[0-9a-f]{32}-0{16})"}
}

// newConversation is an id that a caller may choose. The prefixes cnv_ and ses_ are reserved for
// ids of the hub.
func newConversation(s *jsonschema.Schema) {
	conversation(s)
	s.Not = &jsonschema.Schema{Pattern: "^(cnv|ses)_"}
}

// items limits the length of an array. If most is 0, the length is unlimited.
func items(least, most int) bound {
	return func(s *jsonschema.Schema) {
		if least > 0 {
			s.MinItems = size(least)
		}
		if most > 0 {
			s.MaxItems = size(most)
		}
	}
}

func each(least, most int, b bound) bound {
	return func(s *jsonschema.Schema) {
		items(least, most)(s)
		b(s.Items)
	}
}

func tags(s *jsonschema.Schema) { each(0, limits.MaxTags, line(1, limits.MaxTagBytes))(s) }

func object(s *jsonschema.Schema) { s.Type = "object" }

// objectOrList is an object that has a short form as a list.
func objectOrList(s *jsonschema.Schema) {
	s.AnyOf = []*jsonschema.Schema{{Type: "object"}, {Type: "array"}}
}

// labels are names with values.
func labels(s *jsonschema.Schema) {
	s.MaxProperties = size(limits.MaxLabels)
	s.PropertyNames = &jsonschema.Schema{}
	line(1, limits.MaxLabelBytes)(s.PropertyNames)
	line(0, limits.MaxLabelBytes)(s.AdditionalProperties)
}
