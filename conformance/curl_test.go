package conformance

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/parleyhub/parley/internal/hubproc"
)

// TestCurlExamples runs the curl commands of the protocol in a shell, exactly as they are written, and compares status
// lines, the headers that the examples show, and bodies. Only times, claim ids, tokens and values made of them may
// differ.
func TestCurlExamples(t *testing.T) {
	t.Parallel()
	require(t, "curl")
	paths, err := filepath.Glob(filepath.Join("..", "rpc", "testdata", "protocol", "http-*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 3 {
		t.Fatalf("there are only %d scripts with curl commands", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			script, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			h := program.Start(t, t.TempDir())
			ids := secrets{}
			for _, e := range examples(string(script.Files[0].Data)) {
				want := timeless(e.answer)
				answer := ids.learn(e.answer, shown(shell(t, h, ids.real(e.command)), want))
				if got := timeless(answer); got != want {
					t.Errorf("%s\nanswered:\n%s\nwritten in the script:\n%s", e.command, got, want)
				}
			}
			h.Stop(t)
		})
	}
}

// secrets are the ids of claims and the tokens that a hub has given, by those in the examples, which count them.
type secrets map[string]string

var secret = regexp.MustCompile(`"(?:claimId|token)":"((?:clm|plt)_[^"]+)"`)

// learn records the secrets in an answer, and returns the answer with the secrets of the example
// instead.
func (c secrets) learn(example, answer string) string {
	given := secret.FindAllStringSubmatch(answer, -1)
	for i, m := range secret.FindAllStringSubmatch(example, -1) {
		if i < len(given) {
			c[m[1]] = given[i][1]
		}
	}
	for shown, real := range c {
		answer = strings.ReplaceAll(answer, real, shown)
	}
	return answer
}

// real returns a command with the values from the hub.
func (c secrets) real(command string) string {
	for shown, real := range c {
		command = strings.ReplaceAll(command, shown, real)
	}
	return command
}

type example struct{ command, answer string }

// examples returns the commands of a script with their answers.
func examples(block string) []example {
	var all []example
	open := false // the command continues on the next line
	for line := range strings.Lines(block) {
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			all = append(all, example{command: command})
			open = strings.HasSuffix(line, "\\\n")
		case open:
			all[len(all)-1].command += line
			open = strings.HasSuffix(line, "\\\n")
		case len(all) > 0 && !strings.HasPrefix(line, "# "):
			all[len(all)-1].answer += line
		}
	}
	return all
}

// shell runs a command line as a reader of protocol.md would.
func shell(t *testing.T, h *hubproc.Hub, line string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
	cmd.Env = append(os.Environ(), "HUB="+h.HTTP(), "TOKEN="+hubproc.Token)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, stderr.Bytes())
	}
	return string(out)
}

// shown returns the status line of an answer, the headers that the example also shows, and the
// body.
func shown(answer, example string) string {
	head, body, _ := strings.Cut(strings.ReplaceAll(answer, "\r\n", "\n"), "\n\n")
	wanted, _, _ := strings.Cut(example, "\n\n")
	var lines []string
	for i, line := range strings.Split(head, "\n") {
		name, _, _ := strings.Cut(line, ":")
		if i == 0 || strings.Contains("\n"+strings.ToLower(wanted), "\n"+strings.ToLower(name)+":") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n") + "\n\n" + body
}

var varies = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z|"headHash":"[0-9a-f]{64}"|"tokenId":"[^"]+"|"(nowMs|deadlineMs|durationMs)":\d+`)

// timeless takes out what differs from run to run, and space at the end.
func timeless(s string) string {
	return strings.TrimSpace(varies.ReplaceAllString(s, "(varies)"))
}

// TestCurlStream follows a conversation with curl, cuts the connection, and continues from the last
// id.
func TestCurlStream(t *testing.T) {
	t.Parallel()
	curl := require(t, "curl")
	h := program.Start(t, t.TempDir())
	post := func(path, body string) {
		shell(t, h, fmt.Sprintf(`curl -sSf "$HUB%s" -H "Authorization: Bearer $TOKEN" -H "Parley-Agent: ann" -H "Content-Type: application/json" -d '%s'`, path, body))
	}
	post("/conversations", `{"conversationId":"case","participants":[{"id":"ann","kind":"human"}]}`)
	note := `{"payload":{"schema":"n","data":1}}`
	last, want := "0", 0
	for round := range 4 {
		cmd := exec.CommandContext(t.Context(), curl, "-sSN", h.HTTP()+"/conversations/case/events?until=closed",
			"-H", "Authorization: Bearer "+hubproc.Token, "-H", "Last-Event-ID: "+last)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			post("/conversations/case/notes", note)
		}
		if round == 3 {
			post("/conversations/case/close", `{}`)
		}
		in := bufio.NewScanner(out)
		for in.Scan() {
			id, found := strings.CutPrefix(in.Text(), "id: ")
			if !found {
				continue
			}
			if want++; id != fmt.Sprint(want) {
				t.Fatalf("after %s came id %s, want %d", last, id, want)
			}
			if last = id; round < 3 && want == 1+(round+1)*3 {
				break
			}
		}
		if round < 3 {
			_ = cmd.Process.Kill()
		}
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); round == 3 && err != nil {
			t.Errorf("the stream of a conversation that was closed: %v", err)
		}
	}
	if want != 14 { // the creation, 12 notes, the close
		t.Errorf("%d events came", want)
	}
	h.Stop(t)
}

// TestCurlFile sends a file that is no text, and gets it back, whole and in part.
func TestCurlFile(t *testing.T) {
	t.Parallel()
	require(t, "curl")
	h := program.Start(t, t.TempDir())
	dir := t.TempDir()
	data := bytes.Repeat([]byte{0, 0xff, '\r', '\n', 0x80, 'x'}, 300_000)
	sum := sha256.Sum256(data)
	file, back := filepath.Join(dir, "a file"), filepath.Join(dir, "back")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	auth := `-H "Authorization: Bearer $TOKEN" -H "Parley-Agent: ann"`
	shell(t, h, `curl -sSf "$HUB/conversations" `+auth+` -H "Content-Type: application/json" -d '{"conversationId":"case","participants":[{"id":"ann","kind":"human"}]}'`)
	got := shell(t, h, `curl -sSf "$HUB/attachments?conversationId=case&name=scan.bin" `+auth+` -H "Content-Type: application/x-scan" --data-binary @'`+file+`'`)
	name := hex.EncodeToString(sum[:])
	if !strings.Contains(got, name) {
		t.Errorf("the upload was answered %s", got)
	}
	shell(t, h, `curl -sSf "$HUB/attachments/`+name+`?conversationId=case" `+auth+` -o '`+back+`'`)
	if b, err := os.ReadFile(back); err != nil || !bytes.Equal(b, data) {
		t.Errorf("the file came back with %d bytes of %d: %v", len(b), len(data), err)
	}
	part := shell(t, h, `curl -sSf "$HUB/attachments/`+name+`?conversationId=case" `+auth+` -r 6-11`)
	if part != string(data[6:12]) {
		t.Errorf("bytes 6 to 11 are %q", part)
	}
	h.Stop(t)
}
