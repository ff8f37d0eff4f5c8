package torture

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
)

// crawlerBlueprint is the example of the seed, except its command.
const crawlerBlueprint = `{
  "name": "web-crawler",
  "description": "Crawls websites to specified depth",
  "argv": ["sh", "crawler.sh"],
  "parameters_schema": {
    "type": "object",
    "required": ["url"],
    "properties": {
      "url": { "type": "string", "format": "uri" },
      "depth": { "type": "integer", "default": 2 }
    }
  }
}`

const crawlerProgram = `for argument; do
  case $argument in
    --url=*) url=${argument#*=} ;;
    --depth=*) depth=${argument#*=} ;;
    *) echo "what is $argument?" >&2; exit 2 ;;
  esac
done
echo "crawling $url" >&2
printf '{"pages_crawled":%s,"start":"%s"}\n' "$((depth * 21))" "$url"
`

// TestFlowOfTheSeed plays the flow diagram of the seed between processes over plain HTTP. It lists
// agents, sends invalid parameters, corrects them by the refusal, runs the agent, and receives a
// callback with the structured result.
func TestFlowOfTheSeed(t *testing.T) {
	f := newFamily(t)
	f.write("crawler/web-crawler.json", crawlerBlueprint)
	f.write("crawler/crawler.sh", crawlerProgram)
	crawler := f.hubRunner("crawler", "--runner", "crawler-host")
	agent := f.awaitAgent("web-crawler")
	o := &orchestrator{t: t, hub: f.hub}
	o.begin()

	listed := o.list("web-crawler")
	if listed.Type != parley.AgentTypeDeterministic || !sameJSON(t, listed.ParametersSchema, agent.ParametersSchema) ||
		listed.RunnerID != "crawler-host" {
		t.Errorf("listed as %+v", listed)
	}
	parameters := map[string]any{"url": "not-a-url", "depth": "deep"}
	refusal := o.refused(parameters)
	if refusal.Error != "parameter_validation_failed" || refusal.AgentName != "web-crawler" ||
		!sameJSON(t, refusal.ParametersSchema, listed.ParametersSchema) ||
		refusal.Message == "" || len(refusal.ValidationErrors) != 2 {
		t.Fatalf("the refusal is %+v", refusal)
	}
	o.correct(parameters, refusal)
	if n := o.sessions(); n != 0 {
		t.Errorf("the refused call has made %d sessions", n)
	}
	id := o.start(parameters)
	o.yield()
	c := o.callback()
	var data struct {
		Pages int    `json:"pages_crawled"`
		Start string `json:"start"`
	}
	if c.Result == nil || json.Unmarshal(c.Result.ResultData, &data) != nil || c.ChildSessionID != id ||
		c.Status != parley.SessionCompleted ||
		data.Pages != 42 || data.Start != "https://example.com" || c.Result.ExitCode == nil || *c.Result.ExitCode != 0 ||
		c.Result.ResultText == nil || !strings.Contains(*c.Result.ResultText, `"pages_crawled":42`) ||
		c.Result.ResultType != parley.AgentTypeDeterministic {
		t.Errorf("the callback is %+v with %+v", c, c.Result)
	}
	crawler.Stop(t)
	f.end()
}

// orchestrator is an agent that starts others, over plain HTTP.
type orchestrator struct {
	t   *testing.T
	hub *hubproc.Hub
	id  string // of its conversation
}

// call makes a request and returns the status and the body.
func (o *orchestrator) call(method, path string, body any) (int, []byte) {
	o.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		o.t.Fatal(err)
	}
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(o.t.Context(), method, o.hub.HTTP()+path, in)
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + hubproc.Token}, "Parley-Agent": {"orchestrator"},
		"Content-Type": {"application/json"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20)); err != nil {
		o.t.Fatal(err)
	}
	return resp.StatusCode, b
}

// get makes a request that must succeed.
func (o *orchestrator) get(method, path string, body, into any) {
	o.t.Helper()
	status, answer := o.call(method, path, body)
	if status >= 300 {
		o.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		o.t.Fatalf("%s %s: %v: %s", method, path, err, answer)
	}
}

// begin makes the conversation in which it works.
func (o *orchestrator) begin() {
	o.t.Helper()
	var s parley.Snapshot
	o.get(http.MethodPost, "/conversations", parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "orchestrator", Kind: parley.KindPeer}, {ID: "ann", Kind: parley.KindHuman}},
		StartsWith:   "orchestrator",
	}, &s)
	o.id = s.ConversationID
}

