package doctor

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/serve"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// secret is in the token of every test of the doctor, and never in its output.
const secret = "SECRETSECRETSECRET"

// startHub starts a hub on a log in memory, with TLS unless it is nil.
func startHub(t *testing.T, config *tls.Config) *serve.Server {
	t.Helper()
	s, err := serve.Start(serve.Options{Journal: memory.New(), Address: "127.0.0.1:0", Log: zerolog.Nop(), Tls: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// serverTLS loads the certificate of a hub.
func serverTLS(t *testing.T, files certs.Files) *tls.Config {
	t.Helper()
	contents, err := files.Read()
	if err != nil {
		t.Fatal(err)
	}
	config, err := certs.LoadServer(files, contents)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// runCommand runs doctor or ready in this process.
func runCommand(t *testing.T, args []string, out, errs io.Writer) int {
	t.Helper()
	return cli.Execute(t.Context(), args, cli.Streams{In: strings.NewReader(""), Out: out, Err: errs},
		func(a *cli.App, root *cobra.Command) {
			root.AddCommand(NewCommand(a), NewReadyCommand(a))
		})
}

// consult runs "parley doctor" for the hub at an address, and returns its output and the exit code.
func consult(t *testing.T, address string, args ...string) (string, int) {
	t.Helper()
	t.Setenv(cli.EnvURL, address)
	t.Setenv(cli.EnvToken, "plt_id_"+secret)
	var out, errs bytes.Buffer
	code := runCommand(t, append([]string{"doctor", "--data", t.TempDir(), "--timeout", "5s"}, args...), &out, &errs)
	if strings.Contains(out.String()+errs.String(), secret) {
		t.Errorf("the token was printed:\n%s%s", &out, &errs)
	}
	return out.String(), code
}

// TestDoctorOfBrokenSetups: each fault between a client and its hub is named at its step.
func TestDoctorOfBrokenSetups(t *testing.T) {
	hub := startHub(t, nil)
	ca := clitest.NewAuthority(t)
	overTLS := startHub(t, serverTLS(t, ca.Write(t.TempDir(), clitest.Month))).Addr
	drained := startHub(t, nil)
	drained.Hub.Drain()
	for name, c := range map[string]struct {
		address string
		want    []string // patterns of lines
	}{
		"the hub does not know its name": {proxyTo(t, hub, func(r *http.Request) { r.Host = "hub.example.com" }), []string{
			`^ok +reach `, `^fail +livez +the hub does not answer to the name .*--allow-host 127.0.0.1`,
			`^skipped +readyz +no hub answers`,
		}},
		"the proxy drops Upgrade": {proxyTo(t, hub, func(r *http.Request) { r.Header.Del("Upgrade") }), []string{
			`^ok +livez `, `^ok +readyz `, `^fail +socket .*must pass Upgrade on`, `^skipped +token +there is no WebSocket`,
		}},
		"the proxy reaches nobody": {answering(t, http.StatusBadGateway, "bad gateway"),
			[]string{`^fail +livez +a proxy answers 502`}},
		"something else answers": {answering(t, http.StatusNotFound, "<html>"),
			[]string{`^fail +livez +something answers 404 to /livez, and it is no hub`}},
		"a page answers": {answering(t, http.StatusOK, "<html>welcome</html>"),
			[]string{`^fail +livez .*it is no hub`}},
		"redirected": {answering(t, http.StatusMovedPermanently, ""),
			[]string{`^fail +livez +something answers 301`}},
		"in clear to TLS": {"ws://" + overTLS + "/rpc",
			[]string{`^fail +livez .*takes TLS only; its address begins with wss://`}},
		"TLS to a hub in clear": {"wss://" + hub.Addr + "/rpc",
			[]string{`^ok +reach `, `^fail +tls .*begins with ws://`, `^skipped +livez `}},
		"an unknown authority": {"wss://" + overTLS + "/rpc", []string{`^fail +tls .*unknown authority; PARLEY_CA=FILE`}},
		"a hub that drains": {drained.URL,
			[]string{`^ok +livez `, `^fail +readyz .*docs/guides/operations.md`, `^fail +socket `}},
		"a name that is nobody's": {"ws://hub.invalid:7447/rpc", []string{`^fail +reach `}},
		"a password": {"ws://me:" + secret + "@127.0.0.1:7447/rpc",
			[]string{`^fail +url .*never into an address`}},
		"no token of this hub": {hub.URL,
			[]string{`^ok +socket `, `^fail +token +the hub refuses the token`, `^skipped +version +the token was refused`}},
		"another protocol": {fakeHub(t, "2", 0), []string{
			`^ok +token `, `^fail +version +the hub speaks version 2 of the protocol`,
		}},
		"a clock ahead": {fakeHub(t, parley.ProtocolVersion, time.Hour),
			[]string{`^warn +clock +the hub's clock is (1h0|59)m\S* ahead of this machine's; let NTP`,
				`^warn +version +the hub is v9.9.9, this program `}},
		"a clock behind": {fakeHub(t, parley.ProtocolVersion, -time.Hour),
			[]string{`^warn +clock +the hub's clock is (1h0|59)m\S* behind`}},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := consult(t, c.address)
			fails := false
			for _, pattern := range c.want {
				fails = fails || strings.HasPrefix(pattern, "^fail")
				if !regexp.MustCompile("(?m)" + pattern).MatchString(out) {
					t.Errorf("no line is %s:\n%s", pattern, out)
				}
			}
			if fails != (code == exit.CodeFailure) {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestDoctorSpeaksJSON: with -o json each check is an object on a line, and every check has its
// line whatever fails.
func TestDoctorSpeaksJSON(t *testing.T) {
	hub := startHub(t, nil)
	var whole []string
	for _, address := range []string{hub.URL, "ws://127.0.0.1:1/rpc", "nonsense"} {
		out, _ := consult(t, address, "-o", "json")
		var checks []string
		for line := range strings.Lines(out) {
			var d diagnosis
			if err := json.Unmarshal([]byte(line), &d); err != nil || d.Check == "" || d.Result == "" || d.Found == "" {
				t.Errorf("%q: %v", line, err)
			}
			checks = append(checks, d.Check)
		}
		if whole == nil {
			whole = checks
		}
		if len(checks) < 15 || fmt.Sprint(checks) != fmt.Sprint(whole) {
			t.Errorf("%s: checks %v, expected %v", address, checks, whole)
		}
	}
}

// proxyTo is a proxy to a hub that changes what it passes on.
func proxyTo(t *testing.T, hub *serve.Server, change func(*http.Request)) string {
	t.Helper()
	target, err := url.Parse("http://" + hub.Addr)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		change(r.Out)
	}})
	t.Cleanup(proxy.Close)
	return "ws" + strings.TrimPrefix(proxy.URL, "http") + "/rpc"
}

// answering is no hub: it says the same to everybody.
func answering(t *testing.T, status int, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://hub.example.com/")
		w.WriteHeader(status)
		io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http") + "/rpc"
}

// fakeHub speaks another version of the protocol, has a wrong clock, and returns tokens in its
// errors.
func fakeHub(t *testing.T, protocol string, off time.Duration) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/rpc" {
			io.WriteString(w, "ok\n")
			return
		}
		conn, err := wire.Accept(w, r, time.Second)
		if err != nil {
			return
		}
		go answerFalsely(conn, protocol, off)
	}))
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http") + "/rpc"
}

