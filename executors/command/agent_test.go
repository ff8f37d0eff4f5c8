//go:build linux

package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/command"
)

// The document on stdin matches the schema in docs.
func TestDocument(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "stdin")
	if outcome, err := s.handle(t, t.Context(), program(t, "keep", file)); err != nil || outcome != parley.TurnPosted {
		t.Fatal(outcome, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var any any
	if err := json.Unmarshal(text, &any); err != nil {
		t.Fatal(err)
	}
	if err := schema(t, "command-input.schema.json").Validate(any); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	var d command.Document
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	c := d.Conversation
	if c.You != "ann" || c.Private != "what ann knows" || c.Title != "a case" || string(c.Metadata) != `{"case":7}` ||
		len(c.Participants) != 2 ||
		d.Turn != 1 || d.Attempt != 1 || d.DeadlineMs == 0 || d.Guidance.Kind != parley.MaySpeak || len(d.Messages) != 0 {
		t.Errorf("the document is %s", text)
	}
	if strings.Contains(string(text), "what bob knows") {
		t.Error("the document has the private text of another participant")
	}
	if got := s.said(t); !slices.Equal(got, []string{"turn done"}) {
		t.Errorf("posted %q", got)
	}
}

// The newest messages over several pages are in the document, and older ones beyond the limit are
// omitted.
func TestMessagesSinceTheLastTurn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	s := newStage(t)
	bob := s.hub.InProcess(t, "bob")
	if _, err := s.client.SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: s.id, Payload: json.RawMessage(`{"text":"first"}`), Finality: parley.FinalityTurn,
	}); err != nil {
		t.Fatal(err)
	}
	const each, count = 500 << 10, 12
	for n := range count {
		f := parley.FinalityNone
		if n == count-1 {
			f = parley.FinalityTurn
		}
		payload, _ := json.Marshal(parley.Message{Text: fmt.Sprint(n, strings.Repeat("x", each))})
		if _, err := bob.SendMessage(t.Context(),
			&parley.SendMessageParams{ConversationID: s.id, Payload: payload, Finality: f}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "stdin")
	turn := s.turn(3)
	turn.SinceSeq = s.events(t, parley.TypeMessage)[0].Seq
	if outcome, err := program(t, "deaf").HandleTurn(t.Context(), turn); outcome != parley.TurnYield || err != nil {
		t.Errorf("a program that does not read stdin: %q, %v", outcome, err)
	}
	if _, err := program(t, "keep", file).HandleTurn(t.Context(), turn); err != nil {
		t.Fatal(err)
	}
	var d command.Document
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &d) != nil {
		t.Fatal(err)
	}
	if len(text) > command.MaxMessagesBytes+64<<10 || len(d.Messages) < 7 || d.Omitted+len(d.Messages) != count {
		t.Errorf("%d bytes with %d messages, %d omitted", len(text), len(d.Messages), d.Omitted)
	}
	if last, err := d.Messages[len(d.Messages)-1].Message(); err != nil || !strings.HasPrefix(last.Text, "11x") {
		t.Errorf("the last message is another: %v", err)
	}
}

