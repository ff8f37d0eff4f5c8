package executors

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// maxErrorText limits the text of an error in a trace, in bytes.
const maxErrorText = 4 << 10

// The reasons of releaseClaim. All participants read them, so they have no error texts, except in
// sessions.
const (
	reasonError       = "error"
	reasonPanic       = "panic"
	reasonDeadline    = "deadline"
	reasonStopping    = "stopping"
	reasonUnreachable = "unreachable"
)

// settle ends a claim after the agent returned, unless it already ended. It returns the end of the
// attempt.
func (a *attempt) settle(working context.Context, how returned) ended {
	most := settleTimeout
	if a.life.Err() != nil {
		most = hurriedTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(working), most)
	defer cancel()
	outcome, reason, over := a.ending(working, ctx, how)
	if over {
		a.logEnd(how)
		return a.overEnd(working, how)
	}
	if outcome == parley.ReleaseFailed {
		a.log.Warn("the agent has failed", "reason", reason, "error", how.err)
		a.traceError(ctx, how.err)
	}
	p := &parley.ReleaseClaimParams{
		ConversationID: a.turn.ConversationID, ClaimID: a.claim.ClaimID, Outcome: outcome, Reason: a.reason(reason, how.err),
	}
	err := a.retry(ctx, func() error { return a.client.ReleaseClaim(ctx, p) })
	switch {
	case err == nil:
		a.log.Debug("the claim was released", "outcome", outcome, "reason", reason)
	case isLost(err):
		a.log.Debug("the claim had already ended", "error", err)
		return lostEnd
	default:
		a.log.Warn("releasing the claim failed; it will expire", "outcome", outcome, "error", err)
	}
	return releasedEnd(outcome, reason, how)
}

// logEnd logs the end of a turn that is over.
func (a *attempt) logEnd(how returned) {
	said := a.turn.Said()
	if how.err != nil && said.Final && !errors.Is(how.err, parley.ErrOutcomeUnknown) {
		a.log.Warn("the agent failed after its final message", "error", how.err)
		return
	}
	a.log.Debug("the turn is over", "outcome", how.outcome, "messages", said.Messages, "final", said.Final, "error",
		how.err)
}

// ending returns the outcome and the reason with which to release the claim. over is true if there
// is nothing to release.
func (a *attempt) ending(working, ctx context.Context, how returned) (o parley.ReleaseOutcome, reason string,
	over bool) {
	cause := context.Cause(working)
	unreachable := errors.Is(cause, errUnreachable) // the claim may still be active
	if a.turn.Said().Final {
		return "", "", true
	}
	if errors.Is(cause, parley.ErrClaimLost) && !unreachable {
		a.settleFinal(ctx, how)
		return "", "", true
	}
	if how.err == nil && how.outcome != parley.TurnYield && how.outcome != parley.TurnNoAction {
		a.awaitFinal(working)
	}
	if a.isOver(ctx) {
		a.settleFinal(ctx, how)
		return "", "", true
	}
	cause = context.Cause(working)
	switch {
	case how.panicked:
		return parley.ReleaseFailed, reasonPanic, false
	case how.err == nil && how.outcome == parley.TurnYield:
		return parley.ReleaseYield, "", false
	case how.err == nil && how.outcome == parley.TurnNoAction && a.turn.Said().Messages == 0:
		return parley.ReleaseYield, "", false
	case errors.Is(cause, errDeadline):
		return parley.ReleaseFailed, reasonDeadline, false
	case unreachable:
		return parley.ReleaseDecline, reasonUnreachable, false
	case cause != nil:
		return parley.ReleaseDecline, reasonStopping, false
	case how.err != nil:
		return parley.ReleaseFailed, reasonError, false
	}
	return parley.ReleaseSilent, "", false
}

// isOver reads from the log whether the turn ended, for example by a final message whose answer was
// lost, or that was posted without turn. If the log cannot be read, it returns false, because the
// hub refuses to release a claim that ended.
func (a *attempt) isOver(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, hurriedTimeout/2)
	defer cancel()
	g, err := a.client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: a.turn.ConversationID})
	if err != nil {
		a.log.Debug("reading the guidance failed", "error", err)
		return false
	}
	return g.Guidance.Kind == parley.Closed || g.Guidance.Turn > a.turn.Number
}

// settleFinal checks whether a final message whose answer was lost ended the turn. A hub that
// accepted it no longer knows the claim, and reports that when the executor registers again,
// perhaps before the answer arrives. settleFinal does nothing if the agent did not return, because
// it may still post.
func (a *attempt) settleFinal(ctx context.Context, how returned) {
	if how.stray != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hurriedTimeout/2)
	defer cancel()
	if err := a.turn.Settle(ctx); err != nil {
		a.log.Debug("the final message was not accepted", "error", err)
	}
}

// awaitFinal waits for up to Grace if the agent returned after only part of its messages, because
// work that it started may post the rest.
func (a *attempt) awaitFinal(ctx context.Context) {
	if a.turn.Said().Messages == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, a.opts.Grace)
	defer cancel()
	var since int64
	for ctx.Err() == nil && !a.isOver(ctx) {
		w, err := a.client.WaitForChange(ctx, &parley.WaitForChangeParams{
			ConversationID: a.turn.ConversationID, SinceSeq: since, TimeoutMs: a.opts.Grace.Milliseconds() + 1,
		})
		if err != nil && pause(ctx, a.opts.MinBackoff) != nil {
			return
		}
		if err == nil {
			since = w.LatestSeq
		}
	}
}

// traceError writes a trace with an error. The hub refuses it if the turn is over.
func (a *attempt) traceError(ctx context.Context, what error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout/2)
	defer cancel()
	text := clip(strings.ToValidUTF8(what.Error(), "\uFFFD"), maxErrorText)
	if _, err := a.turn.Trace(ctx, parley.Trace{Kind: "error", Text: text}); err != nil {
		a.log.Debug("tracing the error failed", "error", err)
	}
}

// sessionPrefix is the prefix of the ids of sessions.
const sessionPrefix = "ses_"

// sentences are the texts of reasons for the callers of sessions.
var sentences = map[string]string{
	reasonDeadline:    "The time for this turn is over",
	reasonStopping:    "The executor is stopping",
	reasonUnreachable: "The hub was not reachable",
}

// reason returns the reason for releaseClaim. In a session it becomes the error of the result, so
// it is the text of the agent's error, or a sentence.
func (a *attempt) reason(reason string, err error) string {
	if reason == "" || !strings.HasPrefix(a.turn.ConversationID, sessionPrefix) {
		return reason
	}
	if s := sentences[reason]; s != "" &&
		(err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return s
	}
	if err == nil {
		return reason
	}
	return cmp.Or(plain(err.Error(), parley.MaxReasonBytes), reason)
}

// plain returns a text that the hub accepts as a reason: one line, valid UTF-8, with at most the
// given number of bytes.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '?'
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, text)
	return strings.TrimSpace(clip(text, most))
}

// clip returns at most the given number of bytes without splitting a rune.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
