//go:build linux

package blueprint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/sdk"
)

const anyOf = `"parameters_schema":{"type":"object","properties":{"first":{"type":"string"},` +
	`"last":{"type":"string"},"text":{"type":"string"},"err":{"type":"string"},"code":{"type":"integer"},` +
	`"count":{"type":"integer"},"file":{"type":"string"}}}`

// The end of a command determines the end of its session, in the words of the seed.
func TestResults(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "say", anyOf, "say")
	file(t, dir, "suicide", "", "suicide")
	file(t, dir, "spill", `"max_output_bytes":100000`, "spill")
	file(t, dir, "slow", `"timeout":"300ms"`, "stubborn")
	w := newWorld(t, dir)

	r := w.completed(w.start("say", `{"text":" {\"a\": [1.50, 1e300]}\n"}`))
	if text(r) != " {\"a\": [1.50, 1e300]}\n" || string(r.ResultData) != `{"a":[1.50,1e300]}` ||
		r.ResultType != parley.AgentTypeDeterministic {
		t.Errorf("%s", indent(r))
	}
	for _, plain := range []string{``, `hello`, `{"a":1} x`, `{"a":1,"a":2}`, `NaN`, `[1e400]`, `{"a":"\ud800"}`,
		strings.Repeat("[", 60) + strings.Repeat("]", 60)} {
		p, _ := json.Marshal(map[string]string{"text": plain})
		if r := w.completed(w.start("say", string(p))); text(r) != plain || r.ResultData != nil {
			t.Errorf("%s: %s", plain, indent(r))
		}
	}
	if r := w.completed(w.start("say", `{"text":"null\n"}`)); string(r.ResultData) != "null" {
		t.Errorf("null: %s", indent(r))
	}

	r = w.failed(w.start("say", `{"code":3,"err":"\n  no such table\n\n","text":"[1]"}`), "exit_code", "no such table")
	if *r.ExitCode != 3 || text(r) != "[1]" || string(r.ResultData) != "[1]" {
		t.Errorf("%s", indent(r))
	}
	w.failed(w.start("say", `{"code":255}`), "exit_code", "Exit code: 255")
	long, _ := json.Marshal(
		map[string]any{"code": 1, "err": "first line\n" + strings.Repeat("é", 4<<10) + "\nlast line\n"})
	r = w.start("say", string(long)).Result
	if len(r.Error) > 4<<10 || !strings.HasSuffix(r.Error, "é\nlast line") && r.Error != "last line" {
		t.Errorf("%q", r.Error)
	}

	r = w.failed(w.start("suicide", ``), "signal", "Killed by signal: 9 (killed)")
	if r.ExitCode != nil || text(r) != "before\n" {
		t.Errorf("%s", indent(r))
	}
	r = w.failed(w.start("spill", ``), "output_limit", "the command wrote more than 100000 bytes")
	if r.ExitCode != nil || len(text(r)) != blueprint.HeadBytes || r.Attachment != nil {
		t.Errorf("%s", indent(r))
	}
}

// A command is killed with all its processes at its timeout, and its session reports that.
func TestTimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "slow", `"timeout":"5s"`, "stubborn")
	w := newWorld(t, dir)
	begun := time.Now()
	r := w.failed(w.start("slow", ``), "timeout", "The command did not end within 5s")
	took := time.Since(begun)
	var pids []int
	for _, line := range strings.Fields(text(r)) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	w.gone(0, pids...)
	if len(pids) != 2 || r.ExitCode != nil {
		t.Errorf("%s", indent(r))
	}
	if took < 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Output that is too long for a message becomes a complete file, and the result has its beginning.
func TestLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "repeat", anyOf+`,"max_output_bytes":16777216`, "repeat")
	file(t, dir, "raw", anyOf, "raw")
	w := newWorld(t, dir)
	for name, c := range map[string]struct {
		agent, text   string
		first, last   string
		count         int
		file, media   string
		data, invalid bool
	}{
		"fits": {agent: "repeat", text: "x", count: blueprint.MaxTextBytes},
		"text": {agent: "repeat", text: "é", count: blueprint.MaxTextBytes/2 + 1, file: "stdout.txt",
			media: "text/plain; charset=utf-8"},
		"json": {agent: "repeat", text: " ", count: 100_000, file: "stdout.txt", media: "text/plain; charset=utf-8"},
		"list": {agent: "repeat", first: "[", text: "1,", last: "1]", count: 100_000, file: "stdout.json",
			media: "application/json"},
		"escapes": {agent: "repeat", text: "<", count: 60_000, file: "stdout.txt", media: "text/plain; charset=utf-8"},
		"megabytes": {agent: "repeat", text: "0123456789abcdef", count: 1 << 16, file: "stdout.txt",
			media: "text/plain; charset=utf-8"},
		"bytes":      {agent: "raw", count: 50_000, file: "stdout.bin", media: "application/octet-stream", invalid: true},
		"few bytes":  {agent: "raw", count: 5, invalid: true},
		"few digits": {agent: "repeat", text: "7", count: 5, data: true},
	} {
		parameters, _ := json.Marshal(map[string]any{"first": c.first, "text": c.text, "last": c.last, "count": c.count})
		if c.agent == "raw" {
			c.text = "a\xff"
		}
		whole := c.first + strings.Repeat(c.text, c.count) + c.last
		s := w.start(c.agent, string(parameters))
		r := w.completed(s)
		begin := strings.ToValidUTF8(whole, "\ufffd")
		if c.file != "" {
			begin = begin[:blueprint.HeadBytes]
			begin = strings.ToValidUTF8(begin, "")
		}
		if text(r) != begin || (r.ResultData != nil) != c.data {
			t.Errorf("%s: %d bytes of text, data %.20s", name, len(text(r)), r.ResultData)
		}
		if (r.Attachment != nil) != (c.file != "") {
			t.Errorf("%s: %v", name, r.Attachment)
		}
		if r.Attachment == nil {
			continue
		}
		if r.Attachment.Name != c.file || r.Attachment.MediaType != c.media {
			t.Errorf("%s: %v", name, r.Attachment)
		}
		if got := w.attachment(s.SessionID, r.Attachment.SHA256); !bytes.Equal(got, []byte(whole)) {
			t.Errorf("%s: the file has %d bytes of %d", name, len(got), len(whole))
		}
	}
}

// attachment returns a complete file of a conversation.
func (w *world) attachment(id, hash string) (all []byte) {
	w.Helper()
	for {
		r, err := w.caller.GetAttachment(w.Context(),
			&parley.GetAttachmentParams{ConversationID: id, SHA256: hash, Offset: int64(len(all))})
		if err != nil {
			w.Fatal(err)
		}
		if all = append(all, r.Data...); len(r.Data) == 0 || int64(len(all)) >= r.Size {
			return all
		}
	}
}

// A result that does not match is a failure with the errors, and keeps the output.
func TestOutputSchema(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "say",
		anyOf+`,"output_schema":{"type":"object","required":["rows"],"properties":{"rows":{"type":"integer"}}}`, "say")
	w := newWorld(t, dir)
	w.completed(w.start("say", `{"text":"{\"rows\":1}"}`))
	const mismatch = "The result does not match the agent's output_schema"
	r := w.failed(w.start("say", `{"text":"{\"rows\":\"x\"}"}`), "output_schema", mismatch)
	want := []parley.ValidationError{
		{Path: "$.rows", Message: "'x' is not of type 'integer'", SchemaPath: "properties.rows.type"}}
	if diff := cmp.Diff(want, r.ValidationErrors); diff != "" || string(r.ResultData) != `{"rows":"x"}` ||
		*r.ExitCode != 0 {
		t.Errorf("%s %s", indent(r), diff)
	}
	r = w.failed(w.start("say", `{"text":"rows: 1"}`), "output_schema", mismatch)
	if len(r.ValidationErrors) != 1 || r.ValidationErrors[0].Path != "$" || text(r) != "rows: 1" {
		t.Errorf("%s", indent(r))
	}
	r = w.failed(w.start("say", `{"text":"{}","code":1,"err":"no"}`), "exit_code", "no")
	if r.ValidationErrors != nil {
		t.Errorf("%s", indent(r))
	}
}

