package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// Setup describes the provider under test. The fields that start with No are features that the API
// of the vendor does not have. The scripts do not use them.
type Setup struct {
	// Provider returns a provider whose calls are answered by the exchanges of a script, in order.
	// It registers its clean-up with t.Cleanup. Conformance closes the provider.
	Provider func(t *testing.T, s *Script) llm.Provider
	// Model and API are used in every request.
	Model string
	API   llm.API
	// NoRefusalText: a refusal has no text. The provider sets some text in Response.Refusal.
	NoRefusalText bool
	// NoCacheRead, NoCacheWrite and NoReasoning: usage does not have these counts.
	NoCacheRead, NoCacheWrite, NoReasoning bool
	// NoOpaque: the provider has no opaque data.
	NoOpaque bool
	// NoMalformed and NoBreak: there is no wire on which an answer could be malformed or
	// incomplete.
	NoMalformed, NoBreak bool
	// NoMetadata: the vendor has no ids.
	NoMetadata bool
	// Skip has the names of cases to skip, with the reason.
	Skip map[string]string
}

// Exchange is one call: the request that the vendor must get, and its answer.
type Exchange struct {
	// Request is the request to the provider. The last messages of all exchanges in a script have
	// different texts, except in scripts with equal exchanges.
	Request llm.Request
	// Follows inserts the conversation of the previous exchange before Request.Messages: its
	// messages and the message of its response. ToolResult.CallID is then set to the ids of that
	// response, in order.
	Follows bool
	// Stream makes the call with emit.
	Stream bool

	// Want are texts that the vendor must get, and Never are texts that it must not get. They have
	// only letters, digits, _ and -, so they are the same in any encoding.
	Want, Never []string

	// Response is the answer of the vendor. Its tool calls have ids. Its usage is nil if none is
	// reported. Metadata and Opaque are set by the vendor.
	Response llm.Response
	// Chunks are the chunks of a stream with Response.Text, Response.Refusal and the tool calls.
	// Together they equal the Response. A tool call starts with a chunk that has ID and Name and no
	// arguments.
	Chunks []llm.Chunk
	// Opaque is a text in the opaque data of the answer, such as a signature. The following
	// exchange has it in Want. It may be empty.
	Opaque string
	// Fault replaces or interrupts the answer. It may be nil.
	Fault *Fault
}

// Fault is a failure. Exactly one of Status, Break, Hang and Malformed is set.
type Fault struct {
	// Status is the HTTP status of an error with Message in the form of the vendor. RetryAfter is
	// its header Retry-After in whole seconds; 0 means none.
	Status     int
	RetryAfter time.Duration
	Message    string
	// Break closes the connection. Hang sends nothing more until the caller cancels. In a stream
	// they follow the first AfterChunks of Chunks, otherwise they replace the answer.
	Break, Hang bool
	AfterChunks int
	// Malformed answers with Garbage and status 200, in a stream as the data of an event after
	// AfterChunks.
	Malformed bool
}

// Garbage is not JSON.
const Garbage = `{"object": "response", "outp`

// Script is a sequence of exchanges. It is safe for concurrent use.
type Script struct {
	// Name is the name of the case.
	Name      string
	Exchanges []Exchange

	mu       sync.Mutex // guards the fields below
	next     int
	problems []string
}

// Take returns the next exchange for the vendor, and checks body, the request to the vendor,
// against Want and Never. Problems fail the test at its end. A call after the last exchange also
// returns an error, which the vendor may send.
func (s *Script) Take(body string) (*Exchange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next >= len(s.Exchanges) {
		err := fmt.Errorf("the vendor was called %d times: expected %d", s.next+1, len(s.Exchanges))
		s.problems = append(s.problems, err.Error())
		return nil, err
	}
	e := &s.Exchanges[s.next]
	s.next++
	for _, w := range e.Want {
		if !strings.Contains(body, w) {
			s.problems = append(s.problems, fmt.Sprintf("call %d: expected %q in the request to the vendor: %s", s.next, w, body))
		}
	}
	for _, n := range e.Never {
		if strings.Contains(body, n) {
			s.problems = append(s.problems,
				fmt.Sprintf("call %d: expected no %q in the request to the vendor: %s", s.next, n, body))
		}
	}
	return e, nil
}

// Taken returns the number of taken exchanges, and the problems of their requests.
func (s *Script) Taken() (int, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next, append([]string(nil), s.problems...)
}

// Rewind restarts the vendor.
func (s *Script) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = 0
}

// Outcome is the result of one call.
type Outcome struct {
	Request  *llm.Request
	Response *llm.Response
	Chunks   []llm.Chunk
	Err      error
}

// Run makes the calls of a script in order, and returns their outcomes. It cancels a call whose
// fault is Hang after the chunks before the fault. It stops at a failed call that another exchange
// follows.
func (s *Script) Run(ctx context.Context, p llm.Provider) []Outcome {
	var all []Outcome
	for i := range s.Exchanges {
		e := &s.Exchanges[i]
		var before *Outcome
		if e.Follows {
			before = &all[i-1]
			if before.Err != nil {
				return all
			}
		}
		all = append(all, e.call(ctx, p, before))
	}
	return all
}

func (e *Exchange) call(ctx context.Context, p llm.Provider, before *Outcome) Outcome {
	req := e.Request
	if before != nil {
		req.Messages = follow(before, e.Request.Messages)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	hangs := e.Fault != nil && e.Fault.Hang
	if hangs && (!e.Stream || e.Fault.AfterChunks == 0) {
		defer time.AfterFunc(50*time.Millisecond, cancel).Stop()
	}
	o := Outcome{Request: &req}
	var emit func(llm.Chunk) error
	if e.Stream {
		emit = func(c llm.Chunk) error {
			o.Chunks = append(o.Chunks, c)
			if hangs && len(textOf(o.Chunks)) >= len(textOf(e.Chunks[:e.Fault.AfterChunks])) {
				cancel()
			}
			return nil
		}
	}
	o.Response, o.Err = p.Call(ctx, &req, emit)
	return o
}

// follow continues a conversation. Its last message is encoded as JSON and decoded, as in a log.
func follow(before *Outcome, with []llm.Message) []llm.Message {
	said := before.Response.Message()
	raw, err := json.Marshal(said)
	if err == nil {
		said = llm.Message{}
		err = json.Unmarshal(raw, &said)
	}
	if err != nil {
		panic(err) // a message can be encoded as JSON
	}
	all := append([]llm.Message(nil), before.Request.Messages...)
	all = append(all, said)
	for _, m := range with {
		m.Results = append([]llm.ToolResult(nil), m.Results...)
		for i := range m.Results {
			if i < len(said.ToolCalls) {
				m.Results[i].CallID = said.ToolCalls[i].ID
			}
		}
		all = append(all, m)
	}
	return all
}

// textOf returns all texts of chunks. The order between kinds does not matter.
func textOf(chunks []llm.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.Text)
		b.WriteString(c.Refusal)
		if c.ToolCall != nil {
			b.WriteString(c.ToolCall.Arguments)
		}
	}
	return b.String()
}