// TestSpeech compares the posts of programs and the ends of their turns.
func TestSpeech(t *testing.T) {
	for name, c := range map[string]struct {
		lines   []string
		said    []string
		outcome parley.TurnOutcome
	}{
		"text":             {[]string{`{\"text\":\"hello\"}\n`}, []string{"turn hello"}, parley.TurnPosted},
		"no end of line":   {[]string{`{\"text\":\"hello\"}`}, []string{"turn hello"}, parley.TurnPosted},
		"ends of Windows":  {[]string{`{\"text\":\"hello\"}\r\n\r\n`}, []string{"turn hello"}, parley.TurnPosted},
		"blank lines":      {[]string{`\n  \n{\"text\":\"hello\"}\n\n\t\n`}, []string{"turn hello"}, parley.TurnPosted},
		"spelled out":      {[]string{`{\"text\":\"hello\",\"finality\":\"turn\"}\n`}, []string{"turn hello"}, parley.TurnPosted},
		"progress first":   {[]string{`{\"progress\":\"wait\"}\n`, `{\"text\":\"hello\"}\n`}, []string{"none wait", "turn hello"}, parley.TurnPosted},
		"finality none":    {[]string{`{\"text\":\"wait\",\"finality\":\"none\"}\n{\"text\":\"hello\"}`}, []string{"none wait", "turn hello"}, parley.TurnPosted},
		"conversation":     {[]string{`{\"text\":\"bye\",\"finality\":\"conversation\"}\n`}, []string{"conversation bye"}, parley.TurnComplete},
		"outcome":          {[]string{`{\"text\":\"no\",\"finality\":\"conversation\",\"outcome\":{\"status\":\"failed\",\"reason\":\"x\"}}\n`}, []string{"conversation no"}, parley.TurnComplete},
		"yield":            {[]string{`{\"progress\":\"wait\"}\n{\"yield\":true}\n`}, []string{"none wait"}, parley.TurnYield},
		"yield at once":    {[]string{`{\"yield\":true}`}, nil, parley.TurnYield},
		"nothing":          {nil, nil, parley.TurnPosted},
		"progress alone":   {[]string{`{\"progress\":\"wait\"}\n`}, []string{"none wait"}, parley.TurnPosted},
		"NUL in the text":  {[]string{`{\"text\":\"a\\u0000b\"}\n`}, []string{"turn a\x00b"}, parley.TurnPosted},
		"a whole pair":     {[]string{`{\"text\":\"\\ud83d\\ude00\"}\n`}, []string{"turn \U0001f600"}, parley.TurnPosted},
		"deltas in a turn": {[]string{`{\"progress\":\"wait\"}\n{\"delta\":\"he\"}\n{\"delta\":\"llo\"}\n{\"text\":\"hello\"}\n`}, []string{"none wait", "turn hello"}, parley.TurnPosted},
		"deltas first":     {[]string{`{\"delta\":\"he\"}\n{\"delta\":\"llo\"}\n{\"text\":\"hello\"}\n`}, []string{"turn hello"}, parley.TurnPosted},
		"looks like more":  {[]string{`{\"text\":\"{\\\"finality\\\":\\\"conversation\\\"}\"}\n`}, []string{`turn {"finality":"conversation"}`}, parley.TurnPosted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			outcome, err := s.handle(t, t.Context(), program(t, "lines", append([]string{"0"}, c.lines...)...))
			if err != nil || outcome != c.outcome {
				t.Errorf("outcome %q, %v", outcome, err)
			}
			if got := s.said(t); !slices.Equal(got, c.said) {
				t.Errorf("posted %q, expected %q", got, c.said)
			}
		})
	}
}

