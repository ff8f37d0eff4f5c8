// Package exit has the errors of the program, with their exit codes and the next step for the user.
//
//	return exit.WithHint(exit.Usagef("--seq %d: expected 1 or more", seq), "'parley tail ID' shows the seqs")
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// The exit codes. They are part of the command line's contract, like the flags.
const (
	CodeOK             = 0
	CodeFailure        = 1
	CodeUsage          = 2
	CodeNotFound       = 3
	CodeAuth           = 4
	CodeConflict       = 5
	CodeUnavailable    = 6
	CodeSessionFailed  = 7
	CodeSessionStopped = 8
	CodeInputRequired  = 9
)

// Codes describe the exit codes.
var Codes = []struct {
	Code    int
	Meaning string
}{
	{CodeOK, "done"},
	{CodeFailure, "failed; the line on stderr says what and why"},
	{CodeUsage, "the command line, the configuration or the parameters of an agent are wrong; nothing was tried"},
	{CodeNotFound, "no such conversation, session, agent or approval, or not one that this token sees (not_found)"},
	{CodeAuth, "the token is missing, wrong or too narrow (unauthenticated, forbidden)"},
	{CodeConflict, "refused by the state of the conversation (codes 4090 to 4098, such as not_your_turn)"},
	{CodeUnavailable, "no answer in time, or the hub cannot do it now (rate_limited, unavailable, outcome_unknown, " +
		"storage_full): try again"},
	{CodeSessionFailed, "the session that was waited for has failed (start, session wait)"},
	{CodeSessionStopped, "it was stopped (the same)"},
	{CodeInputRequired, "its agent asks for input (the same)"},
}

// ErrTimeout is the cause of a context whose time is over.
var ErrTimeout = errors.New("timed out")

// UsageError is a command line that was not understood.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return e.err }

// Usagef returns an error of the command line.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...)}
}

// hintError adds to an error what to do next.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }

func (e *hintError) Unwrap() error { return e.err }

// WithHint adds the next step to an error. It returns nil for nil.
func WithHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hintError{err, hint}
}

// Reporter is an error that defines its own report.
type Reporter interface {
	error
	Report() Failure
}

// Failure is an error as it is reported to a person or a program.
type Failure struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
	Code   int    `json:"code,omitempty"`
	Hint   string `json:"hint,omitempty"`
	// ValidationErrors are what is wrong with parameters.
	ValidationErrors []parley.ValidationError `json:"validation_errors,omitempty"`
	// Exit is the exit code.
	Exit int `json:"-"`
}

// FailureOf returns the report of an error.
func FailureOf(ctx context.Context, err error) Failure {
	f := classify(ctx, err)
	var h *hintError
	if errors.As(err, &h) {
		f.Hint = h.hint
	}
	var refused *parley.Error
	if errors.As(err, &refused) && refused.Validation != nil {
		f.ValidationErrors = refused.Validation.ValidationErrors
	}
	return f
}

func classify(ctx context.Context, err error) Failure {
	var usage *UsageError
	var damage *journal.DamageError
	var own Reporter
	switch {
	case errors.As(err, &own):
		return own.Report()
	case errors.As(err, &usage):
		return Failure{What: err.Error(), Reason: "usage", Hint: "see 'parley help'", Exit: CodeUsage}
	case errors.As(err, &damage):
		return Failure{What: err.Error(), Reason: "damaged",
			Hint: "keep the files as they are and restore from a copy or an export", Exit: CodeFailure}
	case errors.Is(err, journal.ErrInUse):
		return Failure{What: err.Error(), Reason: "in_use",
			Hint: "a hub has this directory open: stop it, or ask it over the wire with PARLEY_URL", Exit: CodeFailure}
	}
	if errors.Is(err, journal.ErrUnavailable) && !errors.Is(err, parley.ErrUnavailable) {
		return Failure{What: err.Error(), Reason: "unavailable",
			Hint: "are the NATS servers there, and is the user right? see docs/guides/several-hubs.md", Exit: CodeUnavailable}
	}
	if row := parley.ErrorRowOf(err); errors.Is(err, row.Err) {
		return Failure{What: messageOf(err, row), Reason: row.Reason(), Code: row.Code, Hint: Hints[row.Err],
			Exit: exitOf(row)}
	}
	if errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return Failure{What: err.Error(), Reason: "timeout", Hint: Hints[parley.ErrUnavailable], Exit: CodeUnavailable}
	}
	if ctx.Err() != nil {
		return Failure{What: "stopped by a signal", Reason: "interrupted", Exit: CodeFailure}
	}
	return Failure{What: err.Error(), Reason: "failed", Exit: CodeFailure}
}

// messageOf returns the text of a refusal without its reason, which is printed before it.
func messageOf(err error, row parley.ErrorRow) string {
	return strings.Replace(err.Error(), row.Reason()+": ", "", 1)
}

func exitOf(row parley.ErrorRow) int {
	switch {
	case row.Err == parley.ErrNotFound:
		return CodeNotFound
	case row.Err == parley.ErrParameters:
		return CodeUsage
	case row.Err == parley.ErrUnauthenticated, row.Err == parley.ErrForbidden:
		return CodeAuth
	case row.Code >= 4090 && row.Code <= 4098:
		return CodeConflict
	case row.Code >= 4290: // these may succeed later
		return CodeUnavailable
	default:
		return CodeFailure
	}
}

// Hints are the next steps after errors of a hub.
var Hints = map[error]string{
	parley.ErrUnauthenticated: "set PARLEY_TOKEN to a token of this hub; 'parley token create' makes one, the first " +
		"with --admin --data DIR while no hub runs",
	parley.ErrForbidden: "name a participant with --as (or PARLEY_AGENT), or use a token that has the scope " +
		"and the id; 'parley token create --help' says how to make one",
	parley.ErrNotFound:           "'parley conversation list' shows what this token sees",
	parley.ErrParameters:         "'parley agent show AGENT' says what it takes",
	parley.ErrNotYourTurn:        "follow with 'parley tail ID -f', or take the seat with 'parley chat ID --as AGENT'",
	parley.ErrTurnClosed:         "leave --turn out, or read on with 'parley tail ID' and answer the turn that is open",
	parley.ErrConversationClosed: "read it with 'parley tail ID'",
	parley.ErrTurnConflict:       "read what was said with 'parley tail ID' and try again",
	parley.ErrClaimRequired: "another executor works on this turn: name the claim with --claim, or end the turn " +
		"with 'parley turn cancel ID TURN'",
	parley.ErrClaimLost:           "another participant may have the turn: read the conversation with 'parley tail ID'",
	parley.ErrIdempotencyConflict: "use another --key: this one was used for something else",
	parley.ErrAlreadyExists:       "choose another id, or leave it out to have one made",
	parley.ErrAlreadyResolved:     "'parley approvals show ID' says how",
	parley.ErrCursorAhead:         "'parley conversation show ID' shows the latest seq",
	parley.ErrRateLimited:         "try again in a moment",
	parley.ErrUnavailable:         "is a hub running there? PARLEY_URL says where; 'parley serve --dev' starts one",
	parley.ErrOutcomeUnknown:      "repeat it with the same --key: it is done once",
	parley.ErrStorageFull:         "make room on the hub's disk and try again",
}

// HintOf is what an error says to do next.
func HintOf(err error) string {
	var h *hintError
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// Usage makes err an error of the command line.
func Usage(err error) error { return &UsageError{err} }
