package rpc_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// helper registers an agent inside the hub that takes {prompt} and does nothing.
func (w *world) helper() {
	w.t.Helper()
	if _, err := w.hub.RegisterAgent(parley.AgentInfo{Name: "helper", Type: parley.AgentTypeAgent}); err != nil {
		w.t.Fatal(err)
	}
}

// session is what a method about sessions answers.
func (p *peer) session(method, params string) parley.Session {
	p.t.Helper()
	return sessionIn(p.t, string(p.must(method, params)))
}

// begin starts a session.
func (p *peer) begin(params string) parley.Session {
	p.t.Helper()
	return p.session(methods.StartSession, params)
}

func sessionIn(t testing.TB, text string) parley.Session {
	t.Helper()
	var s parley.Session
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

const counts = `{"name":"count","parameters_schema":{"type":"object","properties":{"n":{"type":"integer"}}},` +
	`"params_via":"stdin"}`

// host registers a runner whose agent is count.
func (w *world) host(token string, more string) *peer {
	w.t.Helper()
	p := w.with(token)
	p.must(methods.RegisterExecutor, `{"executorId":"h","agents":[],"mode":"push","capacity":1000,"graceMs":180000`+
		more+`}`)
	p.must(methods.RegisterBlueprints, `{"blueprints":[`+counts+`]}`)
	return p
}

// takes claims the turn that is offered next.
func (p *peer) takes() (offer parley.RequestTurn) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.notified(methods.NotifyRequestTurn)), &offer); err != nil {
		p.t.Fatal(err)
	}
	p.must(methods.ClaimTurn, fmt.Sprintf(`{"conversationId":%q,"claimId":%q}`, offer.ConversationID, offer.ClaimID))
	return offer
}

// answers ends a session whose turn was taken.
func (p *peer) answers(offer parley.RequestTurn, text string) {
	p.t.Helper()
	p.must(methods.SendMessage, fmt.Sprintf(
		`{"conversationId":%q,"claimId":%q,"finality":"conversation","payload":{"result":{"result_type":"deterministic",`+
			`"result_text":%q}}}`,
		offer.ConversationID, offer.ClaimID, text))
}