// An invalid line fails the attempt with an error that names the line, and the turn does not end.
func TestBadLines(t *testing.T) {
	for name, c := range map[string]struct{ lines, told string }{
		"no JSON":          {`hello\n`, `line 1 of the program's stdout: "hello" is not a JSON object: expected one such as {"text":"hello"}`},
		"the third":        {`{\"progress\":\"a\"}\n\n{\"text\":7}\n`, `line 3 of the program's stdout: text is "7": expected a string that is not empty`},
		"a list":           {`[{\"text\":\"a\"}]\n`, `is not a JSON object`},
		"two objects":      {`{\"text\":\"a\"}{\"text\":\"b\"}\n`, `is not a JSON object`},
		"over two lines":   {`{\"text\":\n\"a\"}\n`, `line 1 of`},
		"not UTF-8":        {`{\"text\":\"\xff\"}\n`, `invalid UTF-8`},
		"NUL":              {`{\"text\":\"a\x00b\"}\n`, `is not a JSON object`},
		"half a pair":      {`{\"text\":\"\\ud83d\"}\n`, `half of a surrogate pair`},
		"twice":            {`{\"text\":\"a\",\"text\":\"b\"}\n`, `duplicate member`},
		"another case":     {`{\"Text\":\"a\"}\n`, `unknown member "Text": expected one of text, data`},
		"a slip":           {`{\"text\":\"a\",\"finalty\":\"none\"}\n`, `unknown member "finalty"`},
		"no such finality": {`{\"text\":\"a\",\"finality\":\"done\"}\n`, `finality is "\"done\"": expected none, turn or conversation`},
		"nothing to say":   {`{\"finality\":\"turn\"}\n`, `expected text, data, attachments or files`},
		"an empty text":    {`{\"text\":\"\"}\n`, `expected a string that is not empty`},
		"yield false":      {`{\"yield\":false}\n`, `yield is "false": expected true`},
		"yield and text":   {`{\"yield\":true,\"text\":\"a\"}\n`, `expected yield alone`},
		"next and none":    {`{\"text\":\"a\",\"finality\":\"none\",\"next\":\"bob\"}\n`, `next with finality none: expected finality turn`},
		"outcome and turn": {`{\"text\":\"a\",\"outcome\":{\"status\":\"failed\"}}\n`, `outcome with finality turn`},
		"odd outcome":      {`{\"text\":\"a\",\"finality\":\"conversation\",\"outcome\":{\"status\":\"great\"}}\n`, `expected completed, failed or canceled`},
		"trace no kind":    {`{\"trace\":{\"text\":\"a\"}}\n`, `missing trace.kind`},
		"trace and more":   {`{\"trace\":{\"kind\":\"a\",\"more\":1}}\n`, `unknown member trace.more: expected one of kind, text, data`},
		"after the final":  {`{\"text\":\"a\"}\n{\"progress\":\"b\"}\n`, `line 2 of the program's stdout: unexpected line after the line that ends the turn`},
		"two finals":       {`{\"text\":\"a\"}\n{\"text\":\"b\"}\n`, `line 2 of`},
		"broken off":       {`{\"text\":\"a`, `line 1 of`},
		"refused":          {`{\"text\":\"a\",\"next\":\"bob\"}\n`, `turnHint`},
		"too deep":         {`{\"data\":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `}\n`, `nests`},
		"file and no file": {`{\"files\":[{\"name\":\"a\"}]}\n`, `files[0]: expected either path or base64`},
		"no such file":     {`{\"files\":[{\"path\":\"/isAmbiguous/at/all\"}]}\n`, `no such file`},
		"a device":         {`{\"files\":[{\"path\":\"/dev/zero\"}]}\n`, `expected a regular file`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			_, err := s.handle(t, t.Context(), program(t, "lines", "0", c.lines))
			if err == nil || !strings.Contains(err.Error(), c.told) {
				t.Errorf("error %v, expected %q in it", err, c.told)
			}
			for _, text := range s.said(t) {
				if !strings.HasPrefix(text, "none ") {
					t.Errorf("posted %q", text)
				}
			}
		})
	}
}

// The final line of a program counts only if the program succeeds.
func TestExitCode(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	_, err := s.handle(t, t.Context(), program(t, "lines", "7", `{\"progress\":\"a\"}\n{\"text\":\"b\"}\n{\"te`))
	if err == nil || err.Error() != "the program has failed: exit status 7" {
		t.Errorf("error %v", err)
	}
	if got := s.said(t); !slices.Equal(got, []string{"none a"}) {
		t.Errorf("posted %q", got)
	}
}

// Arguments are passed on unchanged.
func TestNoShell(t *testing.T) {
	t.Parallel()
	args := []string{"; rm -rf /", "$(id)", "a\nb", "*", "", "--flag", `"quoted"`, "`id`", "é"}
	if got := given(t, program(t, "look", args...)); !slices.Equal(got.Args, args) {
		t.Errorf("arguments %q, expected %q", got.Args, args)
	}
}

// givenThings is the output of the program look.
type givenThings struct {
	Args, Env, Files []string
	Dir              string
	Alone            bool
}

