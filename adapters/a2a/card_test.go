package a2a

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

func TestCards(t *testing.T) {
	w := newFrontWorld(t, func(o *Options) { o.Bearer, o.Issuer = true, "https://issuer.example.com/" })
	cards := w.server.Cards()
	for path, name := range map[string]string{"/a2a/echo" + cardPath: "echo", "/a2a/other" + cardPath: "other",
		cardPath: "echo"} {
		h := cards[path]
		if h == nil {
			t.Fatalf("no card at %s", path)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "https://hub.example.com"+path, nil))
		r := &reply{rec.Code, rec.Header(), rec.Body.String()}
		if r.status != 200 || r.json(t, "name") != name ||
			r.json(t, "supportedInterfaces.0.url") != "https://hub.example.com/a2a/"+name {
			t.Errorf("%s: HTTP %d %s", path, r.status, r.body)
		}
	}
	rec := httptest.NewRecorder()
	if cards["/a2a/other/.well-known/agent.json"] == nil {
		t.Error("no redirect for another agent")
	}
	cards["/.well-known/agent.json"].ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "https://hub.example.com/.well-known/agent.json", nil))
	if rec.Code != http.StatusPermanentRedirect || rec.Header().Get("Location") != "agent-card.json" {
		t.Errorf("agent.json: HTTP %d to %q, expected a redirect to agent-card.json", rec.Code, rec.Header().Get("Location"))
	}
	if len(cards) != 6 {
		t.Errorf("%d cards", len(cards))
	}
	modern, union := w.do("GET", w.url+cardPath, "", versionHeader, "1.0"), w.do("GET", w.url+cardPath, "")
	for _, c := range []struct {
		r    *reply
		path string
		want any
	}{
		{modern, "securityRequirements.0.schemes.bearer.list", []any{}},
		{modern, "securityRequirements.1.schemes.openIdConnect.list", []any{}},
		{modern, "securitySchemes.bearer.httpAuthSecurityScheme.scheme", "Bearer"},
		{modern, "securitySchemes.openIdConnect.openIdConnectSecurityScheme.openIdConnectUrl",
			"https://issuer.example.com/.well-known/openid-configuration"},
		{modern, "capabilities.streaming", true}, {modern, "capabilities.extendedAgentCard", true},
		{modern, "capabilities.pushNotifications", nil},
		{modern, "description", "It says what it hears."}, {modern, "version", "test"}, {modern, "skills.0.id", "echo"},
		{modern, "skills.0.tags.0", "conversation"},
		{modern, "supportedInterfaces.0.protocolBinding", "JSONRPC"}, {modern, "supportedInterfaces.0.protocolVersion",
			"1.0"},
		{modern, "supportedInterfaces.1.protocolBinding", "HTTP+JSON"}, {modern, "supportedInterfaces.3.protocolVersion",
			"0.3"}, {modern, "supportedInterfaces.4", nil},
		{modern, "url", nil}, {modern, "security", nil}, {modern, "protocolVersion", nil},
		{modern, "supportedInterfaces.0.tenant", nil},
		{union, "url", w.url}, {union, "protocolVersion", "0.3"}, {union, "preferredTransport", "JSONRPC"},
		{union, "additionalInterfaces.0.transport", "HTTP+JSON"},
		{union, "security.0.bearer", []any{}}, {union, "securitySchemes.bearer.type", "http"},
		{union, "securitySchemes.bearer.httpAuthSecurityScheme.scheme", "Bearer"},
		{union, "securitySchemes.openIdConnect.type", "openIdConnect"}, {union, "supportsAuthenticatedExtendedCard", true},
		{union, "supportedInterfaces.0.protocolVersion", "1.0"},
		{union, "securityRequirements", nil},
	} {
		if got := c.r.json(t, c.path); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is %v and not %v", c.path, got, c.want)
		}
	}
	push := newFrontWorld(t, func(o *Options) { o.Push = &Push{} })
	if r := push.do("GET", push.url+cardPath, ""); r.json(t, "capabilities.pushNotifications") != true ||
		r.json(t, "securitySchemes") != nil {
		t.Errorf("with push notifications and no tokens: %s", r.body)
	}
	elsewhere := newFrontWorld(t, func(o *Options) { o.URL = "https://hub.example.com/parley/" })
	if r := elsewhere.do("GET", elsewhere.url+cardPath, ""); r.json(t,
		"url") != "https://hub.example.com/parley/a2a/echo" {
		t.Errorf("with an address of its own: %s", r.body)
	}
}

// An unchanged card is not sent again, and caches keep the cards of both versions apart.
func TestCardCaching(t *testing.T) {
	w := newFrontWorld(t, nil)
	for _, v := range []string{"1.0", ""} {
		r := w.do("GET", w.url+cardPath, "", versionHeader, v)
		tag := r.header.Get("ETag")
		if tag == "" || !strings.Contains(r.header.Get("Cache-Control"), "max-age=") || r.header.Get("Last-Modified") == "" ||
			r.header.Get("Vary") != versionHeader || r.header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", r.header)
		}
		for _, given := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			if r := w.do("GET", w.url+cardPath, "", versionHeader, v, "If-None-Match",
				given); r.status != http.StatusNotModified || r.body != "" {
				t.Errorf("If-None-Match %s: HTTP %d %s", given, r.status, r.body)
			}
		}
		other := "1.0"
		if v == "1.0" {
			other = ""
		}
		for _, given := range []string{`"x"`, w.do("GET", w.url+cardPath, "", versionHeader, other).header.Get("ETag")} {
			if r := w.do("GET", w.url+cardPath, "", versionHeader, v, "If-None-Match", given); r.status != http.StatusOK {
				t.Errorf("If-None-Match %s: HTTP %d", given, r.status)
			}
		}
	}
	if r := w.do(http.MethodHead, w.url+cardPath, ""); r.status != 200 || r.body != "" {
		t.Errorf("HEAD: HTTP %d", r.status)
	}
	if r := w.do(http.MethodPost, w.url+cardPath, "{}"); r.status != 405 || r.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: HTTP %d, Allow %q", r.status, r.header.Get("Allow"))
	}
}

