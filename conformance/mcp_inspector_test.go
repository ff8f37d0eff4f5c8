package conformance

import (
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

// inspectorCLI is the inspector of the protocol's makers, which is a client on the command line
// too.
const inspectorCLI = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"

// inspector calls one server in one era, with a separate process for each call.
type inspector struct {
	t         *testing.T
	strangers *strangers
	// target is how it reaches the server.
	target []string
	era    string
}

// run runs the inspector, which must end with code 0, and reads its result.
func (i *inspector) run(into any, args ...string) (stdout string) {
	i.t.Helper()
	r := i.start(args...)
	var envelope struct{ Result json.RawMessage }
	err := json.Unmarshal([]byte(r.stdout), &envelope)
	if err == nil {
		err = json.Unmarshal(envelope.Result, into)
	}
	if r.code != 0 || err != nil {
		i.t.Fatalf("%s: code %d, %v\n%s%s", strings.Join(args, " "), r.code, err, r.stdout, r.stderr)
	}
	return r.stdout
}

func (i *inspector) start(args ...string) ran {
	i.t.Helper()
	return i.strangers.run(i.t, inspectorCLI, slices.Concat([]string{"--cli"}, i.target, []string{"--protocol-era", i.era,
		"--format", "json"}, args)...)
}

// answer is the output of a tool, in the fields that the test checks.
type answer struct {
	StructuredContent struct {
		ConversationID string `json:"conversation_id"`
		SinceSeq       int64  `json:"since_seq"`
		MaySpeak       bool   `json:"may_speak"`
		Status         string
		Messages       []struct{ From, Text string }
	}
	Content []struct{ Text string }
	// Meta names the server in the era without sessions: there it has not said its name before.
	Meta map[string]any `json:"_meta"`
}

// call calls a tool that must not refuse.
func (i *inspector) call(tool string, arguments map[string]any) *answer {
	i.t.Helper()
	a := &answer{}
	i.run(a, toolArgs(i.t, tool, arguments)...)
	if len(a.Content) != 1 || a.Content[0].Text == "" {
		i.t.Errorf("%s says nothing in words", tool)
	}
	if _, named := a.Meta["io.modelcontextprotocol/serverInfo"]; named != (i.era == "modern") {
		i.t.Errorf("%s was called in another era than %s", tool, i.era)
	}
	return a
}

func toolArgs(t *testing.T, tool string, arguments map[string]any) []string {
	t.Helper()
	raw, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(raw)}
}

// TestMCPInspector: the inspector finds nothing about the tools that a client could not take, and
// takes part in a conversation, over stdio and HTTP, in both eras.
func TestMCPInspector(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, "mcp")
	h := program.Start(t, t.TempDir(), "--mcp")
	token := aliceToken(t, h)
	t.Run("all", func(t *testing.T) { // ends when they all have
		for door, target := range map[string][]string{
			"http":  {h.HTTP() + "/mcp", "--header", "Authorization: Bearer " + token},
			"stdio": {string(program), "mcp", "-e", "PARLEY_URL=" + h.URL, "-e", "PARLEY_TOKEN=" + token},
		} {
			for _, era := range []string{"legacy", "modern"} {
				t.Run(door+"/"+era, func(t *testing.T) {
					t.Parallel()
					i := &inspector{t, s, target, era}
					i.lint()
					i.converse(h)
				})
			}
		}
	})
	h.Stop(t)
}

// lint lists the tools, and fails for whatever the inspector has to say of one, though it be a
// warning.
func (i *inspector) lint() {
	i.t.Helper()
	var list struct{ Tools []struct{ Name string } }
	out := i.run(&list, "--method", "tools/list", "--strict")
	var envelope struct {
		SchemaFindings []struct {
			ToolName string
			Findings []struct{ Severity, Schema, Path, Issue string }
		}
	}
	if err := json.Unmarshal([]byte(out), &envelope); err != nil {
		i.t.Fatal(err)
	}
	for _, tool := range envelope.SchemaFindings {
		for _, f := range tool.Findings {
			i.t.Errorf("%s: %s: %s.%s: %s", f.Severity, tool.ToolName, f.Schema, f.Path, f.Issue)
		}
	}
	names := make([]string, 0, len(list.Tools))
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	for _, want := range []string{"create_conversation", "wait_for_updates", "post_message", "close_conversation",
		"start_agent_session"} {
		if !slices.Contains(names, want) {
			i.t.Errorf("%s is not among %v", want, names)
		}
	}
}

// converse takes part in a conversation of alice and bob from its beginning to its end, as alice.
func (i *inspector) converse(h *hubproc.Hub) {
	i.t.Helper()
	made := i.call("create_conversation", map[string]any{
		"title": "Lunch", "participants": []map[string]any{{"id": "alice", "kind": "human"}, {"id": "bob", "kind": "human"}},
	}).StructuredContent
	with := func(more map[string]any) map[string]any {
		maps.Copy(more, map[string]any{"conversation_id": made.ConversationID})
		return more
	}
	said := i.call("post_message",
		with(map[string]any{"since_seq": made.SinceSeq, "text": "Soup or salad?"})).StructuredContent
	// Not her turn: refused with an error code of the tool.
	if r := i.start(toolArgs(i.t, "post_message",
		with(map[string]any{"since_seq": said.SinceSeq, "text": "Well?"}))...); r.code != 5 ||
		!strings.Contains(r.stdout, "not_your_turn") {
		i.t.Errorf("out of turn: code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	i.read(made.ConversationID)
	bob := exec.Command(string(program), "send", made.ConversationID, "Soup.", "--as", "bob")
	bob.Env = hubEnv(h)
	if err := bob.Start(); err != nil {
		i.t.Fatal(err)
	}
	heard := i.call("wait_for_updates", with(map[string]any{"since_seq": said.SinceSeq})).StructuredContent
	if err := bob.Wait(); err != nil {
		i.t.Errorf("bob: %v", err)
	}
	if !heard.MaySpeak || len(heard.Messages) != 1 || heard.Messages[0].From != "bob" ||
		heard.Messages[0].Text != "Soup." {
		i.t.Errorf("waited for bob: %+v", heard)
	}
	i.call("close_conversation", with(map[string]any{"since_seq": heard.SinceSeq, "text": "Good.", "reason": "decided"}))
	if end := i.call("wait_for_updates",
		with(map[string]any{"since_seq": heard.SinceSeq})).StructuredContent; end.Status != "closed" ||
		len(end.Messages) != 1 {
		i.t.Errorf("after the end: %+v", end)
	}
}

// read reads the conversation as a resource, and asks for the prompt to join it.
func (i *inspector) read(id string) {
	i.t.Helper()
	var resource struct{ Contents []struct{ URI, Text string } }
	i.run(&resource, "--method", "resources/read", "--uri", "parley://conversations/"+id)
	if len(resource.Contents) != 1 || !strings.Contains(resource.Contents[0].Text, `"bob"`) {
		i.t.Errorf("the resource: %+v", resource)
	}
	var prompt struct {
		Messages []struct{ Content struct{ Text string } }
	}
	i.run(&prompt, "--method", "prompts/get", "--prompt-name", "join_conversation", "--prompt-args", "conversation_id="+id)
	if len(prompt.Messages) == 0 || !strings.Contains(prompt.Messages[0].Content.Text, id) {
		i.t.Errorf("the prompt: %+v", prompt)
	}
}
