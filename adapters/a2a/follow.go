package a2a

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// cursor is the id of an update. n is 0 for the last of its record, else its number.
type cursor struct {
	seq int64
	n   int
}

func (k cursor) String() string {
	if k.n == 0 {
		return strconv.FormatInt(k.seq, 10)
	}
	return strconv.FormatInt(k.seq, 10) + "." + strconv.Itoa(k.n)
}

// parseCursor reads the id of an update; nil for none.
func parseCursor(id string) (*cursor, error) {
	if id == "" {
		return nil, nil
	}
	var k cursor
	var err1, err2 error
	seq, n, parted := strings.Cut(id, ".")
	k.seq, err1 = strconv.ParseInt(seq, 10, 64)
	if parted {
		k.n, err2 = strconv.Atoi(n)
	}
	if err1 != nil || err2 != nil || k.seq < 0 || k.n < 0 || k.String() != id {
		return nil, wrong("%.40q is no cursor: give the id of the last event that came", id)
	}
	return &k, nil
}

func (s *Server) subscribe(ctx context.Context, c *caller, req *a2a.SubscribeToTaskRequest, id string) iter.Seq2[update, error] {
	return func(yield func(update, error) bool) {
		p, err := s.find(ctx, c, req.ID)
		if err != nil {
			yield(update{}, err)
			return
		}
		found := false
		if err := s.read(ctx, c, p, func(t *tape) { found = t.ledger.task(req.ID) != nil }); err != nil {
			yield(update{}, err)
			return
		}
		if !found {
			yield(update{}, errNoTask)
			return
		}
		from, err := parseCursor(id)
		if err != nil {
			yield(update{}, err)
			return
		}
		f := &follow{server: s, caller: c, place: p, task: req.ID, from: from, yield: yield}
		f.run(ctx)
	}
}

// follow is one stream of a task. It folds the log from its beginning: up to the cursor, where the task is taken as it was; then up to the head, holding back
// what that brings until it is clear that there is a stream; then what comes.
//
// It ends when its task has ended or asks for input. A task that waits for its caller to be authorized may go on without a word of it.
type follow struct {
	server  *Server
	caller  *caller
	place   *place
	task    a2a.TaskID
	from    *cursor // nil: the head
	said    bool    // it is the answer to a message, which is at from
	history *int
	yield   func(update, error) bool

	tape  *tape
	facts *facts
	past  bool      // the cursor was passed
	first *a2a.Task // the task at the cursor; nil if it begins behind it
	held  []update  // behind the cursor, before the head was reached
	last  update    // the last that is not a trace
	live  bool      // the head was reached
}

func (f *follow) run(ctx context.Context) {
	b := f.server.lend(bookKey{f.place.conversation, f.caller.client.AgentID()})
	defer f.server.giveBack(b, -1)
	f.tape, f.facts = newTape(b.key.caller, f.place), &b.facts
	for n, err := range f.server.listen(ctx, f.caller.client, f.place.conversation) {
		if err != nil {
			f.yield(update{}, hidden(err))
			return
		}
		if !f.hear(ctx, n) {
			return
		}
	}
}

// hear takes what the subscription tells and reports whether the stream goes on.
func (f *follow) hear(ctx context.Context, n parley.Notification) bool {
	switch {
	case n.Event != nil:
		updates, err := f.take(ctx, n.Event)
		if err != nil {
			f.yield(update{}, err)
			return false
		}
		if f.live {
			return f.send(ctx, updates) && !slices.ContainsFunc(updates, stops)
		}
		f.held = append(f.held, updates...)
	case n.CaughtUp != nil && !f.live:
		f.live = true
		return f.begin(ctx, n.CaughtUp.Seq)
	}
	return true
}

