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
	if rest, ok := strings.CutPrefix(c.Arguments, p.calls[p.places[place]].args.String()); ok {
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
