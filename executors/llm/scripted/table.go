package scripted

import (
	"encoding/json"
	"regexp"
	"time"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// Limits of scripts.
const (
	MaxTurns     = 1000
	MaxTextBytes = yamlfile.MaxBytes
	maxCount     = 1_000_000_000
)

const pattern = "text that it contains, or a regular expression between two slashes that it matches"

// table defines the members of a file. check.go has the rules that it cannot express.
var table = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.May("description", shape.Prose("the purpose of the model", MaxTextBytes)),
	shape.May("chunk", chunkSize),
	shape.May("delay", delay),
	shape.Must("turns", shape.ListOf("the answers; the first turn whose conditions hold is used", 1, MaxTurns, turnTable)),
}}

var (
	chunkSize = shape.Number("the number of characters in a chunk of a stream; absent, a word", 1, maxCount)
	delay     = shape.Line("the pause before each chunk of a stream, such as 20ms; absent, none", 32)
	status    = shape.Number("the HTTP status", 400, 599)
	count     = func(doc string) *shape.Shape { return shape.Number(doc, 0, maxCount) }
)

var turnTable = &shape.Shape{Kind: shape.Object, Doc: "an answer and its conditions", Members: []shape.Member{
	shape.May("when", conditions("conditions that must all hold; absent, the turn always matches")),
	shape.May("unless", conditions("conditions of which at least one must not hold")),
	shape.May("once", shape.Switch("whether the turn is used only once; absent, false")),
	shape.May("text", textOf("the text of the answer, with ${...} for values of the request")),
	shape.May("json", shape.Any("the answer as JSON, with ${...} in strings", MaxTextBytes)),
	shape.May("tool_calls", shape.ListOf("the tool calls of the answer", 1, limits.MaxAgentTools, callTable)),
	shape.May("refusal", textOf("the text of a refusal")),
	shape.May("error", errorTable),
	shape.May("finish",
		shape.Among("the finish reason; absent, it follows from the answer", llm.FinishStop, llm.FinishToolCalls, llm.FinishLength,
			llm.FinishRefusal, llm.FinishOther)),
	shape.May("usage", usageTable),
	shape.May("model", shape.Line("the name of the model in the answer; absent, the name of the file", 200)),
	shape.May("wait", shape.Line("the pause before the answer, such as 2s; absent, none", 32)),
	shape.May("chunk", chunkSize),
	shape.May("delay", delay),
	shape.May("break_after", count("the number of chunks after which the connection breaks")),
	shape.May("hang_after", count("the number of chunks after which the stream hangs")),
}}

func conditions(doc string) *shape.Shape {
	return &shape.Shape{Kind: shape.Object, Doc: doc, Members: []shape.Member{
		shape.May("step", shape.Number("the number of the answer since the last message of a user, from 1", 1, maxCount)),
		shape.May("last", textOf("the last message of a user: "+pattern)),
		shape.May("said", textOf("an earlier message of the model: "+pattern)),
		shape.May("instructions", textOf("the instructions: "+pattern)),
		shape.May("params",
			shape.MapOf(
				"the values at these paths, such as case.id or items[0], of the JSON in messages of users; the latest message "+
					"with the path is used", 64, shape.Any("the value", MaxTextBytes))),
		shape.May("tool", toolName("a tool with a result in the last message")),
		shape.May("result", textOf("a result of that tool, or of any tool, in the last message: "+pattern)),
		shape.May("failed", shape.Switch("whether that result is an error")),
		shape.May("offers", toolName("a tool that the model may call")),
		shape.May("schema", shape.Switch("whether the answer must match a schema")),
	}}
}

var callTable = &shape.Shape{Kind: shape.Object, Doc: "a call of a tool", Members: []shape.Member{
	shape.Must("name", toolName("the tool")),
	shape.May("id", shape.Line("the id of the call; absent, call_ and its number", 200)),
	shape.May("arguments", shape.Open("the arguments, with ${...} in strings; absent, {}", MaxTextBytes)),
	shape.May("arguments_text", textOf("the arguments as text, which need not be JSON")),
}}

var errorTable = &shape.Shape{Kind: shape.Object, Doc: "a call that fails", Members: []shape.Member{
	shape.May("status", status),
	shape.May("category", shape.Among("the kind of failure; absent, it follows from the status", categories...)),
	shape.May("code", shape.Line("the error code of the vendor", 200)),
	shape.May("message", shape.Prose("the message of the vendor", 4096)),
	shape.May("retry_after", shape.Line("the pause that the vendor asks for, such as 2s", 32)),
}}

var categories = []llm.Category{
	llm.CategoryAuthentication, llm.CategoryRateLimit, llm.CategoryInvalid, llm.CategoryNotFound, llm.CategoryServer,
	llm.CategoryTimeout, llm.CategoryNetwork, llm.CategoryMalformed, llm.CategoryQuota, llm.CategoryContext,
	llm.CategoryFilter,
	"authentication", "server", // earlier names, see llm.Category
}

var usageTable = &shape.Shape{Kind: shape.Object, Doc: "the reported tokens; absent, none are reported",
	Members: []shape.Member{
		shape.Must("prompt_tokens", count("tokens of the prompt")),
		shape.Must("completion_tokens", count("tokens of the answer")),
		shape.May("cache_read_tokens", count("prompt tokens that were read from the cache")),
		shape.May("cache_write_tokens", count("prompt tokens that were written to the cache")),
		shape.May("reasoning_tokens", count("answer tokens that are hidden reasoning")),
	}}

func textOf(doc string) *shape.Shape { return shape.Prose(doc, MaxTextBytes) }

func toolName(doc string) *shape.Shape {
	return &shape.Shape{Kind: shape.Text, Doc: doc, Pattern: toolNames, Expected: "1 to 64 of A-Z a-z 0-9 _ -"}
}

var toolNames = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Schema returns the JSON Schema (draft 7) of a script, which is docs/script.schema.json.
func Schema() []byte {
	o := table.Schema()
	o["title"] = "Parley script"
	o["description"] = "A model of the runtime scripted: its answers by request."
	return yamlfile.EncodeSchema(o)
}

// content is the content of a file.
type content struct {
	Chunk int     `json:"chunk"`
	Delay string  `json:"delay"`
	Turns []*turn `json:"turns"`
}

// turn is an answer and its conditions.
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
