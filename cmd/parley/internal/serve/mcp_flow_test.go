package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/sdk"
)

// mcpUser is a person at a program that speaks the Model Context Protocol, which connects again
// when its session is lost.
type mcpUser struct {
	t       *testing.T
	connect func(context.Context) (*protocol.ClientSession, error)
	session *protocol.ClientSession
}

// call calls a tool, again and again until it is answered without a word of a hub that is not
// there.
func (u *mcpUser) call(name string, args map[string]any) (text string, content map[string]any) {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), clitest.Patience)
	defer cancel()
	last := "nothing"
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if u.session == nil {
			s, err := u.connect(ctx)
			if err != nil {
				last = err.Error()
				continue
			}
			u.session = s
		}
		r, err := u.session.CallTool(ctx, &protocol.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			last = err.Error()
			u.leave()
			continue
		}
		last = r.Content[0].(*protocol.TextContent).Text
		if !r.IsError {
			content, _ = r.StructuredContent.(map[string]any)
			return last, content
		}
		if !strings.HasPrefix(last, "unavailable") && !strings.HasPrefix(last, "outcome_unknown") {
			break
		}
	}
	u.t.Fatalf("%s %v: %s", name, args, last)
	return "", nil
}

func (u *mcpUser) leave() {
	if u.session != nil {
		_ = u.session.Close() // the other end may be gone
		u.session = nil
	}
}

// mcpUsers are how a user may be connected. The hub is at an address.
func mcpUsers(t *testing.T, addr, token string) map[string]func(context.Context) (*protocol.ClientSession, error) {
	over := func(version string) func(context.Context) (*protocol.ClientSession, error) {
		return func(ctx context.Context) (*protocol.ClientSession, error) {
			c := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil)
			return c.Connect(ctx, &protocol.StreamableClientTransport{
				Endpoint: "http://" + addr + mcpPath, HTTPClient: &http.Client{Transport: clitest.Bearing{Token: token}},
				MaxRetries: -1,
			}, &protocol.ClientSessionOptions{ProtocolVersion: version})
		}
	}
	stdio := func(version string) func(context.Context) (*protocol.ClientSession, error) {
		return func(context.Context) (*protocol.ClientSession, error) {
			cmd := exec.Command("parley", "mcp")
			cmd.Env = append(os.Environ(), cli.EnvURL+"=ws://"+addr+"/rpc", cli.EnvToken+"="+token)
			c := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil)
			return c.Connect(t.Context(), &protocol.CommandTransport{Command: cmd},
				&protocol.ClientSessionOptions{ProtocolVersion: version})
		}
	}
	return map[string]func(context.Context) (*protocol.ClientSession, error){
		"stdio 2026-07-28": stdio("2026-07-28"), "stdio 2025-11-25": stdio("2025-11-25"),
		"http 2026-07-28": over("2026-07-28"), "http 2025-11-25": over("2025-11-25"),
	}
}

// startAssistant runs an agent in a separate process, which answers each turn with the text of it.
func startAssistant(t *testing.T, addr, token string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "assistant.sh")
	const program = `sed -n 's/.*"text":"\(question [0-9]*\)".*/{"text":"progress","finality":"none"}\n{"text":"answer ` +
		`to \1"}/p'` + "\n"
	if err := os.WriteFile(script, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("parley", "run", "--agent", "assistant", "--", "sh", script)
	cmd.Env = append(os.Environ(), cli.EnvURL+"=ws://"+addr+"/rpc", cli.EnvToken+"="+token)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // its end is of no interest
		cmd.Wait()
		if t.Failed() {
			t.Logf("the assistant said: %s", said.String())
		}
	})
}

// TestMCPUserAndInternalAssistant is flow 1 of seed 001: a user over MCP and an assistant take
// turns to the end, while the hub is killed and started again: nothing is lost, and nothing is
// there twice.
func TestMCPUserAndInternalAssistant(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	for _, name := range []string{"stdio 2026-07-28", "stdio 2025-11-25", "http 2026-07-28", "http 2025-11-25"} {
		t.Run(name, func(t *testing.T) { playFlow(t, name) })
	}
}