// TestSessionsAtEachDoor: a session that starts over one transport can be read over the others.
// Each transport has its form of errors.
func TestSessionsAtEachDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		host := w.host(w.as("admin").token(`{"agentId":"host"}`), "")
		ann := w.as("ann")

		for name, start := range map[string]func(params string) (status int, session parley.Session){
			"WebSocket": func(params string) (int, parley.Session) { return 0, ann.begin(params) },
			"POST /rpc": func(params string) (int, parley.Session) {
				status, _, body := w.post(speaks("ann"), strings.NewReader(
					`{"jsonrpc":"2.0","id":1,"method":"startSession","params":`+params+`}`))
				r := parseReply(t, body)
				if r.Error != nil {
					t.Fatal(body)
				}
				return status, sessionIn(t, string(r.Result))
			},
			"plain HTTP": func(params string) (int, parley.Session) {
				a := w.plain(speaks("ann"), "POST", "/sessions", params)
				s := sessionIn(t, a.body)
				if (a.status == 201) != (a.header.Get("Location") == "/sessions/"+s.SessionID) {
					t.Errorf("HTTP %d, Location %q", a.status, a.header.Get("Location"))
				}
				return a.status, s
			},
		} {
			params := fmt.Sprintf(`{"agentName":"count","parameters":{"n":3},"timeoutMs":1000,"clientRequestId":%q}`, name)
			status, first := start(params)
			if want := map[string]int{"POST /rpc": 200, "plain HTTP": 201}[name]; status != want || !first.TimedOut ||
				first.Status != parley.SessionPending || first.Duplicate {
				t.Errorf("%s: HTTP %d %+v", name, status, first)
			}
			offer := host.takes()
			begin := time.Now()
			answered := make(chan struct{})
			time.AfterFunc(500*time.Millisecond, func() {
				defer close(answered)
				host.answers(offer, "done")
			})
			status, again := start(params)
			<-answered
			if status == 201 || again.SessionID != first.SessionID || !again.Duplicate ||
				again.Status != parley.SessionCompleted || *again.Result.ResultText != "done" || again.TimedOut {
				t.Errorf("%s, met again: HTTP %d %+v", name, status, again)
			}
			if took := time.Since(begin); took != 500*time.Millisecond {
				t.Errorf("%s: it waited %v for the end", name, took)
			}
			over := ann.session(methods.GetSession, fmt.Sprintf(`{"sessionId":%q}`, first.SessionID))
			plain := w.plain(speaks("ann"), "GET", "/sessions/"+first.SessionID+"?timeoutMs=60000&progressSince=0", "")
			if got := sessionIn(t, plain.body); plain.status != 200 || *got.Result.ResultText != "done" ||
				*over.Result.ResultText != "done" {
				t.Errorf("%s, read: %v, %+v", name, plain, over)
			}
			stopped := w.plain(speaks("ann"), "POST", "/sessions/"+first.SessionID+"/stop", `{"reason":"too late"}`)
			if got := sessionIn(t, stopped.body); stopped.status != 200 || got.Status != parley.SessionCompleted {
				t.Errorf("%s, stopped: %v", name, stopped)
			}
		}
		for target, want := range map[string]string{
			"/sessions/ses_absent":                       "not_found",
			"/sessions/ses_absent?progressSince=x":       "invalid_params",
			"/sessions/ses_absent?progressSince=-1":      "validation_failed",
			"/sessions/ses_absent?timeoutMs=1&timeoutMs": "invalid_params",
			"/sessions/ses_absent?sessionId=ses_1":       "invalid_params",
			"/sessions/~tokens":                          "not_found",
		} {
			if got := w.plain(speaks("ann"), "GET", target, "").reason(); got != want {
				t.Errorf("GET %s: %q, want %q", target, got, want)
			}
		}
	})
}

// TestParameterFailure: the data of JSON-RPC and the problem have the members of the seed, and no
// other members of it.
func TestParameterFailure(t *testing.T) {
	const want = `"error":"parameter_validation_failed","message":"Parameters do not match agent's parameters_schema",` +
		`"agent_name":"count",` +
		`"validation_errors":[{"path":"$.n","message":"'three' is not of type 'integer'",` +
		`"schema_path":"properties.n.type"}],` +
		`"parameters_schema":{"type":"object","properties":{"n":{"type":"integer"}}}}`
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.host(devToken, "")
		const params = `{"agentName":"count","parameters":{"n":"three"}}`
		frame := w.as("ann").call(methods.StartSession, params)
		if !strings.HasSuffix(frame, `"data":{"reason":"parameter_validation_failed","retryable":false,`+want+`}}`) ||
			!strings.Contains(frame, `"code":4001,`) {
			t.Errorf("by JSON-RPC: %s", frame)
		}
		a := w.plain(speaks("ann"), "POST", "/sessions", params)
		head := `{"type":"urn:parley:error:parameter_validation_failed","title":"parameter validation failed","status":400,` +
			`"detail":"Parameters do not match agent's parameters_schema","code":4001,"reason":"parameter_validation_failed",` +
			`"retryable":false,`
		if a.status != 400 || a.body != head+want || a.header.Get("Content-Type") != parley.ProblemType {
			t.Errorf("by plain HTTP: %v", a)
		}
	})
}