// given runs the program look.
func given(t *testing.T, a *command.Agent) (g givenThings) {
	t.Helper()
	s := newStage(t)
	if _, err := s.handle(t, t.Context(), a); err != nil {
		t.Fatal(err)
	}
	m, err := s.events(t, parley.TypeMessage)[0].Message()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m.Data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// The program gets only the documented variables, no files of this process, and a separate process
// group.
func TestEnvironment(t *testing.T) {
	t.Setenv("SECRET_OF_THE_RUNNER", "x")
	t.Setenv("PARLEY_TOKEN", "plt_of_the_runner")
	t.Setenv("LANG", "C.UTF-8")
	a := program(t, "look")
	a.Env = []string{"DECLARED=a=b c"}
	a.Dir = t.TempDir()
	got := given(t, a)
	var names []string
	for _, v := range got.Env {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
		if !slices.Contains([]string{"PATH", "HOME", "TZ", "LANG", "TMPDIR", "DECLARED", "PARLEY_AGENT", "PARLEY_CONVERSATION", "PARLEY_TURN"}, name) {
			t.Errorf("the program got %s", v)
		}
	}
	for _, v := range []string{"DECLARED=a=b c", "LANG=C.UTF-8", "PARLEY_AGENT=ann", "PARLEY_TURN=1"} {
		if !slices.Contains(got.Env, v) {
			t.Errorf("the program did not get %s, but %q", v, names)
		}
	}
	if real, _ := filepath.EvalSymlinks(a.Dir); got.Dir != real || !got.Alone {
		t.Errorf("it runs in %s, alone in its group: %t", got.Dir, got.Alone)
	}
	for _, file := range got.Files {
		if strings.Contains(file, unmarkedFile) {
			t.Errorf("it got the file %s", file)
		}
	}
}

// TestCheck reports errors before a turn.
func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*command.Agent{
		"nothing":       {},
		"absent":        {Argv: []string{"no-such-program-anywhere"}},
		"no program":    {Argv: []string{plain}},
		"no directory":  {Argv: []string{"sh"}, Dir: plain},
		"no value":      {Argv: []string{"sh"}, Env: []string{"NAME"}},
		"no name":       {Argv: []string{"sh"}, Env: []string{"=x"}},
		"NUL":           {Argv: []string{"sh"}, Env: []string{"A=\x00"}},
		"reserved":      {Argv: []string{"sh"}, Env: []string{"PARLEY_TOKEN=x"}},
		"reserved, too": {Argv: []string{"sh"}, Env: []string{"parley_token=x"}},
	} {
		if err := a.Check(); err == nil {
			t.Errorf("%s: Check found no error", name)
		}
	}
	for _, a := range []*command.Agent{{Argv: []string{"sh"}}, {Argv: []string{"./run"}, Dir: dir}, {Argv: []string{"sh"}, Env: []string{"A="}}} {
		if err := a.Check(); err != nil {
			t.Error(err)
		}
	}
}

// Files of a message are added to the conversation, even if the program removes them before it
// ends.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	a := program(t, "lines", "0", `{\"text\":\"see\",\"files\":[{\"path\":\"note.txt\",\"mediaType\":\"text/plain\"},{\"base64\":\"AP8=\",\"name\":\"raw\"}]}\n`)
	a.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(a.Dir, "note.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.handle(t, t.Context(), a); err != nil {
		t.Fatal(err)
	}
	m, err := s.events(t, parley.TypeMessage)[0].Message()
	if err != nil || len(m.Attachments) != 2 || m.Attachments[0].Name != "note.txt" || m.Attachments[1].Name != "raw" {
		t.Fatalf("%v, %v", m.Attachments, err)
	}
	for i, want := range []string{"hello", "\x00\xff"} {
		r, err := s.client.GetAttachment(t.Context(), &parley.GetAttachmentParams{ConversationID: s.id, SHA256: m.Attachments[i].SHA256})
		if err != nil || string(r.Data) != want {
			t.Errorf("file %d is %q, %v", i, r.Data, err)
		}
	}
}
