package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley/sdk/sdktest"
)

// effects are the annotations of each tool: read-only, destructive, idempotent, open world.
var effects = map[string]string{
	"list_conversations":    "reads idempotent",
	"create_conversation":   "",
	"wait_for_updates":      "reads idempotent",
	"post_message":          "",
	"read_conversation":     "reads idempotent",
	"read_attachment":       "reads idempotent",
	"close_conversation":    "destroys idempotent",
	"list_agent_blueprints": "reads idempotent",
	"start_agent_session":   "open",
	"get_agent_session":     "reads idempotent",
	"stop_agent_session":    "destroys idempotent",
	"list_approvals":        "reads idempotent",
	"answer_approval":       "destroys idempotent",
}

// defaults are the default values of arguments, and bounds the minimum and maximum of numbers.
var (
	defaults = map[string]string{
		"list_conversations.limit": "50", "create_conversation.policy": `"round_robin"`,
		"wait_for_updates.until": `"my_turn"`, "wait_for_updates.wait_seconds": "20",
		"post_message.finality": `"turn"`, "read_conversation.limit": "50", "close_conversation.outcome": `"completed"`,
		"start_agent_session.mode":         `"sync"`,
		"start_agent_session.wait_seconds": "50", "get_agent_session.wait_seconds": "0", "list_approvals.status": `"pending"`,
	}
	bounds = map[string]string{
		"list_conversations.limit": "1 100", "wait_for_updates.wait_seconds": "0 3600", "read_conversation.limit": "1 " +
			"50", "start_agent_session.wait_seconds": "0 3600",
		"get_agent_session.wait_seconds": "0 3600",
	}
)

// schema has the members of a JSON Schema that the tests check.
type schema struct {
	Type                 any
	Description          string
	Default              json.RawMessage
	Enum                 []any
	Minimum, Maximum     *float64
	MaxLength, MaxItems  *int
	Properties           map[string]*schema
	Items                *schema
	AnyOf                []*schema
	AdditionalProperties json.RawMessage
}

func toolsOf(t *testing.T, i *ide) map[string]*protocol.Tool {
	t.Helper()
	list, err := i.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*protocol.Tool{}
	for _, tool := range list.Tools {
		all[tool.Name] = tool
	}
	return all
}

func schemaOf(t *testing.T, from any) *schema {
	t.Helper()
	s := &schema{}
	if err := json.Unmarshal(raw(t, from), s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Each tool has a title, a description and all four annotations. Each argument is described and
// bounded, and no other arguments are accepted.
func TestToolsAreDescribed(t *testing.T) {
	t.Parallel()
	tools := toolsOf(t, newIDE(t, sdktest.NewHub(t), "alice", nil))
	if got, want := slices.Sorted(maps.Keys(tools)), slices.Sorted(maps.Keys(effects)); !slices.Equal(got, want) {
		t.Errorf("tools %v, expected %v", got, want)
	}
	seen := map[string]string{}
	for name, tool := range tools {
		a := tool.Annotations
		if tool.Title == "" || utf8.RuneCountInString(tool.Description) < 40 {
			t.Errorf("%s: title %q, description %q", name, tool.Title, tool.Description)
		}
		if a == nil || a.Title != tool.Title || a.DestructiveHint == nil || a.OpenWorldHint == nil {
			t.Errorf("%s: annotations %+v", name, a)
			continue
		}
		if got := effectOf(a); got != effects[name] {
			t.Errorf("%s: its effect is %q, expected %q", name, got, effects[name])
		}
		s := schemaOf(t, tool.InputSchema)
		s.described(t, name)
		for argument, p := range s.Properties {
			if p.Default != nil {
				seen[name+"."+argument] = string(p.Default)
			}
			if p.Maximum == nil {
				continue
			}
			if got := fmt.Sprint(*p.Minimum, *p.Maximum); bounds[name+"."+argument] != got {
				t.Errorf("%s.%s: from %s, expected %q", name, argument, got, bounds[name+"."+argument])
			}
		}
	}
	if !maps.Equal(seen, defaults) {
		t.Errorf("defaults %v, expected %v", seen, defaults)
	}
}

func effectOf(a *protocol.ToolAnnotations) string {
	var words []string
	for _, w := range []struct {
		is   bool
		word string
	}{{a.ReadOnlyHint, "reads"}, {*a.DestructiveHint, "destroys"}, {a.IdempotentHint, "idempotent"}, {*a.OpenWorldHint,
		"open"}} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// described fails for an argument without a description or without a limit of its size.
func (s *schema) described(t *testing.T, path string) {
	t.Helper()
	if string(s.AdditionalProperties) != "false" {
		t.Errorf("%s: misspelled arguments are accepted: %s", path, s.AdditionalProperties)
	}
	for name, p := range s.Properties {
		at := path + "." + name
		if utf8.RuneCountInString(p.Description) < 8 {
			t.Errorf("%s is not described: %q", at, p.Description)
		}
		switch p.Type {
		case "string":
			if p.MaxLength == nil && p.Enum == nil {
				t.Errorf("%s: a text of any length", at)
			}
		case "integer", "number":
			if p.Minimum == nil {
				t.Errorf("%s: a number of any size", at)
			}
		case "array":
			if p.MaxItems == nil {
				t.Errorf("%s: any number of items", at)
			}
			p.Items.described(t, at)
		case "object", "boolean":
		case nil:
			if len(p.AnyOf) == 0 {
				t.Errorf("%s has no type", at)
			}
		default:
			t.Errorf("%s: type %v", at, p.Type)
		}
	}
}

// Each tool has an output schema for strict clients: an object in which each member has one type,
// never a list of types.
func TestResultsAreDescribed(t *testing.T) {
	t.Parallel()
	for name, tool := range toolsOf(t, newIDE(t, sdktest.NewHub(t), "alice", nil)) {
		s := schemaOf(t, tool.OutputSchema)
		if s.Type != "object" || len(s.Properties) == 0 {
			t.Errorf("%s: a result of type %v with %d fields", name, s.Type, len(s.Properties))
		}
		s.strict(t, name)
	}
}

func (s *schema) strict(t *testing.T, path string) {
	t.Helper()
	if _, ok := s.Type.(string); !ok && len(s.AnyOf) == 0 {
		t.Errorf("%s: type %v", path, s.Type)
	}
	for name, p := range s.Properties {
		p.strict(t, path+"."+name)
	}
	if s.Items != nil {
		s.Items.strict(t, path+"[]")
	}
}

// The loop comes first, in the order of its steps, so that clients that cut the text keep it.
func TestInstructions(t *testing.T) {
	t.Parallel()
	text := newIDE(t, sdktest.NewHub(t), "alice", nil).session.InitializeResult().Instructions
	if n := utf8.RuneCountInString(text); n >= 2000 {
		t.Errorf("%d characters", n)
	}
	at := 0
	for _, step := range []string{"wait_for_updates", "guidance", "may_speak", "post_message", "Continue with step 1",
		"closed", "list_conversations", "start_agent_session", "answer_approval"} {
		i := strings.Index(text[at:], step)
		if i < 0 {
			t.Fatalf("%q does not come after %q", step, text[:at])
		}
		at += i
	}
	for name := range effects {
		if i := strings.Index(text, name); i >= 0 && i < strings.Index(text, "wait_for_updates") {
			t.Errorf("%s is named before the loop", name)
		}
	}
}
