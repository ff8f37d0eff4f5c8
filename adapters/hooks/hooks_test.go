package hooks_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/hooks"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// secretOf makes a secret of Standard Webhooks of 32 equal bytes.
func secretOf(letter string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

// world is a hub with a conversation, and a hook called orders that posts there as shop.
type world struct {
	t            *testing.T
	hub          *sdktest.Hub
	conversation string
	url          string
}

func newWorld(t *testing.T, secrets ...string) *world {
	h := sdktest.NewHub(t)
	w := &world{t: t, hub: h, conversation: h.Create(t, "shop", "bot")}
	w.url = w.serve(hooks.Hook{Name: "orders", Conversation: w.conversation, Client: h.InProcess(t, "shop"), Schema: "order.v1", Tags: []string{"new"}, Secrets: secrets})
	return w
}

// serve serves hooks over a socket and returns their address.
func (w *world) serve(all ...hooks.Hook) string {
	w.t.Helper()
	handler, err := hooks.New(&hooks.Options{Hooks: all})
	if err != nil {
		w.t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	w.t.Cleanup(s.Close)
	return s.URL
}

// delivery is what is sent; zero fields are those of a good one.
type delivery struct {
	url, path, secret, id, body, media string
	at                                 time.Time
	change                             func(http.Header)
}

type answer struct {
	status  int
	closes  bool // the connection
	header  http.Header
	posted  parley.SeqResult
	problem parley.Problem
	text    string
}

func (w *world) send(d delivery) answer {
	w.t.Helper()
	or := func(given, standing string) string {
		if given == "" {
			return standing
		}
		return given
	}
	d.body, d.id, d.secret = or(d.body, `{"order":1}`), or(d.id, "msg_1"), or(d.secret, secretOf("a"))
	if d.at.IsZero() {
		d.at = time.Now()
	}
	key, err := webhooks.NewWebhook(d.secret)
	if err != nil {
		w.t.Fatal(err)
	}
	signature, err := key.Sign(d.id, d.at, []byte(d.body))
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, or(d.url, w.url)+or(d.path, "/hooks/orders"), strings.NewReader(d.body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", or(d.media, "application/json"))
	r.Header.Set("webhook-id", d.id)
	r.Header.Set("webhook-timestamp", fmt.Sprint(d.at.Unix()))
	r.Header.Set("webhook-signature", signature)
	if d.change != nil {
		d.change(r.Header)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	a := answer{status: resp.StatusCode, closes: resp.Close, header: resp.Header, text: string(text)}
	into := any(&a.problem)
	if a.status == http.StatusAccepted {
		into = &a.posted
	}
	if err := json.Unmarshal(text, into); err != nil {
		w.t.Fatalf("%d %s: %v", a.status, text, err)
	}
	return a
}

// notes returns the notes of the conversation.
func (w *world) notes() (all []parley.System, from []string) {
	w.t.Helper()
	r, err := w.hub.Admin(w.t).Tail(w.t.Context(), &parley.TailParams{ConversationID: w.conversation})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range r.Events {
		s, err := e.System()
		if e.Type == parley.TypeSystem && err == nil && s.Kind == parley.KindNote {
			all, from = append(all, s), append(from, e.From)
		}
	}
	return all, from
}

// TestDeliveryIsANote checks that a signed body is posted unchanged, and answered after the log has
// it.
func TestDeliveryIsANote(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	const body = `{"order": 1, "text": "<b>&", "n": 1.0}` + "\n"
	a := w.send(delivery{body: body})
	if a.status != http.StatusAccepted || a.posted.Seq == 0 || a.posted.Duplicate || a.closes {
		t.Fatalf("%d %s", a.status, a.text)
	}
	notes, from := w.notes()
	if len(notes) != 1 || from[0] != "shop" || notes[0].Schema != "order.v1" || len(notes[0].Tags) != 1 || string(notes[0].Data) != `{"order":1,"text":"<b>&","n":1.0}` {
		t.Errorf("%+v from %v", notes, from)
	}
}

// TestDeliveredTwice: the same delivery is posted once, and the same id with another body is refused.
func TestDeliveredTwice(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	first := w.send(delivery{})
	again := w.send(delivery{at: time.Now().Add(-time.Minute)}) // a retry has a new signature
	if again.status != http.StatusAccepted || !again.posted.Duplicate || again.posted.Seq != first.posted.Seq {
		t.Errorf("%d %s, expected a duplicate of seq %d", again.status, again.text, first.posted.Seq)
	}
	other := w.send(delivery{body: `{"order":2}`})
	if other.status != http.StatusConflict || other.problem.Reason != "idempotency_conflict" {
		t.Errorf("%d %s, expected 409 idempotency_conflict", other.status, other.text)
	}
	if notes, _ := w.notes(); len(notes) != 1 {
		t.Errorf("%d notes, expected 1", len(notes))
	}
}

// TestHooksShareNoIDs: two hooks of one conversation and one participant may be sent the same id. An id of any length is one.
func TestHooksShareNoIDs(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	shop := w.hub.InProcess(t, "shop")
	url := w.serve(
		hooks.Hook{Name: "orders", Conversation: w.conversation, Client: shop, Schema: "order.v1", Secrets: []string{secretOf("a")}},
		hooks.Hook{Name: "returns", Conversation: w.conversation, Client: shop, Schema: "return.v1", Secrets: []string{secretOf("a")}},
	)
	long := strings.Repeat("x", 1000)
	for _, id := range []string{"msg_1", long, long + "y"} {
		for _, path := range []string{"/hooks/orders", "/hooks/returns"} {
			if a := w.send(delivery{url: url, path: path, id: id}); a.status != http.StatusAccepted || a.posted.Duplicate {
				t.Errorf("%s %.10s: %d %s", path, id, a.status, a.text)
			}
		}
	}
	if a := w.send(delivery{url: url, id: long}); !a.posted.Duplicate {
		t.Errorf("a long id again: %d %s, expected a duplicate", a.status, a.text)
	}
	if notes, _ := w.notes(); len(notes) != 6 {
		t.Errorf("%d notes, expected 6", len(notes))
	}
}

// TestBadSignatures: all of them, and names that no hook has, are answered alike, and nothing is posted.
func TestBadSignatures(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	set := func(name, value string) func(http.Header) {
		return func(h http.Header) { h.Set(name, value) }
	}
	var told string
	for what, d := range map[string]delivery{
		"another secret":         {secret: secretOf("b")},
		"no such hook":           {path: "/hooks/none"},
		"no such hook, unsigned": {path: "/hooks/none", change: func(h http.Header) { h.Del("webhook-signature") }},
		"no name":                {path: "/hooks/"},
		"a path below":           {path: "/hooks/orders/more"},
		"no signature":           {change: func(h http.Header) { h.Del("webhook-signature") }},
		"no id":                  {change: func(h http.Header) { h.Del("webhook-id") }},
		"another id":             {change: set("webhook-id", "msg_2")},
		"no time":                {change: func(h http.Header) { h.Del("webhook-timestamp") }},
		"another time":           {change: set("webhook-timestamp", fmt.Sprint(time.Now().Unix()-1))},
		"a time that is none":    {change: set("webhook-timestamp", "now")},
		"too old":                {at: time.Now().Add(-5*time.Minute - 10*time.Second)},
		"too new":                {at: time.Now().Add(6 * time.Minute)},
		"another version":        {change: func(h http.Header) { h.Set("webhook-signature", "v2"+h.Get("webhook-signature")[2:]) }},
		"nothing":                {change: set("webhook-signature", "v1,")},
	} {
		a := w.send(d)
		if a.status != http.StatusUnauthorized || a.problem.Reason != "unauthenticated" || !a.closes {
			t.Errorf("%s: %d %s, expected 401 and the end of the connection", what, a.status, a.text)
		}
		if told == "" {
			told = a.text
		}
		if a.text != told {
			t.Errorf("%s: %s, and another was told %s", what, a.text, told)
		}
	}
	if notes, _ := w.notes(); len(notes) != 0 {
		t.Errorf("%d notes, expected none", len(notes))
	}
	if a := w.send(delivery{at: time.Now().Add(-4 * time.Minute)}); a.status != http.StatusAccepted {
		t.Errorf("four minutes old: %d %s", a.status, a.text)
	}
	if a := w.send(delivery{id: "msg_2", change: func(h http.Header) {
		h.Set("webhook-signature", "v1,bm90aGluZw== "+h.Get("webhook-signature"))
	}}); a.status != http.StatusAccepted {
		t.Errorf("one of two signatures is good: %d %s", a.status, a.text)
	}
}

// TestSecretsGiveWay: while a hook has two secrets, either is taken.
func TestSecretsGiveWay(t *testing.T) {
	w := newWorld(t, secretOf("a"), secretOf("b"))
	for i, secret := range []string{secretOf("a"), secretOf("b")} {
		if a := w.send(delivery{secret: secret, id: fmt.Sprint("msg_", i)}); a.status != http.StatusAccepted {
			t.Errorf("secret %d: %d %s", i, a.status, a.text)
		}
	}
	if a := w.send(delivery{secret: secretOf("c")}); a.status != http.StatusUnauthorized {
		t.Errorf("a third: %d %s", a.status, a.text)
	}
}

// TestBodies checks that a body that is too large or not JSON is refused and not posted.
func TestBodies(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	large := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for i, c := range []struct {
		media, body string
		status      int
	}{
		{"application/json; charset=utf-8", `[1]`, 202},
		{"application/cloudevents+json", `null`, 202},
		{"text/plain", `{}`, 415},
		{"application/x-www-form-urlencoded", `a=b`, 415},
		{" ", `{}`, 415},
		{"", `{"a":`, 400},
		{"", `{} {}`, 400},
		{"", "\"\xff\"", 400},
		{"", strings.Repeat("[", 56) + strings.Repeat("]", 56), 202},
		{"", strings.Repeat("[", 57) + strings.Repeat("]", 57), 400},
		{"", `{"text": "` + strings.Repeat(`[\"`, 60) + `"}`, 202}, // brackets in a text do not nest
		{"", large(hooks.MaxBodyBytes), 202},
		{"", large(hooks.MaxBodyBytes + 1), 413},
	} {
		if a := w.send(delivery{id: fmt.Sprint("msg_", i), media: c.media, body: c.body}); a.status != c.status {
			t.Errorf("%q %.40s: %d %s, expected %d", c.media, c.body, a.status, a.text, c.status)
		}
	}
	if notes, _ := w.notes(); len(notes) != 5 {
		t.Errorf("%d notes, expected 5", len(notes))
	}
	resp, err := http.Get(w.url + "/hooks/orders")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != http.MethodPost {
		t.Errorf("GET: %s", resp.Status)
	}
}

// TestHubRefuses: a closed conversation is named; what who runs the hub can mend may be sent again.
func TestHubRefuses(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	one := func(conversation, agent string) string {
		return w.serve(hooks.Hook{Name: "orders", Conversation: conversation, Client: w.hub.InProcess(t, agent), Schema: "order.v1", Secrets: []string{secretOf("a")}})
	}
	for what, url := range map[string]string{"no such conversation": one("cnv_none", "shop"), "no seat in it": one(w.conversation, "stranger")} {
		if a := w.send(delivery{url: url}); a.status != http.StatusServiceUnavailable || a.problem.Reason != "unavailable" || a.header.Get("Retry-After") != "60" {
			t.Errorf("%s: %d %s", what, a.status, a.text)
		}
	}
	if _, err := w.hub.Admin(t).CloseConversation(t.Context(), &parley.CloseConversationParams{ConversationID: w.conversation}); err != nil {
		t.Fatal(err)
	}
	if a := w.send(delivery{}); a.status != http.StatusConflict || a.problem.Reason != "conversation_closed" {
		t.Errorf("closed: %d %s", a.status, a.text)
	}
	w.hub.Drain(t)
	if a := w.send(delivery{id: "msg_2"}); a.status != http.StatusServiceUnavailable {
		t.Errorf("the hub stops: %d %s", a.status, a.text)
	}
}

// TestInvalidHooks checks that New refuses invalid hooks, and that its error has no secret.
func TestInvalidHooks(t *testing.T) {
	h := sdktest.NewHub(t)
	client := h.InProcess(t, "shop")
	good := hooks.Hook{Name: "orders", Client: client, Secrets: []string{secretOf("a")}}
	short := "whsec_" + base64.StdEncoding.EncodeToString([]byte("canary-canary-canary-23"))
	for what, c := range map[string]struct {
		hooks []hooks.Hook
		want  string
	}{
		"no name":        {[]hooks.Hook{{Client: client, Secrets: good.Secrets}}, "invalid name"},
		"no secret":      {[]hooks.Hook{{Name: "orders", Client: client}}, "has no secret"},
		"no client":      {[]hooks.Hook{{Name: "orders", Secrets: good.Secrets}}, "has no client"},
		"an empty key":   {[]hooks.Hook{{Name: "orders", Client: client, Secrets: []string{"whsec_"}}}, "24 to 64 bytes"},
		"a short one":    {[]hooks.Hook{{Name: "orders", Client: client, Secrets: []string{secretOf("a"), short}}}, "secret 2: expected whsec_"},
		"no prefix":      {[]hooks.Hook{{Name: "orders", Client: client, Secrets: []string{secretOf("a")[6:]}}}, "24 to 64 bytes"},
		"two of a name":  {[]hooks.Hook{good, good}, "two hooks have the name"},
		"not in base64":  {[]hooks.Hook{{Name: "orders", Client: client, Secrets: []string{"whsec_canary-canary-canary-canary-canary!"}}}, "24 to 64 bytes"},
		"a name of none": {[]hooks.Hook{{Name: "a/b", Client: client, Secrets: good.Secrets}}, "invalid name"},
	} {
		_, err := hooks.New(&hooks.Options{Hooks: c.hooks})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected it to say %q", what, err, c.want)
			continue
		}
		for _, hook := range c.hooks {
			for _, secret := range hook.Secrets {
				if secret != "whsec_" && strings.Contains(err.Error(), secret) {
					t.Errorf("%s: the error has the secret", what)
				}
			}
		}
	}
}