// TestWhoSeesSessions: the caller that started a session, its participants and admins see it.
// Humans of the parent may stop it if they see it.
func TestWhoSeesSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.helper()
		admin := w.as("admin")
		admin.create(`{"conversationId":"case","participants":[{"id":"ann","kind":"human"},{"id":"bob","kind":"human"},` +
			`{"id":"pia","kind":"peer"}]}`)
		admin.create(`{"conversationId":"else","participants":[{"id":"ann","kind":"human"}]}`)
		start := func(token, parent string) string {
			return w.with(token).begin(`{"agentName":"helper","prompt":"x","mode":"async_poll"` + parent + `}`).SessionID
		}
		const inCase = `,"parentConversationId":"case"`
		ann := admin.token(`{"agentId":"ann"}`)
		for name, c := range map[string]struct {
			token      string
			read, stop string // of one in the case
			free       string // of one without a parent, to read
			begin      string // one without a parent
		}{
			"who has started it":    {token: `{"agentId":"ann"}`},
			"a human of the parent": {token: `{"agentId":"bob"}`, read: "not_found", free: "not_found"},
			"a peer of the parent":  {token: `{"agentId":"pia"}`, read: "not_found", stop: "not_found", free: "not_found"},
			"its agent":             {token: `{"agentId":"helper"}`, stop: "forbidden"},
			"a stranger":            {token: `{"agentId":"zed"}`, read: "not_found", stop: "not_found", free: "not_found"},
			"an admin":              {token: `{"agentId":"root","scopes":["admin"]}`},
			"one of the case": {token: `{"agentId":"ann","conversations":["case"]}`, free: "not_found",
				begin: "forbidden"},
			"one of another": {token: `{"agentId":"ann","conversations":["else"]}`, read: "not_found", stop: "not_found",
				free: "not_found", begin: "forbidden"},
			"one that reads": {token: `{"agentId":"ann","scopes":["read"]}`, stop: "forbidden", begin: "forbidden"},
			"one that writes": {token: `{"agentId":"ann","scopes":["write","create"]}`, read: "forbidden",
				free: "forbidden"},
			"one that may not begin": {token: `{"agentId":"ann","scopes":["read","write"]}`, begin: "forbidden"},
		} {
			child, free := start(ann, inCase), start(ann, "")
			token := admin.token(c.token)
			p := w.with(token)
			check := func(what, got, want string) {
				t.Helper()
				if got != want {
					t.Errorf("%s, %s: %q, want %q", name, what, got, want)
				}
			}
			id := fmt.Sprintf(`{"sessionId":%q}`, child)
			check("read", parseReply(t, p.call(methods.GetSession, id)).reason(), c.read)
			check("read over HTTP", w.plain(bearer(token), "GET", "/sessions/"+child, "").reason(), c.read)
			check("read without a parent", parseReply(t,
				p.call(methods.GetSession, fmt.Sprintf(`{"sessionId":%q}`, free))).reason(), c.free)
			check("stopped over HTTP", w.plain(bearer(token), "POST", "/sessions/"+child+"/stop", "").reason(), c.stop)
			check("stopped", parseReply(t, p.call(methods.StopSession, id)).reason(), c.stop)
			check("begun", parseReply(t, p.call(methods.StartSession,
				`{"agentName":"helper","prompt":"x","mode":"async_poll"}`)).reason(), c.begin)
			p.close()
		}
	})
}

// TestWaitingStartDelaysNoOne: starts that wait count as calls under way, and no other call waits
// for them.
func TestWaitingStartDelaysNoOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.helper()
		ann := w.as("ann")
		var ids []string
		for range limits.MaxInFlight - 1 {
			ids = append(ids, ann.start(methods.StartSession, `{"agentName":"helper","prompt":"x"}`))
		}
		synctest.Wait()
		begin := time.Now()
		ann.must(methods.Ping, `{}`)
		one := ann.start(methods.GetSession, `{"sessionId":"ses_1","timeoutMs":60000}`)
		synctest.Wait()
		if got := parseReply(t, ann.call(methods.Ping, `{}`)).reason(); got != "rate_limited" {
			t.Errorf("a call more than there may be: %q", got)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %v", took)
		}
		time.Sleep(time.Minute)
		for _, id := range append(ids, one) {
			if got := sessionIn(t, string(parseReply(t, ann.reply(id)).Result)); !got.TimedOut ||
				got.Status != parley.SessionPending {
				t.Fatalf("after a minute: %+v", got)
			}
		}
	})
}

