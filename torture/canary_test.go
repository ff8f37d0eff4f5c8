package torture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

// spoken is in a message: readers of the conversation may see it, logs and metrics may not.
const spoken = "canary-spoken-7d1f"

// TestCanaries sends a hub secrets of every kind, at every door and in every wrong place, and
// then looks for them in all that it wrote and answered.
func TestCanaries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, auditLog := filepath.Join(dir, "data"), filepath.Join(dir, "audit.log")
	admin := strings.TrimSpace(program.Run(t, "token", "create", "--admin", "--data", data))
	h := program.Serve(t, nil, "--data", data, "--log-level", "debug", "--audit-log", auditLog)
	c := &canaries{t: t, hub: h, admin: admin, answers: map[string][]byte{}}
	c.secret("the first token", admin)

	id := c.make("createConversation", `{"participants":[{"id":"ann","kind":"human"}]}`, "conversationId")
	c.call(admin, "ann", "sendMessage", fmt.Sprintf(`{"conversationId":%q,"payload":{"text":%q},"finality":"none"}`, id,
		spoken))
	token := c.make("createToken", `{"agentId":"ann","scopes":["read","write"]}`, "token")
	c.secret("a token", token)
	revoked := c.make("createToken", `{"agentId":"ann"}`, "token")
	c.secret("a revoked token", revoked)
	ticket := c.make("createTicket", fmt.Sprintf(`{"conversationId":%q}`, id), "ticket")
	c.secret("a ticket", ticket)
	c.call(admin, "admin", "revokeToken", fmt.Sprintf(`{"tokenId":%q}`, strings.Split(revoked, "_")[1]))

	c.request(http.MethodGet, "/stats", "", http.Header{"Authorization": {"Bearer " + token}}) // has not the scope
	c.secret("a wrong token", "plt_nobody_canary-wrong-51c0")
	c.secret("a JWT", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.canary-signature-9a")
	var misplaced sync.WaitGroup
	for _, s := range c.secrets { // in parallel, because the hub delays answers to guesses
		misplaced.Go(func() { c.misplace(s, id) })
	}
	misplaced.Wait()
	c.get("/conversations/" + id + "/events?until=closed&ticket=" + ticket + "x") // not the ticket: refused
	for _, path := range []string{"/metrics", "/stats", "/openrpc.json", "/asyncapi.json", "/tokens", "/backup",
		"/conversations", "/agents"} {
		c.get(path)
	}
	c.cli("doctor")
	c.cli("token", "list")
	c.cli("stats")
	c.cli("log", "backup", filepath.Join(dir, "backup.jsonl"))
	h.Stop(t)
	program.Run(t, "log", "export", "--data", data, "--output", "text")

	c.answers["stderr of the hub"] = h.Stderr()
	for _, name := range []string{"stderr of the hub", "GET /metrics", "GET /stats"} {
		if len(c.answers[name]) == 0 {
			t.Errorf("%s is empty: nothing was looked at", name)
		}
		c.look(name, c.answers[name], "what was said", spoken)
	}
	c.files(dir)
	for _, event := range []string{"login_refused", "scope_refused", "token_created", "token_revoked", "ticket_created"} {
		if !bytes.Contains(c.answers["the file audit.log"], []byte(`"event":"`+event+`"`)) {
			t.Errorf("the audit has no line %s:\n%.2000s", event, c.answers["the file audit.log"])
		}
	}
	for name, text := range c.answers {
		for _, s := range c.secrets {
			c.look(name, text, s.what, s.text)
		}
	}
}

// canaries gathers secrets, and all that was answered.
type canaries struct {
	t       *testing.T
	hub     *hubproc.Hub
	admin   string
	secrets []secret

	mu      sync.Mutex // guards the fields below
	answers map[string][]byte
	n       int
}

// keep stores an answer; format gets its number and arg.
func (c *canaries) keep(format, arg string, answer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.answers[fmt.Sprintf(format, c.n, arg)] = answer
}

type secret struct {
	what, whole string
	text        string // the part of it that no one may find
}

// secret notes one: of a token what comes after its id, of a ticket what comes after its prefix, of
// a JWT its signature.
func (c *canaries) secret(what, whole string) {
	c.t.Helper()
	text := whole
	if i := strings.LastIndexByte(whole, '.'); i >= 0 {
		text = whole[i+1:]
	} else if rest, ok := strings.CutPrefix(whole, "plt_"); ok {
		_, text, _ = strings.Cut(rest, "_")
	} else {
		text = strings.TrimPrefix(whole, "tkt_")
	}
	if len(text) < 16 {
		c.t.Fatalf("%s is too short to be looked for: %s", what, text)
	}
	c.secrets = append(c.secrets, secret{what, whole, text})
}

