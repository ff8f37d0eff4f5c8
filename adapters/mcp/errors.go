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
}

// failure is a call that was refused, in words for a model. It is the text of a result with isError.
type failure struct {
	err  error
	text string
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() error { return f.err }

// explained gives the reason of protocol.md, what was wrong, what is right, and the next call to make.
func explained(err error, h hints) error {
	row := parley.ErrorRowOf(err)
	var b strings.Builder
	b.WriteString(row.Err.Error())
	var e *parley.Error
	if errors.As(err, &e) {
		if e.Message != "" {
			b.WriteString(": " + e.Message)
		}
		if e.Expected != "" && row.Err != parley.ErrTurnConflict { // it would be a cursor beyond what was read
			b.WriteString(". Expected: " + e.Expected)
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
	if next := nextCall(row.Err, e, h); next != "" {
		b.WriteString("\n" + next)
	}
	return &failure{err, b.String()}
}

// maxSchemaText bounds the schema in an error: clients cut long ones anyway.
const maxSchemaText = 6000

// validationText lists what is wrong with parameters, and shows what is right.
func validationText(v *parley.ValidationFailure) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	if len(raw) <= maxSchemaText {
		return string(raw)
	}
	short := *v
	short.ParametersSchema = nil
	if raw, err = json.Marshal(&short); err != nil {
		return ""
	}
	return cut(string(raw), maxSchemaText) + "\nThe schema is too long to stand here: list_agent_blueprints shows it."
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
	case parley.ErrForbidden:
		return "The token of this MCP server does not allow it; another call will not help."
	case parley.ErrIdempotencyConflict:
		return "client_request_id was used for another text: choose a new one for a new message."
	case parley.ErrRateLimited, parley.ErrUnavailable:
		if e != nil && e.RetryAfterMs > 0 {
			return fmt.Sprintf("Next: the same call again in %d ms, with the same client_request_id.", e.RetryAfterMs)
		}
		return "Next: the same call again, with the same client_request_id."
	case parley.ErrOutcomeUnknown:
		return "It may or may not have been done. Next: the same call again with the same client_request_id, which never does it twice."
	}
	return ""
}
