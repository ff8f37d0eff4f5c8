package scripted

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// Bounds of scripts.
const (
	MaxTurns     = 1000
	MaxTextBytes = yamlfile.MaxBytes
	maxCount     = 1_000_000_000
)

const pattern = "it contains this, or, between two /, matches this regular expression"

// table is all that a file can say. What it cannot say of a value is held against the others in check.go.
var table = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.May("description", shape.Prose("what the model is there for", MaxTextBytes)),
	shape.May("chunk", chunkSize),
	shape.May("delay", delay),
	shape.Must("turns", shape.ListOf("what it says: of those whose when holds the first", 1, MaxTurns, turnTable)),
}}

var (
	chunkSize = shape.Number("how many characters a piece of a stream has; absent, a word", 1, maxCount)
	delay     = shape.Line("how long it takes until each piece of a stream, such as 20ms; absent, no time", 32)
	status    = shape.Number("the HTTP status", 400, 599)
	count     = func(doc string) *shape.Shape { return shape.Number(doc, 0, maxCount) }
)

var turnTable = &shape.Shape{Kind: shape.Object, Doc: "an answer, and when it is given", Members: []shape.Member{
	shape.May("when", conditions("all of this must hold; absent, it always does")),
	shape.May("unless", conditions("not all of this may hold")),
	shape.May("once", shape.Switch("whether it is given only once; absent, false")),
	shape.May("text", textOf("what it says, with ${...} for what it was told")),
	shape.May("json", shape.Any("what it says, as JSON, with ${...} in texts", MaxTextBytes)),
	shape.May("tool_calls", shape.ListOf("the tools that it wants", 1, parley.MaxAgentTools, callTable)),
	shape.May("refusal", textOf("what it says when it declines")),
	shape.May("error", errorTable),
	shape.May("finish",
		shape.Among("why it stops; absent, as it is", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength,
			llm.FinishRefusal, llm.FinishOther)),
	shape.May("usage", usageTable),
	shape.May("model", shape.Line("the name of the model that has answered; absent, that of the file", 200)),
	shape.May("wait", shape.Line("how long it thinks before it says anything, such as 2s; absent, no time", 32)),
	shape.May("chunk", chunkSize),
	shape.May("delay", delay),
	shape.May("break_after", count("the connection ends after so many pieces of a stream")),
	shape.May("hang_after", count("nothing more comes after so many pieces of a stream")),
}}

func conditions(doc string) *shape.Shape {
	return &shape.Shape{Kind: shape.Object, Doc: doc, Members: []shape.Member{
		shape.May("step", shape.Number("which answer it is since the last message of a user, from 1", 1, maxCount)),
		shape.May("last", textOf("the last message of a user: "+pattern)),
		shape.May("said", textOf("a message that the model has said before: "+pattern)),
		shape.May("instructions", textOf("the instructions: "+pattern)),
		shape.May("params",
			shape.MapOf(
				"the values at these paths, such as case.id or items[0], of the JSON in what users have said, the latest that "+
					"has the path", 64, shape.Any("the value", MaxTextBytes))),
		shape.May("tool", toolName("a tool that has just given a result")),
		shape.May("result", textOf("a result that a tool, this one if it is named, has just given: "+pattern)),
		shape.May("failed", shape.Switch("whether that result is an error")),
		shape.May("offers", toolName("a tool that it may call")),
		shape.May("schema", shape.Switch("whether the answer has to match a schema")),
	}}
}

var callTable = &shape.Shape{Kind: shape.Object, Doc: "a call of a tool", Members: []shape.Member{
	shape.Must("name", toolName("the tool")),
	shape.May("id", shape.Line("the id of the call; absent, call_ and its number", 200)),
	shape.May("arguments", shape.Open("what it is called with, with ${...} in texts; absent, {}", MaxTextBytes)),
	shape.May("arguments_text", textOf("instead, what the model writes, which need not be JSON")),
}}

var errorTable = &shape.Shape{Kind: shape.Object, Doc: "a call that fails", Members: []shape.Member{
	shape.May("status", status),
	shape.May("category", shape.Among("what kind of fault it is; absent, what the status says", categories...)),
	shape.May("code", shape.Line("the vendor's name for it", 200)),
	shape.May("message", shape.Prose("what the vendor says", 4096)),
	shape.May("retry_after", shape.Line("how long nobody is to call, such as 2s", 32)),
}}

var categories = []llm.Category{
	llm.CategoryAuthentication, llm.CategoryRateLimit, llm.CategoryInvalid, llm.CategoryNotFound, llm.CategoryServer,
	llm.CategoryTimeout, llm.CategoryNetwork, llm.CategoryMalformed,
}

var usageTable = &shape.Shape{Kind: shape.Object, Doc: "the tokens that it tells of; absent, it tells none",
	Members: []shape.Member{
		shape.Must("prompt_tokens", count("of what it was told")),
		shape.Must("completion_tokens", count("of what it says")),
		shape.May("cache_read_tokens", count("of the prompt, read from the cache")),
		shape.May("cache_write_tokens", count("of the prompt, written to the cache")),
		shape.May("reasoning_tokens", count("of what it says, that nobody reads")),
	}}

func textOf(doc string) *shape.Shape { return shape.Prose(doc, MaxTextBytes) }

func toolName(doc string) *shape.Shape {
	return &shape.Shape{Kind: shape.Text, Doc: doc, Pattern: toolNames, Expected: "1 to 64 of A-Z a-z 0-9 _ -"}
}

var toolNames = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Schema gives the JSON Schema (draft 7) of a script, as it stands in docs/script.schema.json.
func Schema() []byte {
	o := table.Schema()
	o["title"] = "Parley script"
	o["description"] = "A file that is a model of the runtime scripted: what it says, by what it is asked."
	return yamlfile.EncodeSchema(o)
}

// content is what the table gives of a file.
type content struct {
	Chunk int     `json:"chunk"`
	Delay string  `json:"delay"`
	Turns []*turn `json:"turns"`
}

// turn is an answer, and when it is given.
type turn struct {
	When       when             `json:"when"`
	Unless     *when            `json:"unless"`
	Once       bool             `json:"once"`
	Text       string           `json:"text"`
	JSON       json.RawMessage  `json:"json"`
	ToolCalls  []call           `json:"tool_calls"`
	Refusal    string           `json:"refusal"`
	Error      *failure         `json:"error"`
	Finish     llm.FinishReason `json:"finish"`
	Usage      *llm.Usage       `json:"usage"`
	Model      string           `json:"model"`
	Wait       string           `json:"wait"`
	Chunk      int              `json:"chunk"`
	Delay      string           `json:"delay"`
	BreakAfter *int             `json:"break_after"`
	HangAfter  *int             `json:"hang_after"`

	pace pace
}

type call struct {
	Name          string          `json:"name"`
	ID            string          `json:"id"`
	Arguments     json.RawMessage `json:"arguments"`
	ArgumentsText string          `json:"arguments_text"`
}

type failure struct {
	Status     int          `json:"status"`
	Category   llm.Category `json:"category"`
	Code       string       `json:"code"`
	Message    string       `json:"message"`
	RetryAfter string       `json:"retry_after"`

	after time.Duration
}