// playFlow starts a hub, an assistant and a user as processes, and kills the hub once.
func playFlow(t *testing.T, name string) {
	const root, rounds = "plt_root_of_this_test", 3
	environ, flags := []string{cli.EnvDevToken + "=" + root}, []string{"--dev", "--mcp", "--data", t.TempDir()}
	hub, first, _ := clitest.StartHub(t, environ, flags...)
	flags = append(flags, "--listen", first.Listening)
	admin, err := sdk.Dial(t.Context(), first.URL, &sdk.Options{Token: root, AgentID: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	made, err := admin.CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	startAssistant(t, first.Listening, root)
	u := &mcpUser{t: t, connect: mcpUsers(t, first.Listening, made.Token)[name]}
	defer u.leave()
	_, c := u.call("create_conversation", map[string]any{"client_request_id": "one", "participants": []any{
		map[string]any{"id": "ann", "kind": "human"}, map[string]any{"id": "assistant", "kind": "agent"},
	}})
	id, since := c["conversation_id"].(string), c["since_seq"]
	for round := range rounds {
		restarted := make(chan struct{})
		go func() { // while the user says something
			defer close(restarted)
			if round%3 == 1 {
				hub.Process.Kill()
				hub.Wait() // it was killed
				hub, _, _ = clitest.StartHub(t, environ, flags...)
			}
		}()
		question := map[string]any{"conversation_id": id, "since_seq": since, "text": fmt.Sprintf("question %d", round)}
		_, c = u.call("post_message", question)
		since = c["since_seq"]
		if text := u.turn(id, &since); !strings.Contains(text, fmt.Sprintf("answer to question %d", round)) {
			t.Errorf("round %d: %s", round, text)
		}
		<-restarted
		// as one whose answer was lost
		if _, again := u.call("post_message", question); again["duplicate"] != true || again["seq"] != c["seq"] {
			t.Errorf("round %d: the same call again: %v, expected a duplicate of %v", round, again, c)
		}
	}
	u.call("close_conversation", map[string]any{"conversation_id": id, "since_seq": since, "text": "thanks"})
	checkFlow(t, admin, id, rounds)
	clitest.Terminate(t, hub)
}

// turn waits until it is the user's turn, and returns everything up to then.
func (u *mcpUser) turn(id string, since *any) string {
	u.t.Helper()
	var said strings.Builder
	for range 100 {
		text, c := u.call("wait_for_updates", map[string]any{"conversation_id": id, "since_seq": *since})
		said.WriteString(text)
		*since = c["since_seq"]
		if c["may_speak"] == true && c["more"] != true {
			return said.String()
		}
	}
	u.t.Fatalf("it never was the user's turn: %s", said.String())
	return ""
}

// checkFlow reads the log: each question and each answer is there once, in order, and then the end.
func checkFlow(t *testing.T, c parley.Client, id string, rounds int) {
	t.Helper()
	page, err := c.Tail(t.Context(), &parley.TailParams{ConversationID: id, Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range page.Events {
		if e.Type == parley.TypeMessage && e.Finality != parley.FinalityNone {
			var m parley.Message
			if err := json.Unmarshal(e.Payload, &m); err != nil {
				t.Fatal(err)
			}
			got = append(got, e.From+": "+m.Text)
		}
	}
	var want []string
	for round := range rounds {
		want = append(want, fmt.Sprintf("ann: question %d", round), fmt.Sprintf("assistant: answer to question %d", round))
	}
	want = append(want, "ann: thanks")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the log has\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestMCPWaitGivenUp: a wait that its client cancels ends and consumes no event, and the session
// continues.
func TestMCPWaitGivenUp(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	secret, _ := h.token("ann", nil)
	bob := h.client("plt_root_of_this_test", "bob")
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			made, err := bob.CreateConversation(t.Context(),
				&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "bob", Kind: parley.KindPeer},
					{ID: "ann", Kind: parley.KindHuman}}})
			if err != nil {
				t.Fatal(err)
			}
			args := map[string]any{"conversation_id": made.ConversationID, "wait_seconds": longWait}
			s := h.session(secret, version)
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			ended := make(chan error, 1)
			go func() {
				_, _, err := clitest.CallTool(ctx, s, "wait_for_updates", args)
				ended <- err
			}()
			h.awaitCalls(1)
			giveUp()
			if err := <-ended; err == nil {
				t.Error("a wait that was given up was answered")
			}
			h.awaitNoCalls()
			if _, err := bob.SendMessage(t.Context(),
				&parley.SendMessageParams{ConversationID: made.ConversationID, Payload: json.RawMessage(`{"text":"hello ann"}`),
					Finality: parley.FinalityTurn}); err != nil {
				t.Fatal(err)
			}
			if text, _, err := clitest.CallTool(t.Context(), s, "wait_for_updates", args); err != nil ||
				!strings.Contains(text, "hello ann") {
				t.Errorf("the next wait: %q, %v", text, err)
			}
		})
	}
}