// take folds the next event and gives those of its updates that belong into the stream.
func (f *follow) take(ctx context.Context, e *parley.Event) ([]update, error) {
	if k := f.from; k != nil && !f.past && (e.Seq > k.seq || e.Seq == k.seq && k.n > 0) {
		f.mark()
	}
	floor := false
	if f.tape.ledger.asks(e) {
		var err error
		key := bookKey{f.place.conversation, f.tape.owner}
		if floor, err = f.facts.ask(ctx, f.caller.client, key, e, f.tape.ledger.anyone, nil); err != nil {
			return nil, hidden(err)
		}
	}
	all := f.tape.take(e, floor)
	if f.past && f.from != nil && f.from.n > 0 && f.from.seq == e.Seq {
		if f.from.n >= len(all) {
			return nil, wrong("%s is no cursor: give the id of the last event that came", f.from)
		}
		for _, u := range all[:f.from.n] {
			f.first = advance(f.first, f.task, u.event)
		}
		all = all[f.from.n:]
	}
	var mine []update
	for _, u := range all {
		if u.event.TaskInfo().TaskID != f.task {
			continue
		}
		if isTrace(u) && !f.caller.traces {
			continue
		}
		if !isTrace(u) {
			f.last = u
		}
		if f.past {
			mine = append(mine, u)
		}
	}
	return mine, nil
}

// mark takes the task as it is at the cursor.
func (f *follow) mark() {
	f.past = true
	f.first = f.tape.ledger.task(f.task)
}

// begin yields what was held back, once the head is reached.
func (f *follow) begin(ctx context.Context, head int64) bool {
	if f.from == nil {
		f.from = &cursor{seq: head}
	}
	now := f.tape.ledger.task(f.task)
	switch {
	case f.from.seq > head, f.from.n > 0 && !f.past:
		f.yield(update{}, wrong("%s is no cursor: the log ends at %d", f.from, head))
		return false
	case now == nil:
		f.yield(update{}, errNoTask)
		return false
	}
	if !f.past {
		f.mark()
	}
	ended := now.Status.State.Terminal()
	if answer := f.tape.ledger.bare(f.task); answer != nil && f.said {
		answer.ContextID = f.place.context
		f.send(ctx, []update{{f.last.id, answer}})
		return false
	}
	if ended && len(f.held) == 0 && !f.said {
		if f.caller.legacy {
			f.send(ctx, []update{f.last})
		} else {
			f.yield(update{}, unsupported("task %s has ended (%s): nothing more comes; GetTask tells all of it", f.task, now.Status.State))
		}
		return false
	}
	if f.first != nil {
		f.held = slices.Insert(f.held, 0, update{f.from.String(), f.first})
	}
	went := len(f.held) > 1 || f.said
	held := f.held
	f.held, f.first = nil, nil
	return f.send(ctx, held) && !ended && !(went && now.Status.State == a2a.TaskStateInputRequired)
}

// send yields updates as the caller takes them.
func (f *follow) send(ctx context.Context, updates []update) bool {
	for _, u := range updates {
		if t, ok := u.event.(*a2a.Task); ok {
			trim(t, f.history, maxHistory)
		}
		e, err := f.server.resolve(ctx, f.caller, f.place.conversation, f.tape.ledger.modes(f.task), u.event)
		if err != nil {
			f.yield(update{}, err)
			return false
		}
		if !f.yield(update{u.id, e}, nil) {
			return false
		}
	}
	return true
}

func isTrace(u update) bool { return u.event.Meta()[TraceExtension] != nil }

// stops reports whether a stream ends with an update.
func stops(u update) bool {
	e, ok := u.event.(*a2a.TaskStatusUpdateEvent)
	return ok && !isTrace(u) && (e.Status.State.Terminal() || e.Status.State == a2a.TaskStateInputRequired)
}

// advance gives a task as it is after one of its updates.
func advance(t *a2a.Task, id a2a.TaskID, e a2a.Event) *a2a.Task {
	if e.TaskInfo().TaskID != id {
		return t
	}
	switch e := e.(type) {
	case *a2a.Task:
		return e
	case *a2a.TaskArtifactUpdateEvent:
		if t != nil {
			t.Artifacts = append(t.Artifacts, e.Artifact)
		}
	case *a2a.TaskStatusUpdateEvent:
		if t == nil {
			break
		}
		if t.Status.Message != nil {
			t.History = append(t.History, t.Status.Message)
		}
		t.Status = e.Status
	}
	return t
}