func answerFalsely(conn *wire.Conn, protocol string, off time.Duration) {
	defer conn.CloseNow()
	for {
		frame, err := conn.Read()
		if err != nil {
			return
		}
		var request struct {
			ID     int
			Method string
		}
		json.Unmarshal(frame, &request) // invalid JSON gets the last answer
		now := time.Now().Add(off).UnixMilli()
		answer := fmt.Sprintf(
			`"error":{"code":4030,"message":"plt_id_%s may not","data":{"reason":"forbidden","retryable":false}}`, secret)
		switch request.Method {
		case methods.Authenticate:
			answer = fmt.Sprintf(
				`"result":{"ok":true,"agentId":"ann","protocolVersion":%q,"hub":{"version":"v9.9.9","nowMs":%d},"limits":{}}`,
				protocol, now)
		case methods.Ping:
			answer = fmt.Sprintf(`"result":{"nowMs":%d}`, now)
		}
		whole := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,%s}`, request.ID, answer)
		if conn.Send(whole) != nil {
			return
		}
	}
}

// TestSizeText: bytes for people.
func TestSizeText(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{0: "0 B", 1023: "1023 B", 1 << 10: "1.0 KiB", 1536 << 20: "1.5 GiB",
		5 << 40: "5.0 TiB", 9000 << 40: "9000.0 TiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %s, expected %s", n, got, want)
		}
	}
}