// TestLostStartIsMet: the session of a call whose socket is cut, or whose hub drains, continues.
// The same call finds it.
func TestLostStartIsMet(t *testing.T) {
	const params = `{"agentName":"count","parameters":{"n":3},"clientRequestId":"k"}`
	for name, lose := range map[string]func(t *testing.T, w *world, ann *peer, id string){
		"cut": func(_ *testing.T, _ *world, ann *peer, _ string) { ann.close() },
		"drained": func(t *testing.T, w *world, ann *peer, id string) {
			w.restart()
			if got := parseReply(t, ann.reply(id)); got.reason() != "unavailable" || !got.Error.Data.Retryable {
				t.Errorf("the start that waits gets %+v", got.Error)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				host, ann := w.host(devToken, ""), w.as("ann")
				id := ann.start(methods.StartSession, params)
				offer := host.takes()
				lose(t, w, ann, id)
				if name == "drained" {
					host = w.host(devToken, fmt.Sprintf(`,"holding":[%q]`, offer.ClaimID))
				}
				again := w.as("ann")
				id = again.start(methods.StartSession, params)
				synctest.Wait()
				host.answers(offer, "1 2 3")
				got := sessionIn(t, string(parseReply(t, again.reply(id)).Result))
				if got.SessionID != offer.ConversationID || !got.Duplicate || got.Status != parley.SessionCompleted ||
					*got.Result.ResultText != "1 2 3" {
					t.Errorf("met: %+v", got)
				}
			})
		})
	}
}

// TestCommandToken: the token of a command starts, reads and stops its sessions over every
// transport, and may do nothing else. It ends with the claim.
func TestCommandToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.helper()
		host, ann := w.host(devToken, ""), w.as("ann")
		mine := ann.begin(`{"agentName":"count","mode":"async_poll"}`).SessionID
		other := ann.begin(`{"agentName":"helper","prompt":"x","mode":"async_poll"}`).SessionID
		offer := host.takes()
		token := "plc_" + mine + "_" + offer.ClaimID
		command := w.with(token)
		child := command.begin(`{"agentName":"helper","prompt":"x","timeoutMs":1}`)
		if child.ParentConversationID != mine || child.CreatedBy != "count" || child.Depth != 2 {
			t.Errorf("its child: %+v", child)
		}
		command.must(methods.Ping, `{}`)
		command.must(methods.ListAgents, `{}`)
		command.must(methods.GetSession, fmt.Sprintf(`{"sessionId":%q}`, child.SessionID))
		if a := w.plain(bearer(token), "POST", "/sessions/"+child.SessionID+"/stop", ""); a.status != 200 {
			t.Errorf("stopped over HTTP: %v", a)
		}
		for call, want := range map[[2]string]string{
			{methods.StartSession, `{"agentName":"helper","prompt":"x","mode":"async_poll"}`}: "forbidden",
			{methods.StartSession, `{"agentName":"helper","prompt":"x","parentConversationId":"` + other +
				`"}`}: "forbidden",
			{methods.GetSession, `{"sessionId":"` + other +
				`"}`}: "not_found",
			{methods.GetSession, `{"sessionId":"` + mine +
				`"}`}: "not_found",
			{methods.StopSession, `{"sessionId":"` + other +
				`"}`}: "not_found",
			{methods.Tail, `{"conversationId":"` + mine +
				`","sinceSeq":0}`}: "forbidden",
			{methods.SendMessage, `{"conversationId":"` + mine +
				`","payload":{"text":"x"},"finality":"turn"}`}: "forbidden",
			{methods.ListConversations, `{}`}:  "forbidden",
			{methods.WatchConversations, `{}`}: "forbidden",
			{methods.Subscribe, `{"conversationId":"` + mine +
				`"}`}: "forbidden",
			{methods.CreateConversation, `{"participants":[{"id":"count","kind":"peer"}]}`}: "forbidden",
			{methods.CreateToken, `{"agentId":"count"}`}:                                    "forbidden",
			{methods.CreateTicket, `{"conversationId":"` + mine +
				`"}`}: "forbidden",
			{methods.ListTokens, `{}`}: "forbidden",
			{methods.PutAttachment, `{"conversationId":"` + mine +
				`","data":"QUJD"}`}: "forbidden",
			{methods.RegisterExecutor, `{"executorId":"x","agents":["count"]}`}: "forbidden",
			{methods.RegisterBlueprints, `{"blueprints":[]}`}:                   "forbidden",
			{methods.ClaimTurn, `{"conversationId":"` + mine +
				`","turn":2}`}: "forbidden",
			{methods.RenewClaim, `{"conversationId":"` + mine + `","claimId":"` + offer.ClaimID +
				`"}`}: "forbidden",
			{methods.ReleaseClaim, `{"conversationId":"` + mine +
				`","claimId":"clm_2_1","outcome":"yield"}`}: "forbidden",
			{methods.Stats, `{}`}: "forbidden",
			{methods.GetUpdates, `{"conversationId":"` + mine +
				`"}`}: "forbidden",
			{methods.WaitForChange, `{"conversationId":"` + mine +
				`","sinceSeq":0}`}: "forbidden",
			{methods.GetAttachment, `{"conversationId":"` + mine + `","sha256":"` + strings.Repeat("0",
				64) + `"}`}: "forbidden",
		} {
			if got := parseReply(t, command.call(call[0], call[1])).reason(); got != want {
				t.Errorf("%s %s: %q, want %q", call[0], call[1], got, want)
			}
		}
		for _, forged := range []string{"plc_" + other + "_" + offer.ClaimID, "plc_" + mine + "_clm_2_99", "plc_" + mine,
			"plc_", "plc_" + mine + "_", token + "x"} {
			if a := w.plain(bearer(forged), "GET", "/agents", ""); a.status != 401 {
				t.Errorf("%s: %v", forged, a)
			}
		}
		if a := w.plain(http.Header{"Authorization": {"Bearer " + token}, "Parley-Agent": {"ann"}}, "GET", "/agents",
			""); a.status != 403 {
			t.Errorf("as somebody else: %v", a)
		}
		host.answers(offer, "done")
		synctest.Wait()
		if a := w.plain(bearer(token), "GET", "/agents", ""); a.status != 401 {
			t.Errorf("after the end: %v", a)
		}
		<-command.done
		if code := command.closeCode(); code != 4401 {
			t.Errorf("its socket is closed with %d", code)
		}
	})
}

