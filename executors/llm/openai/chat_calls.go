package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/internal/wire"
)

// chatCalls collects the tool calls of a chat completion. It emits a call once its name is known.
type chatCalls struct {
	emit   func(llm.Chunk) error
	known  []*chatCall // in the order of the deltas
	begun  []*chatCall // in the order of the chunks
	legacy *chatCall   // of the member function_call, which servers used before tool_calls
}

// chatCall is one call. Its position in begun is the index of its chunks.
type chatCall struct {
	id, name string
	place    int // index of the vendor, or -1
	args     strings.Builder
	started  int         // position in begun, or -1
	more     wire.Joined // unknown members
}

// add handles the calls of a message or of a delta.
func (c *chatCalls) add(message map[string]json.RawMessage) error {
	var calls []map[string]json.RawMessage
	_ = json.Unmarshal(message["tool_calls"], &calls) // other values have no calls
	before := len(c.known)
	for _, call := range calls {
		if err := c.addDelta(call, before); err != nil {
			return err
		}
	}
	function := wire.Members(message["function_call"])
	if len(function) == 0 || c.legacy == nil && len(c.known) > 0 { // a copy for older clients
		return nil
	}
	if c.legacy == nil {
		c.legacy = c.open(-1)
	}
	return c.piece(c.legacy, nil, function)
}

// addDelta handles a call of a delta. before is the number of calls before this delta.
func (c *chatCalls) addDelta(call map[string]json.RawMessage, before int) error {
	function := wire.Members(call["function"])
	place, ok := wire.Index(call["index"])
	if !ok {
		place = -1
	}
	k := c.find(wire.Text(call["id"]), wire.Text(function["name"]), argumentsOf(function), place, before)
	if k == nil {
		k = c.open(place)
	}
	return c.piece(k, call, function)
}

func (c *chatCalls) open(place int) *chatCall {
	k := &chatCall{place: place, started: -1}
	c.known = append(c.known, k)
	return k
}

// find returns the call that a delta continues, or nil if it starts one. Servers may send no ids,
// the same id for all calls, no index, or the same index for all calls. So a delta also starts a
// call if it has another id or name than the call at its place, or if it repeats the name after
// arguments that are complete.
func (c *chatCalls) find(id, name, arguments string, place, before int) *chatCall {
	at := -1
	for i, k := range slices.Backward(c.known) {
		switch {
		case k == c.legacy:
		case id != "" && k.id == id && (place < 0 || k.place == place), id == "" && place < 0, place >= 0 && k.place == place:
			at = i
		}
		if at >= 0 {
			break
		}
	}
	if at < 0 {
		return nil
	}
	k := c.known[at]
	switch {
	case id != "" && k.id != "" && id != k.id:
		for i, other := range slices.Backward(c.known) { // all calls have the same index
			if other.id == id && (name == "" || i < before && other.name == name && !other.complete(arguments)) {
				return other
			}
		}
		if name == "" { // some servers send another id with each delta
			return k
		}
		return nil
	case name != "" && (at >= before || k.name != "" && k.name != name || k.complete(arguments)):
		return nil
	}
	return k
}

// complete reports whether the arguments are complete and further ones follow.
func (k *chatCall) complete(further string) bool {
	args := strings.TrimSpace(k.args.String())
	return strings.TrimSpace(further) != "" && strings.HasSuffix(args, "}") && json.Valid([]byte(args))
}

// piece adds a delta to a call, and emits what it can.
func (c *chatCalls) piece(k *chatCall, call, function map[string]json.RawMessage) error {
	if id := wire.Text(call["id"]); k.id == "" && k.started < 0 {
		k.id = id
	}
	if k.name == "" {
		k.name = wire.Text(function["name"])
	}
	for name, value := range call {
		if !slices.Contains(callMembers, name) {
			k.more.AddMember(name, value)
		}
	}
	var more wire.Joined
	for name, value := range function {
		if !slices.Contains(functionMembers, name) {
			more.AddMember(name, value)
		}
	}
	if raw := more.JSON(); raw != nil {
		k.more.AddMember("function", raw)
	}
	piece := argumentsOf(function)
	k.args.WriteString(piece)
	switch {
	case k.started >= 0 && piece != "":
		return c.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: k.started, Arguments: piece}})
	case k.started >= 0 || k.name == "":
		return nil
	}
	k.started = len(c.begun)
	c.begun = append(c.begun, k)
	if err := c.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: k.started, ID: k.id, Name: k.name}}); err != nil ||
		k.args.Len() == 0 {
		return err
	}
	return c.emit(llm.Chunk{ToolCall: &llm.ToolCallChunk{Index: k.started, Arguments: k.args.String()}})
}

// argumentsOf returns the arguments of a function. Some servers send an object instead of a text.
func argumentsOf(function map[string]json.RawMessage) string {
	raw := bytes.TrimSpace(function["arguments"])
	if len(raw) == 0 || raw[0] == '"' || string(raw) == "null" {
		return wire.Text(raw)
	}
	return string(raw)
}

// all returns the calls. complete is false if a call has no name. Empty calls are left out.
func (c *chatCalls) all() (all []llm.ToolCall, complete bool) {
	for _, k := range c.begun {
		all = append(all, llm.ToolCall{ID: k.id, Name: k.name, Arguments: k.args.String()})
	}
	for _, k := range c.known {
		if k.started < 0 && k.id+k.args.String() != "" {
			return nil, false
		}
	}
	return all, true
}

// more returns the unknown members of each call. It is nil if no call has any.
func (c *chatCalls) more() []json.RawMessage {
	all := make([]json.RawMessage, len(c.begun))
	found := false
	for i, k := range c.begun {
		if all[i] = k.more.JSON(); all[i] != nil {
			found = true
		}
	}
	if !found {
		return nil
	}
	return all
}
