package simulation

import (
	"context"
	"errors"
	"math"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// sayingsHold checks all messages: an acknowledged one is in the log once, at the acknowledged seq.
// A refused one is not in the log. One with an unknown outcome is there at most once.
func (j *judgement) sayingsHold() {
	keys := make(map[string][]*saying)
	for _, s := range j.sayings {
		if s.key != "" {
			k := s.conversation + " " + s.from + " " + s.key
			keys[k] = append(keys[k], s)
		}
		at := j.found[s.text]
		if len(at) > 1 {
			j.problem(3, "%s stands at %d and %d of %s", s.text, at[0].Seq, at[1].Seq, s.conversation)
		}
		refusedOnly := len(at) > 0
		for _, t := range s.tries {
			refusedOnly = refusedOnly && t.outcome == refused
			j.count(t)
			if t.outcome != acked {
				continue
			}
			switch {
			case len(at) == 0:
				j.problem(1, "%s was acknowledged at %s/%d and is not there", s.text, s.conversation, t.seq)
			case at[0].Seq != t.seq || at[0].before.ID != s.conversation || at[0].From != s.from:
				j.problem(1, "%s was acknowledged at %s/%d and is of %s at %s/%d", s.text, s.conversation, t.seq, at[0].From,
					at[0].before.ID, at[0].Seq)
			}
		}
		if refusedOnly {
			j.problem(2, "%s was refused, and stands at %s/%d", s.text, s.conversation, at[0].Seq)
		}
	}
	for text, at := range j.found {
		if j.sayings[text] == nil {
			j.problem(noPromise, "nobody has said %s, which stands at %s/%d", text, at[0].before.ID, at[0].Seq)
		}
	}
	for _, group := range keys {
		j.keyHolds(group)
	}
}

func (j *judgement) count(t try) {
	switch t.outcome {
	case acked:
		j.n.acked++
	case refused:
		j.n.refused++
	case uncertain:
		j.n.unknown++
	}
}

// keyHolds checks that of the texts with one key at most one was accepted, and the others were
// refused.
func (j *judgement) keyHolds(group []*saying) {
	first := int64(math.MaxInt64) // when the key was surely taken
	var text string
	for _, s := range group {
		for _, t := range s.tries {
			if t.outcome == acked && t.end < first {
				first, text = t.end, s.text
			}
		}
	}
	for _, s := range group {
		for _, t := range s.tries {
			conflict := errors.Is(t.err, parley.ErrIdempotencyConflict)
			if conflict {
				j.n.conflicts++
			}
			switch {
			case s.text != text && t.outcome == acked:
				j.problem(3, "%s and %s were both taken under the key %s", s.text, text, s.key)
			case t.begin > first && s.text == text && t.outcome == acked && !t.duplicate:
				j.problem(3, "%s was repeated with its key, and the answer does not say so", s.text)
			case t.begin > first && s.text == text && t.outcome == refused && !passing(t.err):
				j.problem(3, "%s was repeated with its key after it was taken, and refused: %v", s.text, t.err)
			case t.begin > first && s.text != text && t.outcome == refused && !conflict && !passing(t.err):
				j.problem(3, "%s was sent with the key of %s, and refused for something else: %v", s.text, text, t.err)
			}
		}
	}
}

// passing reports whether a refusal says nothing about what was sent.
func passing(err error) bool {
	for _, e := range []error{parley.ErrUnavailable, parley.ErrStorageFull, parley.ErrRateLimited, errDown,
		context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// closesHold: an acknowledged close is the end of the log.
func (j *judgement) closesHold() {
	for _, c := range j.closings {
		j.n.closes++
		log := j.logs[c.conversation]
		if n := len(log); n == 0 || !log[n-1].Closes() || log[n-1].Seq != c.seq {
			j.problem(5, "%s was closed at %d, and its log has %d events", c.conversation, c.seq, n)
		}
		for _, s := range j.sayings {
			for _, t := range s.tries {
				if s.conversation == c.conversation && t.begin > c.end && t.outcome == acked && !t.duplicate {
					j.problem(5, "%s was taken after %s was closed", s.text, c.conversation)
				}
			}
		}
	}
}

// claimsHold: a granted claim is in the log, one at a time, and what names one is under it.
func (j *judgement) claimsHold() {
	for _, c := range j.claims {
		j.n.claims++
		hash, times := eventdata.HashClaim(c.id).String(), 0
		for _, l := range j.logs[c.conversation] {
			if l.sys.Kind == parley.KindTurnClaimed && l.sys.ClaimHash == hash {
				times++
				if l.sys.Turn != c.turn || l.before.Claim != nil {
					j.problem(6, "%s/%d is a claim of turn %d, granted for %d, while another stands: %t", c.conversation, l.Seq,
						l.sys.Turn, c.turn, l.before.Claim != nil)
				}
			}
		}
		if times != 1 {
			j.problem(6, "the claim of turn %d of %s was granted, and is %d times in the log", c.turn, c.conversation, times)
		}
	}
	for _, s := range j.sayings {
		for _, c := range j.found[s.text] {
			if s.claim != "" && (c.before.Claim == nil || c.before.Claim.Hash != eventdata.HashClaim(s.claim)) {
				j.problem(7, "%s was taken at %s/%d under a claim that does not stand", s.text, s.conversation, c.Seq)
			}
		}
	}
}
