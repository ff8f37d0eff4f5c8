package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// hints are what is known of a call, so that an error can name the next one.
type hints struct {
	conversation string
	since        int64
	session      string
	starts       bool // an agent was to be started
	attachment   bool // a file was to be read
	approvals    bool // approvals were to be listed or answered, or the one with the id approval
	approval     string
	// key is the client_request_id that was given.
	key string
	// once: the very same call again does nothing twice, also without a key.
	once bool
	// look is the call that shows whether it was done, where without a key each call does it again.
	look string
}

// failure is a call that was refused, in words for a model. It is the text of a result with isError.
type failure struct {
	err  error
	text string
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// calledHere puts the names of tools and arguments in the place of those of the hub's methods and parameters.
var calledHere = strings.NewReplacer(
	"parentConversationId", "parent_conversation_id", "conversationId", "conversation_id", "sinceSeq", "since_seq", "afterSeq", "since_seq", "clientRequestId", "client_request_id",
	"agentName", "agent_name", "sessionId", "session_id", "approvalId", "approval_id", "startsWith", "starts_with", "turnHint.next", "to", "turnHint", "to", "nextCursor", "next_cursor",
	"answerSchema", "answer_schema", "createConversation", "create_conversation", "listConversations", "list_conversations", "getConversation", "read_conversation",
	"closeConversation", "close_conversation", "getUpdates", "wait_for_updates", "sendMessage", "post_message", "getAttachment", "read_attachment", "listAgents", "list_agent_blueprints",
	"startSession", "start_agent_session", "getSession", "get_agent_session", "stopSession", "stop_agent_session", "listApprovals", "list_approvals", "answerApproval", "answer_approval",
)

// explained gives the reason of protocol.md, what was wrong, what is right, and the next call to make.
func explained(err error, h hints) error {
	reason := reasonOf(err)
	var b strings.Builder
	b.WriteString(reason.Error())
	var e *parley.Error
	if errors.As(err, &e) {
		if e.Message != "" {
			b.WriteString(": " + calledHere.Replace(e.Message))
		}
		if e.Expected != "" && reason != parley.ErrTurnConflict { // it would be a cursor beyond what was read
			b.WriteString(". Expected: " + calledHere.Replace(e.Expected))
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

// reasonOf is the sentinel of an error. Of what may have been done that is said first, whatever else is known.
func reasonOf(err error) error {
	if errors.Is(err, parley.ErrOutcomeUnknown) {
		return parley.ErrOutcomeUnknown
	}
	return parley.ErrorRowOf(err).Err
}

// maxSchemaText bounds the schema in an error: clients cut long ones anyway.
const maxSchemaText = 6000

// maxFaultChars bounds the words of one fault of parameters or of a result.
const maxFaultChars = 500

// validationText lists what is wrong with parameters, and shows what is right.
func validationText(v *parley.ValidationFailure) string {
	if raw, err := json.Marshal(v); err != nil || len(raw) <= maxSchemaText {
		return string(raw)
	}
	short := *v
	short.ParametersSchema = nil
	var left int
	short.ValidationErrors, left = fittingFaults(v.ValidationErrors, maxSchemaText)
	raw, err := json.Marshal(&short)
	if err != nil {
		return ""
	}
	s := string(raw)
	if left > 0 {
		s += fmt.Sprintf("\n%d more errors are left out: mend these, and the same call tells the next.", left)
	}
	return s + fmt.Sprintf("\nThe schema is too long to stand here: list_agent_blueprints {agent_name: %q} shows it.", v.AgentName)
}

// fittingFaults gives the first faults that stand in about so many bytes, at least one, and how many are left out.
func fittingFaults(all []parley.ValidationError, most int) (some []parley.ValidationError, left int) {
	for i, f := range all {
		f = parley.ValidationError{Path: cut(f.Path, maxFaultChars), Message: cut(f.Message, maxFaultChars), SchemaPath: cut(f.SchemaPath, maxFaultChars)}
		most -= len(encoded(f))
		if most < 0 && i > 0 {
			return some, len(all) - i
		}
		some = append(some, f)
	}
	return some, 0
}

// nextCall says what to do about a refusal.
func nextCall(reason error, e *parley.Error, h hints) string {
	wait := fmt.Sprintf("Next: wait_for_updates {conversation_id: %q, since_seq: %d}", h.conversation, h.since)
	switch reason {
	case parley.ErrNotYourTurn, parley.ErrClaimRequired, parley.ErrClaimLost:
		return wait + "; it returns when you may speak."
	case parley.ErrTurnConflict, parley.ErrTurnClosed:
		return wait + "; read what was said meanwhile, and post again with the since_seq that it gives."
	case parley.ErrConversationClosed:
		return fmt.Sprintf("Nothing can be added any more. read_conversation {conversation_id: %q} shows how it ended.", h.conversation)
	case parley.ErrCursorAhead:
		return "Next: the same call with a since_seq that an earlier result gave, or 0 for the beginning."
	case parley.ErrNotFound:
		switch {
		case h.approval != "":
			return "Next: list_approvals shows what you may answer or have asked for; ids are exact."
		case h.attachment:
			return "Next: read_conversation names the attachments of each message, and get_agent_session that of a result; conversation_id and sha256 are exact."
		case h.starts:
			return "Next: list_agent_blueprints shows the agents there are, and list_conversations the conversations; names and ids are exact."
		case h.session != "":
			return "Next: check session_id; start_agent_session gave it. Sessions of others cannot be seen."
		case h.conversation != "":
			return "Next: list_conversations shows those in which you have a seat; ids are exact."
		}
		return "Next: list_agent_blueprints shows the agents there are; names are exact."
	case parley.ErrParameters:
		return "Next: the same call with parameters that match parameters_schema. Nothing was started."
	case parley.ErrUnauthenticated:
		return "The token is missing, wrong or over: its owner must give this MCP server another (PARLEY_TOKEN, or the Authorization header)."
	case parley.ErrAlreadyResolved:
		return fmt.Sprintf("Nothing is left to answer. list_approvals {approval_id: %q} shows how it has ended.", h.approval)
	case parley.ErrForbidden:
		return "The token of this MCP server does not allow it; another call will not help."
	case parley.ErrIdempotencyConflict:
		return "client_request_id was used for another call: choose a new one for what is new."
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
		return "It may or may not have been done. " + h.afterUnknown()
	}
	return ""
}

// afterUnknown says what to do about a call that may have been done.
func (h *hints) afterUnknown() string {
	switch {
	case h.key != "":
		return fmt.Sprintf("Next: the same call again with client_request_id %q, which never does it twice.", h.key)
	case h.once:
		return "Next: the same call again, word for word, which never does it twice."
	case h.look != "":
		return "The same call again would do it once more. Before that: " + h.look + ". Where it was not done, call again with a client_request_id: calls with the same one do it once."
	}
	return "Before the same call again look whether it was done: list_conversations shows conversations and sessions, read_conversation what was said."
}
