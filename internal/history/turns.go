package history

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// CheckTurns checks the calls about turns of any number of conversations. Each conversation must
// begin with turn 1 and without earlier calls. The error names the conversation and the calls that
// do not fit. A timeout of 0 is no limit.
func CheckTurns(ops []Op, timeout time.Duration) error {
	return check(turnModel, byConversation(ops), timeout, func(_ string, ops []Op) ([]*Op, error) {
		return relevant(boundUnknown(mergeTurns(ops))), nil
	})
}

var turnModel = modelOf(turnState{turn: 1}, func(a, b turnState) bool { return a == b })

// turnState is the current turn of a conversation.
type turnState struct {
	turn   int64
	claim  string // the current one, or empty
	ended  string // the claims of this turn that ended, each after a newline
	seq    int64  // the last one in an answer
	closed bool
}

func (s turnState) hasEnded(claim string) bool {
	return strings.Contains(s.ended+"\n", "\n"+claim+"\n")
}

// endClaim returns the state in which the claim of the turn ended.
func (s turnState) endClaim() turnState {
	if s.claim != "" {
		s.claim, s.ended = "", s.ended+"\n"+s.claim
	}
	return s
}

// nextTurn returns the state after the end of a turn.
func (s turnState) nextTurn() turnState {
	return turnState{turn: s.turn + 1, seq: s.seq, closed: s.closed}
}

func (s turnState) step(o *Op) (turnState, bool) {
	switch o.Result {
	case Done:
		return s.apply(o)
	case Unknown:
		if n, ok := s.apply(o); ok {
			return n, true
		}
		return s, true // refused, or never arrived
	case Lost:
		if s.claim != "" && s.claim == o.Claim {
			return s.endClaim(), true // the hub ended it at this moment
		}
		return s, true
	case Over:
		return s, s.turn > o.Turn
	}
	return s, true
}

// apply returns the state after a call that takes effect.
func (s turnState) apply(o *Op) (turnState, bool) {
	if s.closed || s.turn != o.Turn || o.Seq != 0 && o.Seq <= s.seq {
		return s, false
	}
	s.seq = max(s.seq, o.Seq)
	switch {
	case o.Kind == Claim, o.Takes:
		if o.Claim == "" || o.Claim == s.claim || s.hasEnded(o.Claim) {
			return s, false
		}
		s = s.endClaim()
		s.claim = o.Claim
		return s, true
	case o.Kind == Cancel:
		return s.nextTurn(), true
	case o.Claim == "":
		s = s.endClaim() // a caller without a claim can only speak once the current claim ended
	case o.Claim != s.claim:
		return s, false
	}
	switch {
	case o.Kind == Release:
		return s.endClaim(), true
	case o.ends():
		s.closed = o.Closes
		return s.nextTurn(), true
	}
	return s, true
}

// relevant returns the calls that restrict the order. A call of unknown outcome always fits after
// its turn, where it has no effect. It only matters if another call may need it: as the end of a
// turn, or as the claim of a later call. Each call that is left out halves the number of orders.
func relevant(ops []Op) []*Op {
	used := map[string]bool{}
	for i := range ops {
		if o := &ops[i]; o.Kind != Claim && (o.Result == Done || o.Result == Unknown && o.ends()) {
			used[o.Claim] = true
		}
	}
	var calls []*Op
	for i := range ops {
		o := &ops[i]
		needed := o.ends() || (o.Kind == Claim || o.Takes) && used[o.Claim]
		if o.Result != Refused && (o.Result != Unknown || needed) {
			calls = append(calls, o)
		}
	}
	return calls
}

// mergeTurns merges the repetitions of a call: it took effect once, between the first begin and the
// first success. A claim that is granted again is evidence that it was still the current one.
func mergeTurns(ops []Op) []Op {
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.Begin, b.Begin) })
	first := map[string]int{}
	var all []Op
	for _, o := range ops {
		key := o.turnKey()
		i, again := first[key]
		switch {
		case key == "" || o.Result == Lost || o.Result == Over || o.Result == Refused:
			all = append(all, o)
		case !again:
			first[key] = len(all)
			all = append(all, o)
		case o.Kind == Claim && o.Result == Done && all[i].Result == Done && o.Begin > all[i].End:
			o.Kind, o.Takes = Renew, false
			all = append(all, o)
		default:
			all[i] = all[i].mergeTurn(o)
		}
	}
	return all
}

// turnKey is the key that the repetitions of a call share.
func (o *Op) turnKey() string {
	if o.Kind == Claim && o.Claim != "" {
		return "claim " + o.Claim
	}
	return o.Key
}

// mergeTurn returns the call together with a repetition.
func (o Op) mergeTurn(again Op) Op {
	if again.Result != Done {
		return o
	}
	if o.Result == Done {
		o.End = min(o.End, again.End)
		return o
	}
	again.Begin = o.Begin
	return again
}

// boundUnknown sets the end of each call of unknown outcome: once its turn is certainly over, it
// has no effect.
func boundUnknown(ops []Op) []Op {
	over := turnEnds(ops)
	for i := range ops {
		if o := &ops[i]; o.Result == Unknown {
			o.End = math.MaxInt64
			if at, known := over[o.Turn]; known {
				o.End = max(at, o.Begin) + 1
			}
		}
	}
	return ops
}

// turnEnds returns, for each turn in the calls, the time at which it was certainly over, where that
// is known: a call that ends the turn succeeded, or a call on a later turn did.
func turnEnds(ops []Op) map[int64]int64 {
	reached := map[int64]int64{} // the earliest time at which a turn was certainly the current one, or over
	turns := map[int64]bool{}
	for i := range ops {
		o := &ops[i]
		turns[o.Turn], turns[o.Turn+1] = true, true
		turn := o.Turn
		if o.Result == Over || o.ends() {
			turn++
		}
		if at, known := reached[turn]; (o.Result == Done || o.Result == Over) && (!known || o.End < at) {
			reached[turn] = o.End
		}
	}
	over := map[int64]int64{}
	earliest := int64(math.MaxInt64)
	for _, turn := range slices.Backward(slices.Sorted(maps.Keys(turns))) {
		if earliest < math.MaxInt64 {
			over[turn] = earliest
		}
		if at, known := reached[turn]; known {
			earliest = min(earliest, at)
		}
	}
	return over
}
