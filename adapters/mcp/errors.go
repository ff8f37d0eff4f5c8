package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// hints describe a call, so that its error can name the next call.
type hints struct {
	conversation string
	since        int64
	session      string
	starts       bool // the call was to start an agent
	attachment   bool // the call was to read a file
	approvals    bool // the call was to list or answer approvals, or the one with the id approval
	approval     string
	// key is the client_request_id of the call.
	key string
	// once means that the same call never has a second effect, also without a key.
	once bool
	// look names the call that shows the effect of a call that is not repeatable without a key.
	look string
}

// failure is a refused call. Its text is the text of a result with isError, for a model.
type failure struct {
	err  error
	text string
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// toolNames replaces names of hub methods and parameters by those of tools and arguments.
var toolNames = strings.NewReplacer(
	"parentConversationId", "parent_conversation_id", "conversationId", "conversation_id", "sinceSeq", "since_seq",
	"afterSeq", "since_seq", "clientRequestId", "client_request_id",
	"agentName", "agent_name", "sessionId", "session_id", "approvalId", "approval_id", "startsWith", "starts_with",
	"turnHint.next", "to", "turnHint", "to", "nextCursor", "next_cursor",
	"answerSchema", "answer_schema", "createConversation", "create_conversation", "listConversations",
	"list_conversations", "getConversation", "read_conversation",
	"closeConversation", "close_conversation", "getUpdates", "wait_for_updates", "sendMessage", "post_message",
	"getAttachment", "read_attachment", "listAgents", "list_agent_blueprints",
	"startSession", "start_agent_session", "getSession", "get_agent_session", "stopSession", "stop_agent_session",
	"listApprovals", "list_approvals", "answerApproval", "answer_approval",
)

// explain returns a failure with the reason of protocol.md, the fault, the expected value and the
// next call.
func explain(err error, h hints) error {
	reason := reasonOf(err)
	var b strings.Builder
	b.WriteString(reason.Error())
	var e *parley.Error
	if errors.As(err, &e) {
		if e.Message != "" {
			b.WriteString(": " + toolNames.Replace(e.Message))
		}
		if e.Expected != "" && reason != parley.ErrTurnConflict { // it would be a cursor that the caller has not read
			b.WriteString(". Expected: " + toolNames.Replace(e.Expected))
		}
		if g := e.Guidance; g != nil {
			b.WriteString(". " + guidanceText(g))
		}
	}
	if !strings.HasSuffix(b.String(), ".") {
		b.WriteString(".")
	}
	if e != nil && e.Validation != nil {
		b.WriteString("\n" + validationText(e.Validation))
	}
	if next := nextCall(reason, e, h); next != "" {
		b.WriteString("\n" + next)
	}
	return &failure{err, b.String()}
}

// reasonOf returns the sentinel of an error. An unknown outcome takes precedence.
func reasonOf(err error) error {
	if errors.Is(err, parley.ErrOutcomeUnknown) {
		return parley.ErrOutcomeUnknown
	}
	return parley.ErrorRowOf(err).Err
}

// maxSchemaText limits the schema in an error. Clients cut longer ones.
const maxSchemaText = 6000

// maxFaultChars limits the text of one validation error.
const maxFaultChars = 500

// validationText returns the validation errors and the parameters schema, as JSON.
func validationText(v *parley.ValidationFailure) string {
	if raw, err := json.Marshal(v); err != nil || len(raw) <= maxSchemaText {
		return string(raw)
	}
	short := *v
	short.ParametersSchema = nil
	var left int
	short.ValidationErrors, left = fitErrors(v.ValidationErrors, maxSchemaText)
	raw, err := json.Marshal(&short)
	if err != nil {
		return ""
	}
	s := string(raw)
	if left > 0 {
		s += fmt.Sprintf("\n%d more errors are left out: correct these, then repeat the call to see the others.", left)
	}
	return s + fmt.Sprintf("\nThe schema is too long for this error. Next: list_agent_blueprints {agent_name: %q}.",
		v.AgentName)
}

// fitErrors returns the first errors that fit into about the given bytes, at least one, and the
// number of those left out.
func fitErrors(all []parley.ValidationError, most int) (some []parley.ValidationError, left int) {
	for i, f := range all {
		f = parley.ValidationError{Path: cut(f.Path, maxFaultChars), Message: cut(f.Message, maxFaultChars),
			SchemaPath: cut(f.SchemaPath, maxFaultChars)}
		most -= len(jsonText(f))
		if most < 0 && i > 0 {
			return some, len(all) - i
		}
		some = append(some, f)
	}
	return some, 0
}

// nextCall returns the advice that follows a refusal.
func nextCall(reason error, e *parley.Error, h hints) string {
	wait := fmt.Sprintf("Next: wait_for_updates {conversation_id: %q, since_seq: %d}", h.conversation, h.since)
	switch reason {
	case parley.ErrNotYourTurn, parley.ErrClaimRequired, parley.ErrClaimLost:
		return wait + "; it returns when you may speak."
	case parley.ErrTurnConflict, parley.ErrTurnClosed:
		return wait + "; read the new messages, and post again with the since_seq that it returns."
	case parley.ErrConversationClosed:
		return fmt.Sprintf("Nothing can be added any more. read_conversation {conversation_id: %q} shows its outcome.",
			h.conversation)
	case parley.ErrCursorAhead:
		return "Next: the same call with a since_seq from an earlier result, or 0 for the beginning."
	case parley.ErrNotFound:
		switch {
		case h.approval != "":
			return "Next: list_approvals lists the approvals that you may answer or requested. Copy the id exactly."
		case h.attachment:
			return "Next: read_conversation lists the attachments of each message, and get_agent_session that of a result. " +
				"Copy conversation_id and sha256 exactly."
		case h.starts:
			return "Next: list_agent_blueprints lists the agents, and list_conversations the conversations. Copy names and " +
				"ids exactly."
		case h.session != "":
			return "Next: check session_id, which start_agent_session returned. You cannot see sessions of other callers."
		case h.conversation != "":
			return "Next: list_conversations lists the conversations in which you have a seat. Copy the id exactly."
		}
		return "Next: list_agent_blueprints lists the agents. Copy the name exactly."
	case parley.ErrParameters:
		return "Next: the same call with parameters that match parameters_schema. Nothing was started."
	case parley.ErrUnauthenticated:
		return "The token is missing, invalid or expired. Configure another token for this MCP server (PARLEY_TOKEN, or " +
			"the Authorization header)."
	case parley.ErrAlreadyResolved:
		return fmt.Sprintf("The approval is already answered. list_approvals {approval_id: %q} shows the answer.", h.approval)
	case parley.ErrForbidden:
		return "The token of this MCP server does not allow this call. Repeating it does not help."
	case parley.ErrIdempotencyConflict:
		return "This client_request_id was used for another call. Pass a new one."
	case parley.ErrRateLimited, parley.ErrUnavailable:
		again := "Next: the same call again"
		if e != nil && e.RetryAfterMs > 0 {
			again += fmt.Sprintf(" in %d ms", e.RetryAfterMs)
		}
		if h.key != "" {
			again += ", with the same client_request_id"
		}
		return again + "."
	case parley.ErrOutcomeUnknown:
		return "The call may or may not have taken effect. " + h.afterUnknown()
	}
	return ""
}

// afterUnknown returns the advice that follows an unknown outcome.
func (h *hints) afterUnknown() string {
	switch {
	case h.key != "":
		return fmt.Sprintf("Next: the same call again with client_request_id %q. It has no second effect.", h.key)
	case h.once:
		return "Next: exactly the same call again. It has no second effect."
	case h.look != "":
		return "Repeating the call may have a second effect. First check: " + h.look +
			". If the call had no effect, repeat it with a client_request_id, which prevents a second effect."
	}
	return "Before you make the same call again, check whether it took effect: list_conversations lists conversations " +
		"and " +
		"sessions, read_conversation the messages."
}
