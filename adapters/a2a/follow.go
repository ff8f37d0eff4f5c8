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

// cursor is the id of an update. n is 0 for the last update of an event, otherwise its number.
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

// parseCursor parses the id of an update. It returns nil for an empty id.
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
		return nil, invalidArgument("invalid cursor %.40q (expected: the id of the last received event)", id)
	}
	return &k, nil
}

func (s *Server) subscribe(ctx context.Context, c *caller, req *a2a.SubscribeToTaskRequest, id string) iter.Seq2[update,
	error] {
	return func(yield func(update, error) bool) {
		p, err := s.find(ctx, c, req.ID)
		if err != nil {
			yield(update{}, err)
			return
		}
		found := false
		if err := s.read(ctx, c, p, func(t *foldState) { found = t.tasks.task(req.ID) != nil }); err != nil {
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
		f := &taskStream{server: s, caller: c, place: p, task: req.ID, from: from, yield: yield}
		f.run(ctx)
	}
}

// taskStream is one stream of a task. It folds the log from its beginning. Up to the cursor, it
// only computes the task. Up to the head, it holds back the updates until it is clear that the
// stream is valid. After that, it sends the updates as they come.
//
// It ends when the task ended or needs input. A task in AUTH_REQUIRED may continue without a
// message, so it does not end the stream.
type taskStream struct {
	server   *Server
	caller   *caller
	place    *conversationInfo
	task     a2a.TaskID
	from     *cursor // nil: the head
	response bool    // it is the response to the message at from
	history  *int
	yield    func(update, error) bool

	state      *foldState
	floorFacts *floorFacts
	past       bool      // the fold is past the cursor
	first      *a2a.Task // the task at the cursor; nil if it begins after it
	held       []update  // updates after the cursor, until the head is reached
	last       update    // the last update that is not a trace
	live       bool      // the head was reached
}

func (f *taskStream) run(ctx context.Context) {
	b := f.server.acquire(foldKey{f.place.conversation, f.caller.client.AgentID()})
	defer f.server.release(b, -1)
	f.state, f.floorFacts = newFoldState(b.key.caller, f.place), &b.floorFacts
	for n, err := range f.server.listen(ctx, f.caller.client, f.place.conversation) {
		if err != nil {
			f.yield(update{}, hideNotFound(err))
			return
		}
		if !f.handle(ctx, n) {
			return
		}
	}
}

// handle handles a notification of the subscription, and reports whether the stream continues.
func (f *taskStream) handle(ctx context.Context, n parley.Notification) bool {
	switch {
	case n.Event != nil:
		updates, err := f.fold(ctx, n.Event)
		if err != nil {
			f.yield(update{}, err)
			return false
		}
		if f.live {
			return f.send(ctx, updates) && !slices.ContainsFunc(updates, endsStream)
		}
		f.held = append(f.held, updates...)
	case n.CaughtUp != nil && !f.live:
		f.live = true
		return f.sendHeld(ctx, n.CaughtUp.Seq)
	}
	return true
}

// fold folds the next event and returns its updates that belong to the stream.
func (f *taskStream) fold(ctx context.Context, e *parley.Event) ([]update, error) {
	if k := f.from; k != nil && !f.past && (e.Seq > k.seq || e.Seq == k.seq && k.n > 0) {
		f.recordStart()
	}
	floor := false
	if f.state.tasks.needsFloor(e) {
		var err error
		key := foldKey{f.place.conversation, f.state.owner}
		if floor, err = f.floorFacts.callerHasFloor(ctx, f.caller.client, key, e, f.state.tasks.anyone, nil); err != nil {
			return nil, hideNotFound(err)
		}
	}
	all := f.state.fold(e, floor)
	if f.past && f.from != nil && f.from.n > 0 && f.from.seq == e.Seq {
		if f.from.n >= len(all) {
			return nil, invalidArgument("invalid cursor %s (expected: the id of the last received event)", f.from)
		}
		for _, u := range all[:f.from.n] {
			f.first = applyUpdate(f.first, f.task, u.event)
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

// recordStart records the task at the cursor.
func (f *taskStream) recordStart() {
	f.past = true
	f.first = f.state.tasks.task(f.task)
}

// sendHeld sends the updates that were held back, when the head is reached.
func (f *taskStream) sendHeld(ctx context.Context, head int64) bool {
	if f.from == nil {
		f.from = &cursor{seq: head}
	}
	now := f.state.tasks.task(f.task)
	switch {
	case f.from.seq > head, f.from.n > 0 && !f.past:
		f.yield(update{}, invalidArgument("invalid cursor %s (expected: at most %d, the end of the log)", f.from, head))
		return false
	case now == nil:
		f.yield(update{}, errNoTask)
		return false
	}
	if !f.past {
		f.recordStart()
	}
	ended := now.Status.State.Terminal()
	if answer := f.state.tasks.messageAnswer(f.task); answer != nil && f.response {
		answer.ContextID = f.place.context
		f.send(ctx, []update{{f.last.id, answer}})
		return false
	}
	if ended && len(f.held) == 0 && !f.response {
		if f.caller.legacy {
			f.send(ctx, []update{f.last})
		} else {
			f.yield(update{}, unsupported("task %s already ended (%s), so no updates follow; call GetTask to read it", f.task,
				now.Status.State))
		}
		return false
	}
	if f.first != nil {
		f.held = slices.Insert(f.held, 0, update{f.from.String(), f.first})
	}
	went := len(f.held) > 1 || f.response
	held := f.held
	f.held, f.first = nil, nil
	return f.send(ctx, held) && !ended && !(went && now.Status.State == a2a.TaskStateInputRequired)
}

// send sends updates in the form for the caller.
func (f *taskStream) send(ctx context.Context, updates []update) bool {
	for _, u := range updates {
		if t, ok := u.event.(*a2a.Task); ok {
			trimHistory(t, f.history, maxHistory)
		}
		e, err := f.server.resolve(ctx, f.caller, f.place.conversation, f.state.tasks.modes(f.task), u.event)
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

// endsStream reports whether a stream ends with an update.
func endsStream(u update) bool {
	e, ok := u.event.(*a2a.TaskStatusUpdateEvent)
	return ok && !isTrace(u) && (e.Status.State.Terminal() || e.Status.State == a2a.TaskStateInputRequired)
}

// applyUpdate returns a task after one of its updates.
func applyUpdate(t *a2a.Task, id a2a.TaskID, e a2a.Event) *a2a.Task {
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
