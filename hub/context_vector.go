package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/hub/vector"
)

// How many texts the embedder is asked about at once, and their bytes.
const (
	embedTexts = 64
	embedBytes = 128 << 10
)

var (
	errNothingLike = errors.New("nothing has woken the agent, and nothing was said: there is nothing to be like")
	errFetchTime   = errors.New("the time to fetch was over")
)

// question is the text that others are to be like, and the event that says it, which is not among them.
type question struct {
	text         string
	conversation string
	seq          int64
}

// question gives the text of the last event that has woken the agent or, where there is none, of the last message; with text empty where that is none either.
func (f *feeding) question(trigger *remark) (question, error) {
	if trigger != nil {
		return question{text: trigger.compared(), conversation: f.at, seq: trigger.Seq}, nil
	}
	s, err := f.hub.conv.StateOf(f.asked)
	if err != nil || s.MessageSeq == 0 {
		return question{}, err
	}
	events, err := f.hub.readEvents(f.asked, s.MessageSeq-1, 1)
	if err != nil || len(events) == 0 || events[0].Type != parley.TypeMessage {
		return question{}, err
	}
	m, err := events[0].Message()
	if err != nil {
		return question{}, err
	}
	q := remark{text: m.Text}
	if q.seen.Data = m.Data; len(m.Data) == 0 && m.Text == "" {
		q.seen.Data = m.Parameters
	}
	return question{text: q.compared(), conversation: f.asked, seq: s.MessageSeq}, nil
}

// compare leaves of what each vector selector has found the most similar, the best first.
func (f *feeding) compare(ctx context.Context, wants map[int]*want, trigger *remark) error {
	var vectors []*want
	for _, i := range slices.Sorted(maps.Keys(wants)) {
		if w := wants[i]; w.fetch.Method == parley.FetchVector && w.err == nil {
			vectors = append(vectors, w)
		}
	}
	if len(vectors) == 0 {
		return nil
	}
	q, err := f.question(trigger)
	if err == nil && q.text == "" {
		err = errNothingLike
	}
	if err != nil {
		fails(vectors, err)
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	for _, w := range vectors {
		w.err = f.nearest(bounded, w, &q)
	}
	return ctx.Err()
}

// nearest leaves the events that are most like a text.
func (f *feeding) nearest(ctx context.Context, w *want, q *question) error {
	w.found = slices.DeleteFunc(w.found, func(e found) bool { return e.text == "" || e.conversation == q.conversation && e.seq == q.seq })
	if len(w.found) == 0 {
		return nil
	}
	texts := make([]string, 1, len(w.found)+1)
	texts[0] = q.text
	for i := range w.found {
		texts = append(texts, w.found[i].text)
	}
	all, err := f.hub.contexts.vectorsOf(ctx, texts)
	if err != nil {
		return err
	}
	var best []found
	size := 0
	for _, hit := range vector.Nearest(all[0], all[1:], w.fetch.NN) {
		e := w.found[hit.Index]
		e.text = ""
		if size <= w.room { // else there is no room for it in any case
			if err := f.reread(w, &e); err != nil {
				return err
			}
			size += e.size
		}
		best = append(best, e)
	}
	w.found = best
	return nil
}

// reread gives an event that was found its value.
func (f *feeding) reread(w *want, e *found) error {
	r, err := f.remarkAt(e.conversation, e.seq)
	if err != nil {
		return err
	}
	if e.value, err = r.value(f.set, w.index); err != nil {
		return err
	}
	e.size = len(e.value)
	return nil
}

// remarkAt reads an event that selectors look at.
func (f *feeding) remarkAt(conversation string, seq int64) (*remark, error) {
	records, err := f.hub.journal.Read(conversation, seq-1, 1, 1)
	if err != nil {
		return nil, fmt.Errorf("read %s after %d: %w", conversation, seq-1, err)
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("read %s after %d: nothing there", conversation, seq-1)
	}
	r, err := remarkIn(records[0].Data)
	if err == nil && r == nil {
		err = fmt.Errorf("event %d of %s is neither note nor message", seq, conversation)
	}
	return r, err
}

// vectorsOf gives the vectors of texts, all of one length: those that are kept, and for the others the embedder is asked, which are kept then. The first are made before the last: where the
// time is over, the next call goes on from there.
func (x *contexts) vectorsOf(ctx context.Context, texts []string) ([][]float32, error) {
	all, err := x.vectors.Get(x.embedder.Name(), texts, 0)
	if err != nil {
		x.hub.log.Warn("vectors are not kept", "error", err)
	}
	for range 3 {
		todo := missing(all)
		switch {
		case len(todo) == 0 && alike(all):
			return all, nil
		case len(todo) == 0:
			todo = []int{0} // the model behind the name is another one than it was: see what it gives now
		}
		if err := x.make(ctx, texts, all, todo); err != nil {
			return nil, err
		}
		made := len(all[todo[0]])
		for i := range all {
			if len(all[i]) != made {
				all[i] = nil
			}
		}
	}
	return nil, fmt.Errorf("%w: of one length", vector.ErrVectors)
}

func missing(all [][]float32) []int {
	var todo []int
	for i, v := range all {
		if v == nil {
			todo = append(todo, i)
		}
	}
	return todo
}

func alike(all [][]float32) bool {
	return !slices.ContainsFunc(all, func(v []float32) bool { return len(v) != len(all[0]) })
}

// make asks the embedder for the vectors of some of the texts, a part at a time, and keeps each part.
func (x *contexts) make(ctx context.Context, texts []string, all [][]float32, todo []int) error {
	for len(todo) > 0 {
		var part []string
		size := 0
		for _, i := range todo {
			if size += len(texts[i]); len(part) == embedTexts || len(part) > 0 && size > embedBytes {
				break
			}
			part = append(part, texts[i])
		}
		made, err := x.ask(ctx, part)
		if err != nil {
			return err
		}
		for k, i := range todo[:len(part)] {
			all[i] = made[k]
		}
		todo = todo[len(part):]
		if err := x.vectors.Put(x.embedder.Name(), part, made); err != nil {
			x.hub.log.Warn("vectors are not kept", "error", err)
		}
	}
	return nil
}

// ask asks the embedder, and waits no longer than ctx: also for one that does not end with that. Such a call holds its slot until it comes back, and nothing waits for it.
func (x *contexts) ask(ctx context.Context, texts []string) ([][]float32, error) {
	select {
	case x.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, overTime(ctx)
	}
	type answer struct {
		vectors [][]float32
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		defer func() { <-x.asking }()
		v, err := x.embedder.Embed(ctx, texts)
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil && ctx.Err() != nil {
			return nil, overTime(ctx)
		}
		if a.err != nil {
			return nil, fmt.Errorf("embedder %s: %w", policy.Clip(x.embedder.Name()), a.err)
		}
		return a.vectors, vector.Check(a.vectors, len(texts))
	case <-ctx.Done():
		return nil, overTime(ctx)
	}
}

// overTime says that the time was over, in words.
func overTime(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errFetchTime
	}
	return ctx.Err()
}