// Lines on stderr are traced while the command runs, and the rest at its end. The error is the last
// text.
func TestProgress(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "tell", anyOf, "tell")
	w := newWorld(t, dir)
	go_ := w.temp("go")
	s := w.begin("tell", fmt.Sprintf(`{"file":%q}`, go_))
	since := int64(0)
	now, err := w.caller.GetSession(t.Context(),
		&parley.GetSessionParams{SessionID: s.SessionID, TimeoutMs: patience.Milliseconds(), ProgressSince: &since})
	if err != nil || now.Status != parley.SessionRunning || now.Progress == nil || now.Progress.Text != "30%" {
		t.Fatalf("%s %v", indent(now), err)
	}
	if err := os.WriteFile(go_, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.completed(w.wait(s.SessionID))
	told := w.traces(s.SessionID)
	if got := strings.Join(told, "\n"); got != "30%\nhalf way\nlast word" {
		t.Errorf("%q", told)
	}
}

// A command gets only its own and the declared variables.
func TestEnvironment(t *testing.T) {
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("TZ", "UTC")
	t.Setenv("CANARY", "secret")
	t.Setenv("DECLARED", "yes")
	t.Setenv("PARLEY_TOKEN", "the runner's")
	dir := t.TempDir()
	file(t, dir, "report",
		`"params_via":"env","env":["DECLARED","MISSING","FIXED=a=b","HOME=/elsewhere"],`+
			`"parameters_schema":{"properties":{"a-b":{"default":2},"path":{}}}`, "report")
	w := newWorld(t, dir)
	s := w.start("report", `{"path":"/evil"}`)
	got := w.reported(w.completed(s))
	env := map[string]string{}
	for _, v := range got.Env {
		name, value, _ := strings.Cut(v, "=")
		if _, twice := env[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		env[name] = value
	}
	token := env["PARLEY_TOKEN"]
	delete(env, "PARLEY_TOKEN")
	want := map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": "/elsewhere", "TZ": "UTC", "LANG": "C.UTF-8", "DECLARED": "yes", "FIXED": "a=b",
		"PARAM_A_B": "2", "PARAM_PATH": "/evil",
		"PARLEY_SESSION": s.SessionID, "PARLEY_AGENT": "report", "PARLEY_URL": w.hub.URL,
	}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(token, "plc_"+s.SessionID+"_") || got.Dir != w.set.Files[0].Dir || got.Stdin != "" ||
		len(got.Args) != 0 {
		t.Errorf("%+v", got)
	}
}

// startProgram starts a session with the token of its environment, and prints the result.
func startProgram([]string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := sdk.Dial(ctx, os.Getenv("PARLEY_URL"), &sdk.Options{Token: os.Getenv("PARLEY_TOKEN")})
	if err == nil {
		defer client.Close()
		var s *parley.Session
		s, err = client.StartSession(
			ctx, &parley.StartSessionParams{AgentName: "say", Parameters: json.RawMessage(`{"text":"from below"}`)})
		if err == nil {
			fmt.Print(*s.Result.ResultText, " ", s.Depth, " ", s.ParentConversationID == os.Getenv("PARLEY_SESSION"))
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// A command may call an agent, including an agent of the same runner.
func TestCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "say", anyOf, "say")
	file(t, dir, "caller", "", "start")
	w := newWorld(t, dir)
	if got := text(w.completed(w.start("caller", ``))); got != "from below 2 true" {
		t.Error(got)
	}
}