// listenIn returns a function that waits until a hub has received a number of further frames from
// others than this listener.
func listenIn(t *testing.T, url, token string) (arrived func(frames int64)) {
	t.Helper()
	c, err := sdk.Dial(t.Context(), url, &sdk.Options{Token: token, AgentID: "listener"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	asked := int64(0)
	received := func() int64 {
		asked++
		n, err := c.Stats(t.Context(), &parley.StatsParams{})
		if err != nil {
			t.Fatal(err)
		}
		return n.Received.Frames - asked
	}
	before := received()
	return func(frames int64) {
		t.Helper()
		for end := time.Now().Add(clitest.Patience); received() < before+frames; {
			if time.Now().After(end) {
				t.Fatalf("the hub has not received %d frames", frames)
			}
		}
	}
}

// TestMCPWaitsWhenTheHubStops: SIGTERM during waits ends the hub in time. A wait over HTTP ends
// with it, one over stdio continues after the restart, and the next calls work.
func TestMCPWaitsWhenTheHubStops(t *testing.T) {
	t.Parallel()
	const root = "plt_root_of_this_test"
	environ, flags := []string{cli.EnvDevToken + "=" + root}, []string{"--dev", "--mcp", "--data", t.TempDir()}
	hub, first, _ := clitest.StartHub(t, environ, flags...)
	users := map[string]*mcpUser{}
	for name, connect := range mcpUsers(t, first.Listening, root) {
		users[name] = &mcpUser{t: t, connect: connect}
		defer users[name].leave()
	}
	some := users["http 2026-07-28"]
	_, c := some.call("create_conversation",
		map[string]any{"participants": []any{map[string]any{"id": "bob", "kind": "peer"}}})
	args := map[string]any{"conversation_id": c["conversation_id"], "since_seq": c["since_seq"], "until": "closed",
		"wait_seconds": 50}
	for _, u := range users {
		u.call("read_conversation", map[string]any{"conversation_id": c["conversation_id"]}) // so that it is connected
	}
	arrived := listenIn(t, first.URL, root)
	ended := map[string]chan string{}
	for name, u := range users {
		ended[name] = make(chan string, 1)
		go func() {
			text, _, err := clitest.CallTool(t.Context(), u.session, "wait_for_updates", args)
			ended[name] <- fmt.Sprint(text, err)
		}()
	}
	arrived(int64(len(users)))
	clitest.Terminate(t, hub) // a drain that waits for them has another exit code
	await := func(name, want string) {
		t.Helper()
		select {
		case text := <-ended[name]:
			if !strings.Contains(text, want) {
				t.Errorf("%s: the wait ended with %q", name, text)
			}
		case <-time.After(clitest.Patience):
			t.Errorf("%s: the wait goes on", name)
		}
	}
	await("http 2026-07-28", "")
	await("http 2025-11-25", "")
	clitest.StartHub(t, environ, append(flags, "--listen", first.Listening)...)
	users["http 2025-11-25"].leave() // its session ended with the hub
	some.call("close_conversation", map[string]any{"conversation_id": c["conversation_id"]})
	await("stdio 2026-07-28", "closed")
	await("stdio 2025-11-25", "closed")
	for _, u := range users {
		u.call("wait_for_updates", args)
	}
}

// inUse counts the calls that use a client.
func (d *callerPool) inUse() (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.clients {
		n += c.users
	}
	return n
}
