package main

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
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitAuth        = 4
	exitConflict    = 5
	exitUnavailable = 6
	exitFailed      = 7
	exitStopped     = 8
	exitInput       = 9
)

var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFailure, "failed; the line on stderr says what and why"},
	{exitUsage, "the command line, the configuration or the parameters of an agent are wrong; nothing was tried"},
	{exitNotFound, "no such conversation, session, agent or approval, or not one that this token sees (not_found)"},
	{exitAuth, "the token is missing, wrong or too narrow (unauthenticated, forbidden)"},
	{exitConflict, "refused by the state of the conversation (codes 4090 to 4098, such as not_your_turn)"},
	{exitUnavailable, "no answer in time, or the hub cannot do it now (rate_limited, unavailable, outcome_unknown, storage_full): try again"},
	{exitFailed, "the session that was waited for has failed (start, session wait)"},
	{exitStopped, "it was stopped (the same)"},
	{exitInput, "its agent asks for input (the same)"},
}

var errTimeout = errors.New("timed out")

// usageError is a command line that was not understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// hintError adds to an error what to do next.
type hintError struct {
	err  error
	hint string
}

func (e *hintError) Error() string { return e.err.Error() }
func (e *hintError) Unwrap() error { return e.err }

func withHint(err error, hint string) error {
	if err == nil {
		return nil
	}
	return &hintError{err, hint}
}

// reporter is an error that defines its own report.
type reporter interface {
	error
	report() failure
}

// failure is an error as a person or program is told of it.
type failure struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
	Code   int    `json:"code,omitempty"`
	Hint   string `json:"hint,omitempty"`
	// ValidationErrors are what is wrong with parameters.
	ValidationErrors []parley.ValidationError `json:"validation_errors,omitempty"`
	exit             int
}

func failureOf(ctx context.Context, err error) failure {
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

func classify(ctx context.Context, err error) failure {
	var usage *usageError
	var damage *journal.DamageError
	var own reporter
	switch {
	case errors.As(err, &own):
		return own.report()
	case errors.As(err, &usage):
		return failure{What: err.Error(), Reason: "usage", Hint: "see 'parley help'", exit: exitUsage}
	case errors.As(err, &damage):
		return failure{What: err.Error(), Reason: "damaged", Hint: "keep the files as they are and restore from a copy or an export", exit: exitFailure}
	case errors.Is(err, journal.ErrInUse):
		return failure{What: err.Error(), Reason: "in_use",
			Hint: "a hub has this directory open: stop it, or ask it over the wire with PARLEY_URL", exit: exitFailure}
	}
	if errors.Is(err, journal.ErrUnavailable) && !errors.Is(err, parley.ErrUnavailable) {
		return failure{What: err.Error(), Reason: "unavailable", Hint: "are the NATS servers there, and is the user right? see docs/scale.md", exit: exitUnavailable}
	}
	if row := parley.ErrorRowOf(err); errors.Is(err, row.Err) {
		return failure{What: messageOf(err, row), Reason: row.Reason(), Code: row.Code, Hint: hints[row.Err], exit: exitOf(row)}
	}
	if errors.Is(err, errTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return failure{What: err.Error(), Reason: "timeout", Hint: hints[parley.ErrUnavailable], exit: exitUnavailable}
	}
	if ctx.Err() != nil {
		return failure{What: "stopped by a signal", Reason: "interrupted", exit: exitFailure}
	}
	return failure{What: err.Error(), Reason: "failed", exit: exitFailure}
}

// messageOf gives the text of a refusal without its reason, which is printed before it.
func messageOf(err error, row parley.ErrorRow) string {
	return strings.Replace(err.Error(), row.Reason()+": ", "", 1)
}

func exitOf(row parley.ErrorRow) int {
	switch {
	case row.Err == parley.ErrNotFound:
		return exitNotFound
	case row.Err == parley.ErrParameters:
		return exitUsage
	case row.Err == parley.ErrUnauthenticated, row.Err == parley.ErrForbidden:
		return exitAuth
	case row.Code >= 4090 && row.Code <= 4098:
		return exitConflict
	case row.Code >= 4290: // what may succeed later
		return exitUnavailable
	default:
		return exitFailure
	}
}

var hints = map[error]string{
	parley.ErrUnauthenticated:     "set PARLEY_TOKEN to a token of this hub; 'parley token create' makes one, the first with --admin --data DIR while no hub runs",
	parley.ErrForbidden:           "name a participant with --as (or PARLEY_AGENT), or use a token that has the scope and the id; 'parley token create --help' says how to make one",
	parley.ErrNotFound:            "'parley conversation list' shows what this token sees",
	parley.ErrParameters:          "'parley agent show AGENT' says what it takes",
	parley.ErrNotYourTurn:         "follow with 'parley tail ID -f', or take the seat with 'parley chat ID --as AGENT'",
	parley.ErrTurnClosed:          "leave --turn out, or read on with 'parley tail ID' and answer the turn that is open",
	parley.ErrConversationClosed:  "read it with 'parley tail ID'",
	parley.ErrTurnConflict:        "read what was said with 'parley tail ID' and try again",
	parley.ErrClaimRequired:       "somebody works on this turn: name the claim with --claim, or end the turn with 'parley turn cancel ID TURN'",
	parley.ErrClaimLost:           "somebody else may have the turn now: read what was said with 'parley tail ID'",
	parley.ErrIdempotencyConflict: "use another --key: this one was used for something else",
	parley.ErrAlreadyExists:       "choose another id, or leave it out to have one made",
	parley.ErrAlreadyResolved:     "'parley approvals show ID' says how",
	parley.ErrCursorAhead:         "'parley conversation show ID' tells the latest seq",
	parley.ErrRateLimited:         "try again in a moment",
	parley.ErrUnavailable:         "is a hub running there? PARLEY_URL says where; 'parley serve --dev' starts one",
	parley.ErrOutcomeUnknown:      "repeat it with the same --key: it is done once",
	parley.ErrStorageFull:         "make room on the hub's disk and try again",
}

// hintOf is what an error says to do next.
func hintOf(err error) string {
	var h *hintError
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}

// asUsage makes err an error of the command line.
func asUsage(err error) error { return &usageError{err} }