// TestLargeResultsWaitForRoom: a client that requests a large result again and again and reads
// nothing makes the hub keep one.
func TestLargeResultsWaitForRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	for name, request := range map[string]string{
		"get":   `"method":"getSession","params":{"sessionId":"SESSION","timeoutMs":60000}`,
		"start": `"method":"startSession","params":{"agentName":"count","clientRequestId":"k","timeoutMs":60000}`,
		"stop":  `"method":"stopSession","params":{"sessionId":"SESSION"}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, &rpc.Options{WriteTimeout: time.Hour})
				host, alice := w.host(devToken, ""), w.as("alice")
				id := alice.begin(`{"agentName":"count","clientRequestId":"k","timeoutMs":1}`).SessionID
				deaf := w.idle(speaks("alice"))
				before := heap()
				request := strings.ReplaceAll(request, "SESSION", id)
				if name != "stop" { // all of them have something to say at once
					sendAll(t, deaf, 20, request)
				}
				host.answers(host.takes(), strings.Repeat("x", pageBytes))
				if name == "stop" {
					sendAll(t, deaf, 20, request)
				}
				synctest.Wait()
				if held := heap() - before; held > 12*pageBytes {
					t.Errorf("%d MiB are held for a peer that reads nothing", held>>20)
				}
				if got := alice.session(methods.GetSession,
					fmt.Sprintf(`{"sessionId":%q}`, id)); len(*got.Result.ResultText) != pageBytes {
					t.Errorf("another reader gets %d bytes", len(*got.Result.ResultText))
				}
			})
		})
	}
}