// list is list_agent_blueprints of the seed.
func (o *orchestrator) list(name string) parley.AgentInfo {
	o.t.Helper()
	var r parley.ListAgentsResult
	o.get(http.MethodGet, "/agents", nil, &r)
	for _, a := range r.Agents {
		if a.Name == name {
			return a
		}
	}
	o.t.Fatalf("%s is not listed: %+v", name, r.Agents)
	return parley.AgentInfo{}
}

func (o *orchestrator) params(parameters map[string]any) any {
	return map[string]any{"agentName": "web-crawler", "parameters": parameters, "mode": parley.ModeAsyncCallback,
		"parentConversationId": o.id}
}

// refused starts a session that must be refused, with 400 and all that is needed to mend the call.
func (o *orchestrator) refused(parameters map[string]any) (r parley.ValidationData) {
	o.t.Helper()
	status, answer := o.call(http.MethodPost, "/sessions", o.params(parameters))
	if status != http.StatusBadRequest {
		o.t.Fatalf("invalid parameters: %d %s", status, answer)
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		o.t.Fatalf("%v: %s", err, answer)
	}
	return r
}

// correct corrects parameters by a refusal, as a model does: it sets the invalid values that the
// schema requires, and omits the others.
func (o *orchestrator) correct(parameters map[string]any, r parley.ValidationData) {
	o.t.Helper()
	var schema struct {
		Required   []string                  `json:"required"`
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(r.ParametersSchema, &schema); err != nil {
		o.t.Fatal(err)
	}
	for _, wrong := range r.ValidationErrors {
		name := strings.TrimPrefix(wrong.Path, "$.")
		property := schema.Properties[name]
		switch {
		case property == nil || !strings.HasPrefix(wrong.SchemaPath, "properties."+name+"."):
			o.t.Fatalf("nothing can be made of %+v", wrong)
		case property["format"] == "uri":
			parameters[name] = "https://example.com"
		case property["default"] != nil:
			delete(parameters, name)
		}
	}
}

// sessions counts those that the conversation knows of.
func (o *orchestrator) sessions() (n int) {
	o.t.Helper()
	for _, e := range o.events() {
		if s, err := e.System(); e.Type == parley.TypeSystem && err == nil && s.Kind == parley.KindSessionStarted {
			n++
		}
	}
	return n
}

func (o *orchestrator) events() []parley.Event {
	o.t.Helper()
	var s parley.Snapshot
	o.get(http.MethodGet, "/conversations/"+o.id, nil, &s)
	return s.Events
}

// start is start_agent_session of the seed.
func (o *orchestrator) start(parameters map[string]any) string {
	o.t.Helper()
	var s parley.Session
	o.get(http.MethodPost, "/sessions", o.params(parameters), &s)
	if s.SessionID == "" || s.Mode != parley.ModeAsyncCallback || s.Callback != parley.CallbackPending &&
		s.Callback != parley.CallbackDelivered {
		o.t.Fatalf("started: %+v", s)
	}
	return s.SessionID
}

// yield ends its turn.
func (o *orchestrator) yield() {
	o.t.Helper()
	var r parley.SendResult
	o.get(http.MethodPost, "/conversations/"+o.id+"/messages", map[string]any{"payload": map[string]any{"text": "I wait for the crawler."}, "finality": "turn"}, &r)
}

// callback waits for the message of the hub, after which it has the floor again.
func (o *orchestrator) callback() parley.Callback {
	o.t.Helper()
	var told parley.Callbacks
	there := eventually(o.t.Context(), func() bool {
		for _, e := range o.events() {
			if e.Type != parley.TypeMessage || e.From != parley.HubID {
				continue
			}
			m, err := e.Message()
			if err != nil || json.Unmarshal(m.Data, &told) != nil {
				o.t.Fatalf("%v: %s", err, e.Payload)
			}
		}
		return len(told.Callbacks) > 0
	})
	if !there || len(told.Callbacks) != 1 {
		o.t.Fatalf("the callbacks are %+v", told)
	}
	var s parley.Snapshot
	o.get(http.MethodGet, "/conversations/"+o.id, nil, &s)
	if s.Guidance.Speaker != "orchestrator" {
		o.t.Errorf("after the callback the guidance is %+v", s.Guidance)
	}
	return told.Callbacks[0]
}

func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		t.Fatalf("no JSON: %s and %s", a, b)
	}
	return reflect.DeepEqual(x, y)
}
