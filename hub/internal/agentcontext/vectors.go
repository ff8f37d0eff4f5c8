package agentcontext

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/hub/vector"
)

// Bounds for the calls of the embedder: calls at once, and texts and their bytes in one call.
const (
	maxCalls   = 8
	embedTexts = 64
	embedBytes = 128 << 10
)

var (
	errNothingLike = errors.New("nothing has woken the agent, and nothing was said: there is nothing to be like")
	errFetchTime   = errors.New("the time to fetch was over")
)

// question is the text with which others are compared, and its event, which is not compared.
type question struct {
	text         string
	conversation string
	seq          int64
}

// findQuestion returns the last trigger, or without triggers the last message. Without a message
// the text is empty.
func (b *builder) findQuestion(trigger *entry) (question, error) {
	if trigger != nil {
		return question{text: trigger.textToCompare(), conversation: b.ConversationID, seq: trigger.Seq}, nil
	}
	state, err := b.service.opts.Engine.StateOf(b.QuestionID)
	if err != nil || state.MessageSeq == 0 {
		return question{}, err
	}
	event, err := b.service.opts.Engine.EventAt(b.QuestionID, state.MessageSeq)
	if err != nil || event.Type != parley.TypeMessage {
		return question{}, err
	}
	m, err := event.Message()
	if err != nil {
		return question{}, err
	}
	e := entry{text: m.Text}
	if e.fields.Data = m.Data; len(m.Data) == 0 && m.Text == "" {
		e.fields.Data = m.Parameters
	}
	return question{text: e.textToCompare(), conversation: b.QuestionID, seq: state.MessageSeq}, nil
}

// compareTexts reduces the matches of vector selectors to the most similar ones, the best first.
func (b *builder) compareTexts(ctx context.Context, all map[int]*collector, trigger *entry) error {
	var compared []*collector
	for _, i := range slices.Sorted(maps.Keys(all)) {
		if c := all[i]; c.fetch.Method == parley.FetchVector && c.err == nil {
			compared = append(compared, c)
		}
	}
	if len(compared) == 0 {
		return nil
	}
	q, err := b.findQuestion(trigger)
	if err == nil && q.text == "" {
		err = errNothingLike
	}
	if err != nil {
		setError(compared, err)
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	for _, c := range compared {
		c.err = b.keepNearest(bounded, c, &q)
	}
	return ctx.Err()
}

func (b *builder) keepNearest(ctx context.Context, c *collector, q *question) error {
	c.matches = slices.DeleteFunc(c.matches, func(found match) bool {
		return found.text == "" || found.conversation == q.conversation && found.seq == q.seq
	})
	if len(c.matches) == 0 {
		return nil
	}
	texts := make([]string, 1, len(c.matches)+1)
	texts[0] = q.text
	for i := range c.matches {
		texts = append(texts, c.matches[i].text)
	}
	vectors, err := b.service.vectors.getVectors(ctx, texts)
	if err != nil {
		return err
	}
	var nearest []match
	size := 0
	for _, near := range vector.Nearest(vectors[0], vectors[1:], c.fetch.NN) {
		found := c.matches[near.Index]
		found.text = ""
		if size <= c.room { // else there is certainly no room for the value
			e, err := b.readEntry(found.conversation, found.seq)
			if err != nil {
				return err
			}
			if found.value, err = e.encodeValue(b.Agent.Set, c.index); err != nil {
				return err
			}
			size += len(found.value)
		}
		nearest = append(nearest, found)
	}
	c.matches = nearest
	return nil
}

// vectorSource returns the vectors of texts: stored ones, or those that the embedder makes.
type vectorSource struct {
	log      *slog.Logger
	embedder vector.Embedder
	store    *vector.Store
	calls    chan struct{} // a slot for each call of the embedder
}

func newVectorSource(log *slog.Logger, e vector.Embedder, file string) *vectorSource {
	store := vector.NewStore(file)
	store.OnAside = func(name string) {
		log.Warn("the file of vectors was damaged, or of something else: it was set aside", "file", file, "aside", name)
	}
	return &vectorSource{log: log, embedder: e, store: store, calls: make(chan struct{}, maxCalls)}
}

// getVectors returns one vector for each text, all with the same number of dimensions. The vectors
// of the first texts are stored first, so that a call after a timeout continues from there.
func (v *vectorSource) getVectors(ctx context.Context, texts []string) ([][]float32, error) {
	all, err := v.store.Get(v.embedder.Name(), texts, 0)
	if err != nil {
		v.log.Warn("vectors are not kept", "error", err)
	}
	for range 3 {
		var todo []int
		haveSameLen := true
		for i := range all {
			if all[i] == nil {
				todo = append(todo, i)
			}
			haveSameLen = haveSameLen && len(all[i]) == len(all[0])
		}
		switch {
		case len(todo) == 0 && haveSameLen:
			return all, nil
		case len(todo) == 0:
			todo = []int{0} // another model has the same name now: make one vector to learn its dimensions
		}
		if err := v.makeVectors(ctx, texts, all, todo); err != nil {
			return nil, err
		}
		dimensions := len(all[todo[0]])
		for i := range all {
			if len(all[i]) != dimensions {
				all[i] = nil
			}
		}
	}
	return nil, fmt.Errorf("%w: of one length", vector.ErrVectors)
}

// makeVectors sets all[i] for each i of todo, and stores the vectors after each call.
func (v *vectorSource) makeVectors(ctx context.Context, texts []string, all [][]float32, todo []int) error {
	for len(todo) > 0 {
		var part []string
		size := 0
		for _, i := range todo {
			if size += len(texts[i]); len(part) == embedTexts || len(part) > 0 && size > embedBytes {
				break
			}
			part = append(part, texts[i])
		}
		made, err := v.callEmbedder(ctx, part)
		if err != nil {
			return err
		}
		for k, i := range todo[:len(part)] {
			all[i] = made[k]
		}
		todo = todo[len(part):]
		if err := v.store.Put(v.embedder.Name(), part, made); err != nil {
			v.log.Warn("vectors are not kept", "error", err)
		}
	}
	return nil
}

// callEmbedder returns when ctx ends, even if the embedder does not. Such a call keeps its slot
// until it returns.
func (v *vectorSource) callEmbedder(ctx context.Context, texts []string) ([][]float32, error) {
	select {
	case v.calls <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var vectors [][]float32
	var err error
	returned := make(chan struct{})
	go func() {
		defer func() { <-v.calls }()
		vectors, err = v.embedder.Embed(ctx, texts)
		close(returned)
	}()
	select {
	case <-returned:
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("embedder %s: %w", policy.Clip(v.embedder.Name()), err)
		}
		return vectors, vector.Check(vectors, len(texts))
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
