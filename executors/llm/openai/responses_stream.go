package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// responsesStream parses the events of a response.
type responsesStream struct {
	p    *Provider
	res  *http.Response
	req  *llm.Request
	emit func(llm.Chunk) error

	text      texts
	refusal   strings.Builder
	reasoning strings.Builder
	calls     pieces
	asides    map[int]bool
	items     map[int]json.RawMessage // completed items by place
	places    places
}

// places are the positions of the items in the output. Some servers send no index, or the same one
// for all items, so an added item with another id has its own place.
type places struct {
	next    int
	byID    map[string]int
	byIndex map[int]int
}

// add returns the place of an item that was added.
func (p *places) add(id string, index int) int {
	if place, ok := p.byID[id]; ok {
		return place
	}
	place := max(index, p.next)
	p.next = place + 1
	p.byIndex[index] = place
	if id != "" {
		p.byID[id] = place
	}
	return place
}

// find returns the place of an item by its id, or else by its index.
func (p *places) find(id string, index int) int {
	if place, ok := p.byID[id]; ok {
		return place
	}
	if place, ok := p.byIndex[index]; ok {
		return place
	}
	return p.add(id, index)
}

func (p *Provider) streamResponses(res *http.Response, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response,
	error) {
	s := &responsesStream{p: p, res: res, req: req, emit: emit, calls: pieces{emit: emit}, asides: map[int]bool{},
		items: map[int]json.RawMessage{}, places: places{byID: map[string]int{}, byIndex: map[int]int{}}}
	d := ssestream.NewDecoder(res)
	for d.Next() {
		data := d.Event().Data
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		r, err := s.event(wire.MarkSurrogates(data))
		if r != nil || err != nil {
			return r, err
		}
	}
	return nil, p.server.Cut(res, d.Err())
}

// event handles one event. It returns the Response after the last one.
func (s *responsesStream) event(data []byte) (*llm.Response, error) {
	var e responses.ResponseStreamEventUnion
	if err := json.Unmarshal(data, &e); err != nil {
		if reported := errorOf(data); reported != nil {
			return nil, s.p.failed(s.res, reported)
		}
		return nil, s.p.server.Malformed(s.res, "an event of the stream is not JSON of the Responses API", err)
	}
	index := int(e.OutputIndex)
	switch e.Type {
	case "response.output_item.added":
		return nil, s.added(s.places.add(cmp.Or(e.Item.ID, e.Item.CallID), index), &e.Item)
	case "response.output_item.done":
		place := s.places.find(cmp.Or(e.Item.ID, e.Item.CallID), index)
		s.items[place] = json.RawMessage(e.Item.RawJSON())
		if e.Item.Type == "function_call" {
			return nil, s.calls.whole(place, call(&e.Item))
		}
	case "response.output_text.delta":
		if place := s.places.find(e.ItemID, index); !s.asides[place] {
			return nil, s.emitText(s.text.addText(place, e.Delta))
		}
	case "response.refusal.delta":
		return nil, s.emitRefusal(e.Delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return nil, s.emitReasoning(e.Delta)
	case "response.function_call_arguments.delta":
		return nil, s.calls.piece(s.places.find(e.ItemID, index), e.Delta)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return s.end(&e.Response)
	}
	if reported := errorOf(data); reported != nil {
		return nil, s.p.failed(s.res, reported)
	}
	return nil, nil
}

func (s *responsesStream) added(place int, item *responses.ResponseOutputItemUnion) error {
	switch item.Type {
	case "message":
		s.asides[place] = isCommentary(s.req, item.Phase)
	case "function_call":
		return s.calls.whole(place, call(item))
	}
	return nil
}

func call(item *responses.ResponseOutputItemUnion) llm.ToolCall {
	return llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: itemArguments(json.RawMessage(item.RawJSON()))}
}

func (s *responsesStream) emitReasoning(piece string) error {
	if piece == "" {
		return nil
	}
	s.reasoning.WriteString(piece)
	return s.emit(llm.Chunk{Reasoning: piece})
}

func (s *responsesStream) emitText(piece string) error {
	if piece == "" {
		return nil
	}
	return s.emit(llm.Chunk{Text: piece})
}

func (s *responsesStream) emitRefusal(piece string) error {
	if piece == "" {
		return nil
	}
	s.refusal.WriteString(piece)
	return s.emit(llm.Chunk{Refusal: piece})
}

// end returns the Response of the last event, and emits the parts that had no deltas.
func (s *responsesStream) end(r *responses.Response) (*llm.Response, error) {
	if len(r.Output) == 0 {
		s.restore(r)
	}
	a, err := s.p.answerOf(s.res, s.req, r)
	if err != nil {
		return nil, err
	}
	for i, c := range a.ToolCalls { // the order is the same as in the stream
		if err := s.calls.wholeAt(i, c); err != nil {
			return nil, err
		}
	}
	out := a.response()
	if out.Reasoning == "" {
		out.Reasoning = s.reasoning.String()
	}
	if rest, ok := strings.CutPrefix(out.Text, s.text.String()); ok {
		if err := s.emitText(rest); err != nil {
			return nil, err
		}
	} else {
		out.Text = s.text.String() // emitted text takes precedence
	}
	if rest, ok := strings.CutPrefix(out.Refusal, s.refusal.String()); ok {
		if err := s.emitRefusal(rest); err != nil {
			return nil, err
		}
	} else {
		out.Refusal = s.refusal.String()
	}
	out.ToolCalls = s.calls.all()
	return out, nil
}

// restore sets the output if the last event of the server has none.
func (s *responsesStream) restore(r *responses.Response) {
	var all []json.RawMessage
	for _, place := range slices.Sorted(maps.Keys(s.items)) {
		all = append(all, s.items[place])
	}
	raw, err := json.Marshal(all)
	if err != nil || len(all) == 0 {
		return
	}
	var output []responses.ResponseOutputItemUnion
	if json.Unmarshal(raw, &output) == nil {
		r.Output = output
	}
}
