package submit

import (
	"github.com/parleyhub/parley/hub/journal"
)

// Call is a Done that is due.
type Call struct {
	Done func(journal.Head, error)
	Head journal.Head
	Err  error
}

// Deliver calls Done of calls, in order. The committer delivers what it has committed before it takes more batches, so that what Done submits is part of the next commit.
func Deliver(calls []Call) {
	for _, call := range calls {
		if call.Done != nil {
			call.Done(call.Head, call.Err)
		}
	}
}

// Planner decides batches on heads. It is used by one goroutine, for one commit after another: Decide, then store Records,
// then Finish.
type Planner struct {
	// Head returns the committed head of a conversation.
	Head func(conversation string) (journal.Head, error)
	// Records are what the batches of the last Decide come to, in order of their positions.
	Records []journal.Record
	// Starts says which of Records begin a batch.
	Starts []bool

	heads    map[string]journal.Head // of conversations that Records add to
	outcomes []outcome
	calls    []Call // of the last Finish
}

type outcome struct {
	call  Call
	rests bool // on Records: it holds only if they are stored
}

// Decide decides the items in order, each on the head that those before it leave. The first record gets the position after last.
func (p *Planner) Decide(items []Item, last journal.Position) {
	if p.heads == nil {
		p.heads = make(map[string]journal.Head)
	}
	clear(p.heads)
	clear(p.Records)
	p.Records, p.Starts = p.Records[:0], p.Starts[:0]
	p.outcomes = p.outcomes[:0]
	for i := range items {
		p.outcomes = append(p.outcomes, p.decide(&items[i], last+journal.Position(len(p.Records))))
	}
}

func (p *Planner) decide(it *Item, last journal.Position) outcome {
	if it.Err != nil {
		return outcome{call: Call{Done: it.Done, Err: it.Err}}
	}
	head, rests := p.heads[it.Conversation]
	if !rests {
		var err error
		if head, err = p.Head(it.Conversation); err != nil {
			return outcome{call: Call{Done: it.Done, Err: err}}
		}
	}
	switch {
	case head.Final:
		return outcome{Call{Done: it.Done, Head: head, Err: journal.ErrFinal}, rests}
	case head.Seq != it.After, it.On != nil && head.Seq > 0 && head.Hash != *it.On:
		moved := &journal.MovedError{Conversation: it.Conversation, Expected: it.After, Head: head}
		return outcome{Call{Done: it.Done, Head: head, Err: moved}, rests}
	}
	if len(it.Events) == 0 {
		return outcome{Call{Done: it.Done, Head: head}, rests}
	}
	head = p.extend(head, it, last)
	p.heads[it.Conversation] = head
	return outcome{Call{Done: it.Done, Head: head}, true}
}

func (p *Planner) extend(head journal.Head, it *Item, last journal.Position) journal.Head {
	if head.Seq == 0 {
		head.Hash = journal.Genesis(it.Conversation)
	}
	for i, data := range it.Events {
		head.Seq++
		head.Hash = head.Hash.Next(data)
		head.Final = it.Final && i == len(it.Events)-1
		last++
		r := journal.Record{
			Position: last, Conversation: it.Conversation,
			Seq: head.Seq, Hash: head.Hash, Final: head.Final, Data: data,
		}
		if i == 0 {
			r.Labels = it.Labels
		}
		p.Records = append(p.Records, r)
		p.Starts = append(p.Starts, i == 0)
	}
	return head
}

// Finish returns the calls of the last Decide, in order; they are the caller's until the next Finish. With an err, the error of storing Records, every outcome that rests on them gets it:
// a head that was never stored is not told to anyone.
func (p *Planner) Finish(err error) []Call {
	p.calls = p.calls[:0]
	for _, o := range p.outcomes {
		if err != nil && o.rests {
			o.call = Call{Done: o.call.Done, Err: err}
		}
		p.calls = append(p.calls, o.call)
	}
	return p.calls
}

// Refuse returns the calls that answer all items with err, those refused before with their own.
func Refuse(items []Item, err error) []Call {
	calls := make([]Call, len(items))
	for i, it := range items {
		calls[i] = Call{Done: it.Done, Err: err}
		if it.Err != nil {
			calls[i].Err = it.Err
		}
	}
	return calls
}