// askingEverywhere requests the extended card in each version and binding.
func askingEverywhere(w *frontWorld) map[string]*reply {
	return map[string]*reply{
		"1.0 result.":  w.rpc("GetExtendedAgentCard", `{}`),
		"1.0 ":         w.do("GET", w.url+"/extendedAgentCard", ""),
		"0.3 result.":  w.rpc("agent/getAuthenticatedExtendedCard", `{}`),
		"0.3 ":         w.do("GET", w.url+"/v1/card", ""),
		"none result.": w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`),
	}
}

// Authenticated callers see the parameters of a deterministic agent, and the participants of a
// scenario.
func TestExtendedCard(t *testing.T) {
	hub := sdktest.NewHub(t)
	schema := `{"type":"object","properties":{"n":{"type":"integer"}}}`
	hub.RegisterAgent(t, parley.AgentInfo{Name: "echo", Type: parley.AgentTypeDeterministic, Description: "d",
		ParametersSchema: json.RawMessage(schema)})
	client := hub.Client(t, "alice")
	connect := func(o *Options) {
		o.Bearer = true
		o.Connect = func(*http.Request) (parley.Client, func(), error) { return client, nil, nil }
	}
	last := func(r *reply, at, path string) any { return r.json(t, at+"capabilities.extensions.3."+path) }
	for name, r := range askingEverywhere(newFrontWorld(t, connect)) {
		_, at, _ := strings.Cut(name, " ")
		if last(r, at, "uri") != ParametersExtension ||
			last(r, at, "params.parameters_schema.properties.n.type") != "integer" {
			t.Errorf("%s: HTTP %d %s", name, r.status, r.body)
		}
		if s, _ := r.json(t, at+"skills.0.description").(string); !strings.Contains(s, schema) ||
			r.json(t, at+"securityRequirements") != nil {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	scenario := func(o *Options) {
		connect(o)
		o.Agents[0] = Agent{Name: "echo", Scenario: &Scenario{Seat: "me", Params: parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "me", Kind: parley.KindPeer}, {ID: "judge", Kind: parley.KindAgent,
				Role: "judges", Private: "secret"}}}}}
	}
	for name, r := range askingEverywhere(newFrontWorld(t, scenario)) {
		_, at, _ := strings.Cut(name, " ")
		if last(r, at, "params.participants.0.id") != "judge" || last(r, at, "params.participants.1") != nil ||
			strings.Contains(r.body, "secret") {
			t.Errorf("%s: HTTP %d %s", name, r.status, r.body)
		}
	}
	unknown := newFrontWorld(t, func(o *Options) { connect(o); o.Agents[0].Speaks = "nobody" })
	for name, r := range askingEverywhere(unknown) {
		if _, at, _ := strings.Cut(name, " "); r.status != 200 || r.json(t, at+"name") != "echo" ||
			r.json(t, at+"capabilities.extensions.3") != nil {
			t.Errorf("%s, an agent that is not there: HTTP %d %s", name, r.status, r.body)
		}
	}
}

// refusing is a client that may not list agents.
type refusing struct {
	parley.Client
	err error
}

func (r refusing) ListAgents(context.Context, *parley.ListAgentsParams) (*parley.ListAgentsResult, error) {
	return nil, r.err
}

func TestExtendedCardRefused(t *testing.T) {
	for err, want := range map[error]int{parley.ErrForbidden: 200, parley.ErrUnauthenticated: 401,
		parley.ErrUnavailable: 503} {
		w := newFrontWorld(t, func(o *Options) {
			o.Connect = func(*http.Request) (parley.Client, func(), error) { return refusing{err: err}, nil, nil }
		})
		for name, r := range askingEverywhere(w) {
			if r.status != want {
				t.Errorf("%v, %s: HTTP %d %s", err, name, r.status, r.body)
			}
		}
	}
}

func TestNew(t *testing.T) {
	good := func(change func(*Options)) error {
		o := frontOptions(&Options{})
		change(o)
		_, err := New(o)
		return err
	}
	if err := good(func(*Options) {}); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Options){
		"no Connect":        func(o *Options) { o.Connect = nil },
		"no agents":         func(o *Options) { o.Agents = nil },
		"twins":             func(o *Options) { o.Agents[1].Name = "echo" },
		"no name":           func(o *Options) { o.Agents[0].Name = "" },
		"a name with /":     func(o *Options) { o.Agents[0].Name = "a/b" },
		"nobody stands":     func(o *Options) { o.Agents[0].Speaks = "" },
		"both":              func(o *Options) { o.Agents[0].Scenario = &Scenario{} },
		"no such agent":     func(o *Options) { o.Agents[0].Speaks = "a b" },
		"no address":        func(o *Options) { o.URL = "hub.example.com" },
		"another scheme":    func(o *Options) { o.URL = "ftp://hub.example.com" },
		"an address with ?": func(o *Options) { o.URL = "https://hub.example.com/?a=b" },
	} {
		if good(change) == nil {
			t.Errorf("%s: taken", name)
		}
	}
	o := frontOptions(&Options{})
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Agents[0].Name = "changed"
	if s.agent("echo") == nil {
		t.Error("the agents are not a copy")
	}
}
