package openai

import (
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// pieces collects the tool calls of a stream. It emits calls in the order in which they start.
type pieces struct {
	emit   func(llm.Chunk) error
	places map[int]int // index of a call by the vendor's index
	calls  []*pending
}

type pending struct {
	id, name string
	args     strings.Builder
}

// begin emits the start of a call.
func (p *pieces) begin(place int, id, name string) error {
	if p.places == nil {
		p.places = map[int]int{}
	}
	p.places[place] = len(p.calls)
	p.calls = append(p.calls, &pending{id: id, name: name})
	return p.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: len(p.calls) - 1, ID: id, Name: name}})
}

// piece emits a delta of the arguments of a call. It ignores a call that has not started; whole
// handles it.
func (p *pieces) piece(place int, piece string) error {
	i, ok := p.places[place]
	if !ok || piece == "" {
		return nil
	}
	p.calls[i].args.WriteString(piece)
	return p.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: i, Arguments: piece}})
}

// whole emits the rest of a call. If the earlier deltas differ from c, they take precedence.
func (p *pieces) whole(place int, c llm.ToolCall) error {
	if _, ok := p.places[place]; !ok {
		if err := p.begin(place, c.ID, c.Name); err != nil {
			return err
		}
	}
	return p.rest(place, c.Arguments)
}

// wholeAt emits the rest of the call at a position in the stream.
func (p *pieces) wholeAt(position int, c llm.ToolCall) error {
	for place, i := range p.places {
		if i == position {
			return p.rest(place, c.Arguments)
		}
	}
	return p.whole(-1-position, c) // no event had this call
}

func (p *pieces) rest(place int, arguments string) error {
	if rest, ok := strings.CutPrefix(arguments, p.calls[p.places[place]].args.String()); ok {
		return p.piece(place, rest)
	}
	return nil
}

func (p *pieces) all() []llm.ToolCall {
	var all []llm.ToolCall
	for _, c := range p.calls {
		all = append(all, llm.ToolCall{ID: c.id, Name: c.name, Arguments: c.args.String()})
	}
	return all
}
