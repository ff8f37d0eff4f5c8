package turnmodel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// ErrTimeout: the time was not enough to judge.
var ErrTimeout = errors.New("the time for the judgement is over")

// Check judges a history of any number of conversations, each of which began with turn 1 and no calls before. The error names the
// conversation and the calls that do not fit. 0 is any time.
func Check(history []Op, timeout time.Duration) error {
	byConversation := map[string][]Op{}
	for _, o := range history {
		byConversation[o.Conversation] = append(byConversation[o.Conversation], o)
	}
	end := time.Now().Add(timeout)
	for _, id := range slices.Sorted(maps.Keys(byConversation)) {
		left := time.Duration(0)
		if timeout > 0 {
			left = max(time.Until(end), time.Millisecond)
		}
		if err := checkOne(byConversation[id], left); err != nil {
			return fmt.Errorf("conversation %s: %w", id, err)
		}
	}
	return nil
}

// checkOne judges one conversation.
func checkOne(ops []Op, timeout time.Duration) error {
	history := operations(bound(merge(ops)))
	switch porcupine.CheckOperationsTimeout(model, history, timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return ErrTimeout
	}
	_, info := porcupine.CheckOperationsVerbose(model, history, max(timeout, time.Second))
	return fmt.Errorf("the calls cannot have happened so: %s", explain(history, info))
}

var model = porcupine.Model{
	Init: func() any { return state{turn: 1} },
	Step: func(s, input, _ any) (bool, any) {
		n, ok := s.(state).step(input.(Op))
		return ok, n
	},
}

// operations are the ops that say something. A call of unknown outcome can always be placed behind its turn, where it does nothing. So it says something
// only where another may need it: the end of a turn, or a claim under which more was done. Each one left out halves the orders to try.
func operations(ops []Op) []porcupine.Operation {
	used := map[string]bool{}
	for _, o := range ops {
		if o.Kind != Claim && (o.Result == Done || o.Result == Unknown && o.ends()) {
			used[o.Claim] = true
		}
	}
	var history []porcupine.Operation
	for _, o := range ops {
		maybe := o.ends() || (o.Kind == Claim || o.Takes) && used[o.Claim]
		if o.Result != Refused && (o.Result != Unknown || maybe) {
			history = append(history, porcupine.Operation{Input: o, Call: o.Begin, Return: o.End})
		}
	}
	return history
}

// merge puts the repetitions of a call together: it happened once, between the first begin and the first success. A repeated claim that was
// granted again says that the claim still stood.
func merge(ops []Op) []Op {
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.Begin, b.Begin) })
	first := map[string]int{}
	var all []Op
	for _, o := range ops {
		key := o.key()
		i, again := first[key]
		if key == "" || o.Result == Lost || o.Result == Over || o.Result == Refused {
			all = append(all, o)
			continue
		}
		if !again {
			first[key] = len(all)
			all = append(all, o)
			continue
		}
		if o.Kind == Claim && o.Result == Done && all[i].Result == Done && o.Begin > all[i].End {
			all = append(all, stands(o))
			continue
		}
		all[i] = all[i].and(o)
	}
	return all
}

// key is that of repetitions.
func (o Op) key() string {
	if o.Kind == Claim && o.Claim != "" {
		return "claim " + o.Claim
	}
	return o.Key
}

// stands is a claim that was granted once more.
func stands(o Op) Op {
	o.Kind, o.Takes = Renew, false
	return o
}

// and is a call that was repeated.
func (o Op) and(again Op) Op {
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

// bound gives each call of unknown outcome an end: when its turn has surely ended it can do nothing more.
func bound(ops []Op) []Op {
	over := overs(ops)
	for i, o := range ops {
		if o.Result == Unknown {
			ops[i].End = math.MaxInt64
			if at, known := over[o.Turn]; known {
				ops[i].End = max(at, o.Begin) + 1
			}
		}
	}
	return ops
}

// overs gives for the turns that calls have named when they had surely ended, where that is known: a call that ended one has succeeded, or one on a
// later turn.
func overs(ops []Op) map[int64]int64 {
	surely := map[int64]int64{} // by the first turn that had not ended
	for _, o := range ops {
		first := o.Turn
		if o.Result == Over || o.ends() {
			first++
		}
		if at, known := surely[first]; (o.Result == Done || o.Result == Over) && (!known || o.End < at) {
			surely[first] = o.End
		}
	}
	turns := map[int64]bool{}
	for _, o := range ops {
		turns[o.Turn], turns[o.Turn+1] = true, true
	}
	over := map[int64]int64{}
	earliest := int64(math.MaxInt64)
	for _, turn := range slices.Backward(slices.Sorted(maps.Keys(turns))) {
		if earliest < math.MaxInt64 {
			over[turn] = earliest
		}
		if at, known := surely[turn]; known {
			earliest = min(earliest, at)
		}
	}
	return over
}

// explain names the calls around the place where no order fits.
func explain(history []porcupine.Operation, info porcupine.LinearizationInfo) string {
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, p := range partition {
			if len(p) > len(longest) {
				longest = p
			}
		}
	}
	var b strings.Builder
	b.WriteString("after")
	for _, p := range longest[max(0, len(longest)-4):] {
		fmt.Fprintf(&b, "\n  %v", p.Input)
	}
	b.WriteString("\nnone of these can be next:")
	for _, p := range rest(history, longest) {
		fmt.Fprintf(&b, "\n  %v", p.Input)
	}
	return b.String()
}

// rest gives the first calls that are not among placed.
func rest(history, placed []porcupine.Operation) []porcupine.Operation {
	done := map[Op]int{}
	for _, p := range placed {
		done[p.Input.(Op)]++
	}
	var left []porcupine.Operation
	for _, p := range history {
		if done[p.Input.(Op)]--; done[p.Input.(Op)] < 0 {
			left = append(left, p)
		}
	}
	slices.SortStableFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return left[:min(4, len(left))]
}
