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

// maxErrorText bounds what a trace tells of an error, in bytes.
const maxErrorText = 4 << 10

// The reasons of releaseClaim, which all participants read: never what an error says, but in a session.
const (
	reasonError       = "error"
	reasonPanic       = "panic"
	reasonDeadline    = "deadline"
	reasonStopping    = "stopping"
	reasonUnreachable = "unreachable"
)

// settle brings a claim to its end when the agent has left its turn, unless that has come by itself, and says how that was.
func (a *attempt) settle(working context.Context, how returned) ended {
	most := settleTimeout
	if a.life.Err() != nil {
		most = hurriedTimeout
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(working), most)
	defer cancel()
	outcome, reason, over := a.ending(working, ctx, how)
	if over {
		a.noteEnd(how)
		return a.overEnd(working, how)
	}
	if outcome == parley.ReleaseFailed {
		a.log.Warn("the agent has failed", "reason", reason, "error", how.err)
		a.tell(ctx, how.err)
	}
	p := &parley.ReleaseClaimParams{
		ConversationID: a.turn.ConversationID, ClaimID: a.claim.ClaimID, Outcome: outcome, Reason: a.reason(reason, how.err),
	}
	err := a.again(ctx, func() error { return a.client.ReleaseClaim(ctx, p) })
	switch {
	case err == nil:
		a.log.Debug("the claim was given back", "outcome", outcome, "reason", reason)
	case isLost(err):
		a.log.Debug("the claim had ended", "error", err)
		return lostEnd
	default:
		a.log.Warn("the claim could not be given back: it lapses", "outcome", outcome, "error", err)
	}
	return releasedEnd(outcome, reason, how)
}

// noteEnd logs the end of a turn that is over.
func (a *attempt) noteEnd(how returned) {
	said := a.turn.Said()
	if how.err != nil && said.Final && !errors.Is(how.err, parley.ErrOutcomeUnknown) {
		a.log.Warn("the agent has failed after its last word", "error", how.err)
		return
	}
	a.log.Debug("the turn is over", "outcome", how.outcome, "messages", said.Messages, "final", said.Final, "error",
		how.err)
}

// ending says with which outcome and reason the claim is to be released; over when there is nothing to release.
func (a *attempt) ending(working, ctx context.Context, how returned) (o parley.ReleaseOutcome, reason string,
	over bool) {
	cause := context.Cause(working)
	unreachable := errors.Is(cause, errUnreachable) // then the claim may stand yet
	if a.turn.Said().Final {
		return "", "", true
	}
	if errors.Is(cause, parley.ErrClaimLost) && !unreachable {
		a.askForLast(ctx, how)
		return "", "", true
	}
	if how.err == nil && how.outcome != parley.TurnYield && how.outcome != parley.TurnNoAction {
		a.awaitFinal(working)
	}
	if a.isOver(ctx) {
		a.askForLast(ctx, how)
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

// isOver asks the log whether the turn has ended, as by a final message whose answer was lost, or one that did not come through turn. When the
// log cannot be asked it has not: the hub refuses to release a claim that has ended.
func (a *attempt) isOver(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, hurriedTimeout/2)
	defer cancel()
	g, err := a.client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: a.turn.ConversationID})
	if err != nil {
		a.log.Debug("the log could not be asked", "error", err)
		return false
	}
	return g.Guidance.Kind == parley.Closed || g.Guidance.Turn > a.turn.Number
}

// askForLast finds out whether the agent's last word has ended the turn, where its answer was lost: a hub that has taken it knows the claim no more, and says so where the
// executor registers again, perhaps faster than the answer comes. Of an agent that has not returned nothing is asked: it may be about to say more.
func (a *attempt) askForLast(ctx context.Context, how returned) {
	if how.stray != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hurriedTimeout/2)
	defer cancel()
	if err := a.turn.Settle(ctx); err != nil {
		a.log.Debug("the last word was not taken", "error", err)
	}
}

// awaitFinal gives an agent that has said a part of its turn, and returned, a little time: something that it has started may say the rest.
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

// tell leaves a trace of what has gone wrong. It may be refused, when the turn is over.
func (a *attempt) tell(ctx context.Context, what error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout/2)
	defer cancel()
	text := clip(strings.ToValidUTF8(what.Error(), "\uFFFD"), maxErrorText)
	if _, err := a.turn.Trace(ctx, parley.Trace{Kind: "error", Text: text}); err != nil {
		a.log.Debug("the error could not be told in the log", "error", err)
	}
}

// sessionPrefix begins the ids of sessions.
const sessionPrefix = "ses_"

// sentences say the reasons to who has started a session.
var sentences = map[string]string{
	reasonDeadline:    "The time for this turn is over",
	reasonStopping:    "The executor is stopping",
	reasonUnreachable: "The hub was not reachable",
}

// reason gives what releaseClaim says. In a session it becomes the error of the result, which who has started it must understand: so there it is what the
// agent says, or why it was told to end.
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

// plain makes text such as the hub takes for a reason: one line, of whole code points, in at most so many bytes.
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

// clip cuts a text off at a code point.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
