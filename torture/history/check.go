package history

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

// Check judges a history of any number of conversations, with the log of each as it is after all calls. The error names the conversation and
// the calls that do not fit. 0 is any time.
//
// An Unknown that is in the log has happened, at the seq where it stands and at any time after its begin; one that is not has not. The log itself is the last thing that was
// read, so what is in it must have been said by somebody, or be the hub's own.
func Check(ops []Op, logs map[string][]Entry, timeout time.Duration) error {
	byConversation := map[string][]Op{}
	for id := range logs {
		byConversation[id] = nil
	}
	for _, o := range ops {
		byConversation[o.Conversation] = append(byConversation[o.Conversation], o)
	}
	end := time.Now().Add(timeout)
	for _, id := range slices.Sorted(maps.Keys(byConversation)) {
		left := time.Duration(0)
		if timeout > 0 {
			left = max(time.Until(end), time.Millisecond)
		}
		log, known := logs[id]
		if !known {
			return fmt.Errorf("conversation %s: %d calls, and its log was not given", id, len(byConversation[id]))
		}
		if err := checkOne(byConversation[id], log, left); err != nil {
			return fmt.Errorf("conversation %s: %w", id, err)
		}
	}
	return nil
}

// op is an Op as the model takes it. One that appends has its seq.
type op struct {
	Op
	again bool // a retry after the first success: its event was there
}

func (o *Op) entry() Entry { return Entry{From: o.Client, Key: o.Key} }

// checkOne judges one conversation.
func checkOne(ops []Op, log []Entry, timeout time.Duration) error {
	happened, err := happenings(ops, log)
	if err != nil {
		return err
	}
	history := make([]porcupine.Operation, len(happened))
	for i, o := range happened {
		history[i] = porcupine.Operation{Input: o, Call: o.Begin, Return: o.End}
	}
	switch porcupine.CheckOperationsTimeout(model, history, timeout) {
	case porcupine.Ok:
		return nil
	case porcupine.Unknown:
		return ErrTimeout
	}
	_, info := porcupine.CheckOperationsVerbose(model, history, max(timeout, time.Second))
	return fmt.Errorf("the calls cannot have happened so: %s", explain(history, info))
}

// happenings are the calls that say something, those of the same key put together, with the hub's own events and a last look at the whole log.
func happenings(ops []Op, log []Entry) ([]*op, error) {
	place := map[Entry]int64{}
	var all []*op
	last := int64(0)
	for i, e := range log {
		seq := int64(i) + 1
		if e.Key == "" {
			all = append(all, &op{Op: Op{Client: e.From, Kind: own, Seq: seq, End: math.MaxInt64, Result: Done}})
			continue
		}
		if first, twice := place[e]; twice {
			return nil, fmt.Errorf("%s has said %q at seq %d and again at %d", e.From, e.Key, first, seq)
		}
		place[e] = seq
	}
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(a.Begin, b.Begin) })
	said := map[Entry]*op{}
	for _, o := range ops {
		last = max(last, o.Begin, o.End)
		n, err := tell(said, o, place)
		if err != nil {
			return nil, err
		}
		if n != nil {
			all = append(all, n)
		}
	}
	look := Op{Client: "the log at the end", Kind: Tail, Begin: last + 1, End: last + 2, Result: Done, Seq: int64(len(log)), Seen: log}
	return append(all, &op{Op: look}), nil
}

// tell gives the op that a call is; nil if it says nothing, or nothing new.
func tell(said map[Entry]*op, o Op, place map[Entry]int64) (*op, error) {
	n := &op{Op: o}
	if o.Kind != Append {
		if o.Result != Done {
			return nil, nil // a reader who was told nothing
		}
		return n, nil
	}
	switch e := o.entry(); o.Result {
	case Closed:
		return n, nil
	case Done:
		return n.merge(said)
	case Unknown:
		seq, there := place[e]
		if _, told := said[e]; told || !there {
			return nil, nil
		}
		n.Seq, n.End = seq, math.MaxInt64
		said[e] = n
		return n, nil
	}
	return nil, nil
}

// merge puts a success together with the calls of the same key before it, which are one event with it.
func (o *op) merge(said map[Entry]*op) (*op, error) {
	e := o.entry()
	first := said[e]
	switch {
	case first == nil:
		said[e] = o
		return o, nil
	case first.Seq != o.Seq && first.Result == Unknown:
		return nil, fmt.Errorf("%s was told seq %d of %q, which stands at %d", e.From, o.Seq, e.Key, first.Seq)
	case first.Seq != o.Seq:
		return nil, fmt.Errorf("%s was told seq %d of %q, and then %d", e.From, first.Seq, e.Key, o.Seq)
	case o.Begin > first.End:
		o.again = true
		return o, nil
	}
	first.End, first.Result = min(first.End, o.End), Done
	return nil, nil
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
	placed := map[*op]bool{}
	var b strings.Builder
	b.WriteString("after")
	for i, p := range longest {
		placed[p.Input.(*op)] = true
		if i >= len(longest)-4 {
			fmt.Fprintf(&b, "\n  %v", p.Input)
		}
	}
	b.WriteString("\nnone of these can be next:")
	var rest []*op
	for _, p := range history {
		if o := p.Input.(*op); !placed[o] {
			rest = append(rest, o)
		}
	}
	slices.SortStableFunc(rest, func(a, b *op) int { return cmp.Compare(a.Begin, b.Begin) })
	for _, o := range rest[:min(6, len(rest))] {
		fmt.Fprintf(&b, "\n  %v", o)
	}
	return b.String()
}
