package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// Version is the version of the format.
const Version = 1

// header is the first line.
type header struct {
	Cassette int `json:"parley_cassette"`
}

// entry is one line: an exchange with a model, or a run of a tool.
type entry struct {
	// Provider is set for an exchange, and Tool for a run.
	Provider string `json:"provider,omitempty"`
	Tool     string `json:"tool,omitempty"`
	// Hash identifies the request.
	Hash string `json:"hash"`
	// Request is the request without the ignored members, or the arguments of a tool.
	Request json.RawMessage `json:"request"`

	Chunks   []chunk         `json:"chunks,omitempty"`
	Response *response       `json:"response,omitempty"`
	Progress []tool.Progress `json:"progress,omitempty"`
	Result   *result         `json:"result,omitempty"`
	Error    *failure        `json:"error,omitempty"`
	// Cut is true if the caller canceled the call.
	Cut bool `json:"cut,omitempty"`

	place string // file and line
}

// succeeded reports whether the entry has an answer without an error.
func (e *entry) succeeded() bool { return e.Response != nil || e.Result != nil }

// text is a string that is decoded unchanged, even if it is not valid UTF-8.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return encode(string(t)), nil
	}
	return json.Marshal(map[string][]byte{"base64": []byte(t)})
}

func (t *text) UnmarshalJSON(raw []byte) error {
	var b struct {
		Base64 []byte `json:"base64"`
	}
	if json.Unmarshal(raw, (*string)(t)) == nil {
		return nil
	}
	err := json.Unmarshal(raw, &b)
	*t = text(b.Base64)
	return err
}

type chunk struct {
	Text      text       `json:"text,omitempty"`
	Refusal   text       `json:"refusal,omitempty"`
	Reasoning text       `json:"reasoning,omitempty"`
	Call      *chunkCall `json:"tool_call,omitempty"`
}

type chunkCall struct {
	Index     int    `json:"index"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments text   `json:"arguments,omitempty"`
}

func chunkOf(c llm.Chunk) chunk {
	k := chunk{Text: text(c.Text), Refusal: text(c.Refusal), Reasoning: text(c.Reasoning)}
	if t := c.ToolCall; t != nil {
		k.Call = &chunkCall{t.Index, t.ID, t.Name, text(t.Arguments)}
	}
	return k
}

func (k chunk) chunk() llm.Chunk {
	c := llm.Chunk{Text: string(k.Text), Refusal: string(k.Refusal), Reasoning: string(k.Reasoning)}
	if t := k.Call; t != nil {
		c.ToolCall = &llm.ToolCallChunk{Index: t.Index, ID: t.ID, Name: t.Name, Arguments: string(t.Arguments)}
	}
	return c
}

// response is an llm.Response whose texts are decoded unchanged.
type response struct {
	Text      text              `json:"text,omitempty"`
	ToolCalls []toolCall        `json:"tool_calls,omitempty"`
	Refusal   text              `json:"refusal,omitempty"`
	Finish    llm.FinishReason  `json:"finish"`
	Usage     *llm.Usage        `json:"usage,omitempty"`
	Model     string            `json:"model,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	Opaque    *opaque           `json:"opaque,omitempty"`
	Reasoning text              `json:"reasoning,omitempty"`
}

type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments text   `json:"arguments"`
}

// opaque has its JSON as a text, because a signature may cover its white space.
type opaque struct {
	Provider string `json:"provider"`
	Data     text   `json:"data"`
}

func responseOf(r *llm.Response) *response {
	k := &response{Text: text(r.Text), Refusal: text(r.Refusal), Finish: r.Finish, Usage: r.Usage, Model: r.Model,
		Metadata: r.Metadata, Reasoning: text(r.Reasoning)}
	for _, c := range r.ToolCalls {
		k.ToolCalls = append(k.ToolCalls, toolCall{c.ID, c.Name, text(c.Arguments)})
	}
	if r.Opaque != nil {
		k.Opaque = &opaque{r.Opaque.Provider, text(r.Opaque.Data)}
	}
	return k
}

// response returns a new copy for each caller.
func (k *response) response() *llm.Response {
	r := &llm.Response{Text: string(k.Text), Refusal: string(k.Refusal), Finish: k.Finish, Model: k.Model,
		Reasoning: string(k.Reasoning)}
	if k.Usage != nil {
		usage := *k.Usage
		r.Usage = &usage
	}
	for name, value := range k.Metadata {
		if r.Metadata == nil {
			r.Metadata = map[string]string{}
		}
		r.Metadata[name] = value
	}
	for _, c := range k.ToolCalls {
		r.ToolCalls = append(r.ToolCalls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
	}
	if k.Opaque != nil {
		r.Opaque = &llm.Opaque{Provider: k.Opaque.Provider, Data: json.RawMessage(k.Opaque.Data)}
	}
	return r
}

type result struct {
	Text    text   `json:"text"`
	Files   []file `json:"files,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
}

// file is an image of a result. Data is in base64.
type file struct {
	Name string `json:"name,omitempty"`
	Data []byte `json:"data"`
}

func resultOf(r *tool.Result) *result {
	k := &result{Text: text(r.Text), IsError: r.IsError}
	for _, f := range r.Files {
		k.Files = append(k.Files, file{f.Name, f.Data})
	}
	return k
}

func (k *result) result() (*tool.Result, error) {
	r := &tool.Result{Text: string(k.Text), IsError: k.IsError}
	for i, f := range k.Files {
		image, err := llm.NewImage(f.Name, f.Data)
		if err != nil {
			return nil, fmt.Errorf("files[%d]: %w", i, err)
		}
		r.Files = append(r.Files, image)
	}
	return r, nil
}

// failure is an error. An error of a provider is replayed as a ProviderError without its cause, and
// any other error with its text.
type failure struct {
	Provider     string       `json:"provider,omitempty"`
	Category     llm.Category `json:"category,omitempty"`
	Status       int          `json:"status,omitempty"`
	Code         string       `json:"code,omitempty"`
	RequestID    string       `json:"request_id,omitempty"`
	Retryable    bool         `json:"retryable,omitempty"`
	RetryAfterNs int64        `json:"retry_after_ns,omitempty"`
	Usage        *llm.Usage   `json:"usage,omitempty"`
	Message      text         `json:"message,omitempty"`
}

func failureOf(err error) *failure {
	var e *llm.ProviderError
	if !errors.As(err, &e) {
		return &failure{Message: text(err.Error())}
	}
	return &failure{
		Provider: e.Provider, Category: e.Category, Status: e.Status, Code: e.Code, RequestID: e.RequestID,
		Retryable:    e.Retryable,
		RetryAfterNs: e.RetryAfter.Nanoseconds(), Usage: e.Usage, Message: text(e.Message),
	}
}

func (k *failure) err() error {
	if k.Category == "" {
		return errors.New(string(k.Message))
	}
	return &llm.ProviderError{
		Provider: k.Provider, Category: k.Category, Status: k.Status, Code: k.Code, RequestID: k.RequestID,
		Retryable:  k.Retryable,
		RetryAfter: time.Duration(k.RetryAfterNs), Usage: k.Usage, Message: string(k.Message),
	}
}
