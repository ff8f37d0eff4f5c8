package turnmodel

import "strings"

// state is what a conversation's turns have come to.
type state struct {
	turn   int64
	claim  string // that stands; empty when none does
	ended  string // the claims of this turn that have ended, each behind a newline
	seq    int64  // the last that was told
	closed bool
}

func (s state) hasEnded(claim string) bool { return strings.Contains(s.ended+"\n", "\n"+claim+"\n") }

// end gives the state in which the claim of the turn has ended.
func (s state) end() state {
	if s.claim != "" {
		s.claim, s.ended = "", s.ended+"\n"+s.claim
	}
	return s
}

// next gives the state after the end of a turn.
func (s state) next() state { return state{turn: s.turn + 1, seq: s.seq, closed: s.closed} }

// step gives the state after an op that was answered so; false when it cannot have been.
func (s state) step(o Op) (state, bool) {
	switch o.Result {
	case Done:
		return s.do(o)
	case Unknown:
		if n, ok := s.do(o); ok {
			return n, true
		}
		return s, true // refused, or never arrived
	case Lost:
		if s.claim != "" && s.claim == o.Claim {
			return s.end(), true // it has just ended
		}
		return s, true
	case Over:
		return s, s.turn > o.Turn
	}
	return s, true
}

// do is an op that happens.
func (s state) do(o Op) (state, bool) {
	if s.closed || s.turn != o.Turn || o.Seq != 0 && o.Seq <= s.seq {
		return s, false
	}
	s.seq = max(s.seq, o.Seq)
	switch {
	case o.Kind == Claim, o.Takes:
		if o.Claim == "" || o.Claim == s.claim || s.hasEnded(o.Claim) {
			return s, false
		}
		s = s.end()
		s.claim = o.Claim
		return s, true
	case o.Kind == Cancel:
		return s.next(), true
	case o.Claim == "":
		s = s.end() // nobody speaks without a claim while one stands
	case o.Claim != s.claim:
		return s, false
	}
	switch {
	case o.Kind == Release:
		return s.end(), true
	case o.ends():
		s.closed = o.Closes
		return s.next(), true
	}
	return s, true
}
