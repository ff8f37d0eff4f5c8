package openai

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/parleyhub/parley/executors/llm"
)

// responsesStream parses the events of a response.
type responsesStream struct {
	p    *Provider
	res  *http.Response
	req  *llm.Request
	emit func(llm.Chunk) error

	text    texts
	refusal strings.Builder
	calls   pieces
	asides  map[int]bool
	items   map[int]json.RawMessage // completed items by index in the output
}

func (p *Provider) streamResponses(res *http.Response, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response,
	error) {
	defer res.Body.Close()
	if err := p.server.IsStream(res); err != nil {
		return nil, err
	}
	s := &responsesStream{p: p, res: res, req: req, emit: emit, calls: pieces{emit: emit}, asides: map[int]bool{},
		items: map[int]json.RawMessage{}}
	d := ssestream.NewDecoder(res)
	for d.Next() {
		data := d.Event().Data
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		r, err := s.event(data)
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
		return nil, s.p.server.Malformed(s.res, "an event of the stream is not JSON of the Responses API", err)
	}
	place := int(e.OutputIndex)
	switch e.Type {
	case "response.output_item.added":
		return nil, s.added(place, &e.Item)
	case "response.output_item.done":
		s.items[place] = json.RawMessage(e.Item.RawJSON())
		if e.Item.Type == "function_call" {
			return nil, s.calls.whole(place, call(&e.Item))
		}
	case "response.output_text.delta":
		if !s.asides[place] {
			return nil, s.emitText(s.text.addText(place, e.Delta))
		}
	case "response.refusal.delta":
		return nil, s.emitRefusal(e.Delta)
	case "response.function_call_arguments.delta":
		return nil, s.calls.piece(place, e.Delta)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return s.end(&e.Response)
	case "error":
		return nil, s.failed(data)
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
	return llm.ToolCall{ID: item.CallID, Name: item.Name, Arguments: item.Arguments.OfString}
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

// failed parses an error event, which is the error itself or contains it.
func (s *responsesStream) failed(data []byte) error {
	e := errorOf(data)
	if e == nil {
		e = &vendorError{}
		if err := json.Unmarshal(data, e); err != nil {
			return s.p.server.Malformed(s.res, "an error of the stream is not JSON of the Responses API", err)
		}
	}
	return s.p.failed(s.res, e)
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
	for i, c := range a.ToolCalls {
		if err := s.calls.whole(a.places[i], c); err != nil {
			return nil, err
		}
	}
	out := a.response()
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
	for place := range len(s.items) {
		item, ok := s.items[place]
		if !ok {
			return
		}
		all = append(all, item)
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
