package history

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// ErrTimeout means that the checker could not decide within the timeout.
var ErrTimeout = errors.New("the history could not be checked within the timeout")

// machine is the state of one conversation. step returns the state after a call with its answer,
// and false if the call cannot have had that answer.
type machine[S any] interface {
	step(o *Op) (S, bool)
}

// modelOf returns the model that starts in the state first.
func modelOf[S machine[S]](first S, equal func(a, b S) bool) porcupine.Model {
	return porcupine.Model{
		Init:  func() any { return first },
		Equal: func(a, b any) bool { return equal(a.(S), b.(S)) },
		Step: func(s, input, _ any) (bool, any) {
			next, ok := s.(S).step(input.(*Op))
			return ok, next
		},
	}
}

// byConversation splits a history.
func byConversation(ops []Op) map[string][]Op {
	split := map[string][]Op{}
	for _, o := range ops {
		split[o.Conversation] = append(split[o.Conversation], o)
	}
	return split
}

// check checks each conversation. prepare returns the calls that the model takes: those that say
// something, with repetitions merged. The error names the conversation. A timeout of 0 is no limit.
func check(
	model porcupine.Model, split map[string][]Op, timeout time.Duration, prepare func(id string, ops []Op) ([]*Op, error),
) error {
	end := time.Now().Add(timeout)
	for _, id := range slices.Sorted(maps.Keys(split)) {
		left := time.Duration(0)
		if timeout > 0 {
			left = max(time.Until(end), time.Millisecond)
		}
		calls, err := prepare(id, split[id])
		if err == nil {
			err = linearize(model, calls, left)
		}
		if err != nil {
			return fmt.Errorf("conversation %s: %w", id, err)
		}
	}
	return nil
}

// linearize looks for an order of the calls of one conversation that the model accepts.
func linearize(model porcupine.Model, calls []*Op, timeout time.Duration) error {
	history := make([]porcupine.Operation, len(calls))
	for i, o := range calls {
		history[i] = porcupine.Operation{Input: o, Call: o.Begin, Return: o.End}
	}
	switch porcupine.CheckOperationsTimeout(model, history, timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return ErrTimeout
	}
	_, info := porcupine.CheckOperationsVerbose(model, history, max(timeout, time.Second))
	return fmt.Errorf("the calls cannot have happened so: %s", explain(calls, info))
}

// explain names the calls around the place where no order fits.
func explain(calls []*Op, info porcupine.LinearizationInfo) string {
	const before, after = 4, 6 // calls
	var longest []porcupine.Operation
	for _, partition := range info.PartialLinearizationsOperations() {
		for _, p := range partition {
			if len(p) > len(longest) {
				longest = p
			}
		}
	}
	placed := map[*Op]bool{}
	var b strings.Builder
	b.WriteString("after")
	for i, p := range longest {
		placed[p.Input.(*Op)] = true
		if i >= len(longest)-before {
			fmt.Fprintf(&b, "\n  %v", p.Input)
		}
	}
	b.WriteString("\nnone of these can be next:")
	rest := slices.DeleteFunc(slices.Clone(calls), func(o *Op) bool { return placed[o] })
	slices.SortStableFunc(rest, func(a, b *Op) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, o := range rest[:min(after, len(rest))] {
		fmt.Fprintf(&b, "\n  %v", o)
	}
	return b.String()
}