// look fails when a text, plain or escaped, is where it must not be.
func (c *canaries) look(name string, in []byte, what, text string) {
	c.t.Helper()
	for _, form := range []string{text, url.QueryEscape(text)} {
		if i := bytes.Index(in, []byte(form)); i >= 0 {
			c.t.Errorf("%s is in %s: ...%s...", what, name, in[max(0, i-120):min(len(in), i+len(form)+20)])
			return
		}
	}
}

// files takes all that lies on disk.
func (c *canaries) files(dir string) {
	c.t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		c.answers["the file "+d.Name()] = text
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// misplace sends a secret to a wrong place and records the answer.
func (c *canaries) misplace(s secret, id string) {
	q := url.QueryEscape(s.whole)
	for _, path := range []string{
		"/conversations?token=" + q, "/conversations?access_token=" + q, "/conversations/" + id + "/events?ticket=" + q +
			"&sinceSeq=99",
		"/conversations/" + url.PathEscape(s.whole), "/rpc?ticket=" + q, "/conversations?cursor=" + q, "/" +
			url.PathEscape(s.whole), "/attachments/" + q + "?conversationId=" + q,
	} {
		c.request(http.MethodGet, path, "", http.Header{"Authorization": {"Bearer " + c.admin}})
		c.request(http.MethodGet, path, "", nil)
	}
	params := fmt.Sprintf(`{"token":%q,"agentId":%q,"clientName":%q}`, s.whole, s.whole, s.whole)
	for _, header := range []http.Header{
		{"Authorization": {"Bearer " + s.whole + "x"}}, {"Authorization": {"Basic " + s.whole}}, {"Authorization": {s.whole}},
		{"Authorization": {"Bearer " + s.whole}, "Parley-Agent": {s.whole}}, {"Origin": {"https://" + s.whole}},
		{"Cookie": {"token=" + s.whole}},
		{"Authorization": {"Bearer " + c.admin}, "Last-Event-ID": {s.whole}},
	} {
		c.request(http.MethodPost, "/rpc", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"authenticate","params":%s}`,
			params), header)
		c.request(http.MethodGet, "/conversations/"+id+"/events?until=closed&sinceSeq=x", "", header)
	}
	c.cliWith(s.whole+"x", "conversation", "list")
	c.cliWith(s.whole+"x", "doctor")
}

func (c *canaries) call(token, as, method, params string) json.RawMessage {
	c.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	answer := c.do(http.MethodPost, "/rpc", body, http.Header{"Authorization": {"Bearer " + token}, "Parley-Agent": {as}})
	var r struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(answer, &r); err != nil || r.Error != nil {
		c.t.Fatalf("%s: %v %s", method, err, answer)
	}
	return r.Result
}

// make makes a call as ann whose answer may contain a secret, and returns one member of its result.
func (c *canaries) make(method, params, member string) string {
	c.t.Helper()
	var r map[string]json.RawMessage
	var s string
	if err := json.Unmarshal(c.call(c.admin, "ann", method, params), &r); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(r[member], &s); err != nil {
		c.t.Fatalf("%s: %s: %v", method, member, err)
	}
	return s
}

// get asks as the admin and keeps the answer.
func (c *canaries) get(path string) {
	c.t.Helper()
	name, _, _ := strings.Cut(path, "?")
	c.answers["GET "+name] = c.do(http.MethodGet, path, "", http.Header{"Authorization": {"Bearer " + c.admin}})
}

// request keeps an answer under its own name.
func (c *canaries) request(method, path, body string, header http.Header) {
	c.t.Helper()
	c.keep("answer %d (%s)", method, c.do(method, path, body, header))
}

// do returns the status line, header and body of an answer.
func (c *canaries) do(method, path, body string, header http.Header) []byte {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.hub.HTTP()+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return nil
	}
	if header != nil {
		req.Header = header.Clone()
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 8<<20))
	if err != nil {
		c.t.Error(err)
		return nil
	}
	if resp.StatusCode < 300 && strings.HasPrefix(path, "/rpc") {
		return answer
	}
	var b bytes.Buffer
	_ = resp.Header.Write(&b) // to memory
	return append(b.Bytes(), answer...)
}

func (c *canaries) cli(args ...string) { c.t.Helper(); c.cliWith(c.admin, args...) }

// cliWith runs the program with a token and keeps what it prints, whether or not it succeeds.
func (c *canaries) cliWith(token string, args ...string) {
	c.t.Helper()
	cmd := exec.Command(string(program), args...)
	cmd.Env = append(os.Environ(), "PARLEY_URL="+c.hub.URL, "PARLEY_TOKEN="+token)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	_ = hubproc.Run(cmd) // it may be refused
	out := printed.Bytes()
	if len(out) == 0 {
		c.t.Errorf("parley %s printed nothing", strings.Join(args, " "))
	}
	c.keep("output %d of parley %s", strings.Join(args, " "), out)
}
