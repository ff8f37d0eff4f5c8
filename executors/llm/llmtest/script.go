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

// Setup is how a provider is tested. The fields that begin with No say what the vendor's API cannot express: the scripts then go without.
type Setup struct {
	// Provider makes a provider whose calls are answered by the exchanges of a script, in their order. It closes what it has started by t.Cleanup; Conformance closes the provider.
	Provider func(t *testing.T, s *Script) llm.Provider
	// Model and API stand in every request.
	Model string
	API   llm.API
	// NoRefusalText: a refusal has no words of its own. What Response.Refusal says is then up to the provider, but it says something.
	NoRefusalText bool
	// NoCacheRead, NoCacheWrite and NoReasoning: usage does not count them.
	NoCacheRead, NoCacheWrite, NoReasoning bool
	// NoOpaque: the provider has no form of its own of a message.
	NoOpaque bool
	// NoMalformed and NoBreak: there is no wire on which an answer could be wrong, or end early.
	NoMalformed, NoBreak bool
	// NoMetadata: there are no ids of the vendor.
	NoMetadata bool
	// Skip leaves cases out, by name, and says why.
	Skip map[string]string
}

// Exchange is one call, what the vendor must be told and what it answers.
type Exchange struct {
	// Request is what the provider is asked. No two exchanges of a script have the same text in their last message, but for a script whose
	// exchanges are all the same.
	Request llm.Request
	// Follows puts the conversation of the exchange before in front of Request.Messages: all its messages and the message of its response. ToolResult.CallID is then filled in with
	// the ids of that response, in order.
	Follows bool
	// Stream says that the call is made with emit.
	Stream bool

	// Want are texts that must stand somewhere in what the vendor is sent, and Never texts that must not. They are letters, digits, _ and - only, so they look the same in any encoding.
	Want, Never []string

	// Response is what the vendor answers. Its tool calls have ids, its usage may be nil (none is told), and Metadata and Opaque are for the vendor to choose.
	Response llm.Response
	// Chunks are the pieces in which a stream brings Response.Text, Response.Refusal and the tool calls: together they are the Response. A call of a tool begins with a chunk that has
	// ID and Name and no arguments.
	Chunks []llm.Chunk
	// Opaque is a text that the answer has to have within something that only the provider reads, as a signature. It stands in Want of an exchange that follows. Empty, there is none.
	Opaque string
	// Fault, where it is not nil, happens instead of or within the answer.
	Fault *Fault
}

// Fault is what goes wrong. Exactly one of Status, Break, Hang and Malformed is set.
type Fault struct {
	// Status is the HTTP status that the vendor answers with, in the vendor's form of an error with Message, and RetryAfter the header Retry-After of it, in whole seconds; 0, none.
	Status     int
	RetryAfter time.Duration
	Message    string
	// Break ends the connection, and Hang says nothing more until the caller has gone: in a stream after the first AfterChunks of Chunks were sent, else before there is an answer.
	Break, Hang bool
	AfterChunks int
	// Malformed answers with what is none of the API: Garbage with status 200; in a stream as the data of an event after AfterChunks.
	Malformed bool
}

// Garbage is no JSON.
const Garbage = `{"object": "response", "outp`

// Script is some exchanges, one after another. Its methods may be called from any goroutine.
type Script struct {
	// Name is that of the case.
	Name      string
	Exchanges []Exchange

	mu       sync.Mutex // guards the fields below
	next     int
	problems []string
}

// Take gives a vendor the exchange that it has to answer now, and holds body, all that it was sent, against Want and Never. What is wrong fails the test in the end; a call too many
// gives an error besides, which the vendor may answer with.
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
			s.problems = append(s.problems, fmt.Sprintf("call %d: expected %q in what the vendor is sent: %s", s.next, w, body))
		}
	}
	for _, n := range e.Never {
		if strings.Contains(body, n) {
			s.problems = append(s.problems,
				fmt.Sprintf("call %d: expected no %q in what the vendor is sent: %s", s.next, n, body))
		}
	}
	return e, nil
}

// Taken is how many exchanges the vendor has taken, and Problems what was wrong with what it was sent.
func (s *Script) Taken() (int, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next, append([]string(nil), s.problems...)
}

// Rewind lets the vendor begin anew.
func (s *Script) Rewind() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = 0
}

// Outcome is what came of one call.
type Outcome struct {
	Request  *llm.Request
	Response *llm.Response
	Chunks   []llm.Chunk
	Err      error
}

// Run makes the calls of a script, one after another, and gives what came of them. A call whose fault is Hang is cancelled once the chunks before have come. It ends at an error of a call that another
// exchange follows.
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

// follow goes on with a conversation, whose last message has been through JSON, as one that was kept in a log.
func follow(before *Outcome, with []llm.Message) []llm.Message {
	said := before.Response.Message()
	raw, err := json.Marshal(said)
	if err == nil {
		said = llm.Message{}
		err = json.Unmarshal(raw, &said)
	}
	if err != nil {
		panic(err) // a message is JSON
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

// textOf is all that chunks bring, for their order does not matter between kinds.
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
