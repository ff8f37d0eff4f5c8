package hooks_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/adapters/hooks"
)

const (
	textSecret   = "whsec_5f4dcc3b5aa765d61d8327deb882cf99"
	slackVerify  = `{"token":"t","challenge":"3eZbrw1a","type":"url_verification"}`
	eventOne     = `{"id":"evt_1","event_id":"Ev1","pending_webhooks":1}`
	eventChanged = `{"id":"evt_1","event_id":"Ev1","pending_webhooks":0}`
	jsonMedia    = "application/json"
	formMedia    = "application/x-www-form-urlencoded"
)

func sum(key, text string) string {
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, text)
	return hex.EncodeToString(mac.Sum(nil))
}

// The functions below return the headers of a delivery as its sender computes them.

func signSvix(body string, at time.Time) http.Header {
	text := fmt.Sprintf("msg_1.%d.%s", at.Unix(), body)
	raw, _ := hex.DecodeString(sum(strings.Repeat("a", 32), text))
	h := http.Header{}
	h.Set("Svix-Id", "msg_1")
	h.Set("Svix-Timestamp", fmt.Sprint(at.Unix()))
	h.Set("Svix-Signature", "v1,"+base64.StdEncoding.EncodeToString(raw))
	return h
}

func signGitHub(body string, _ time.Time) http.Header {
	h := http.Header{}
	h.Set("X-Hub-Signature-256", "sha256="+sum(textSecret, body))
	h.Set("X-Github-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	h.Set("X-Github-Event", "pull_request")
	return h
}

func signStripe(body string, at time.Time) http.Header {
	h := http.Header{}
	v1 := sum(textSecret, fmt.Sprintf("%d.%s", at.Unix(), body))
	h.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%s,v1=%s,v0=00", at.Unix(), sum("another", body), v1))
	return h
}

func signSlack(body string, at time.Time) http.Header {
	h := http.Header{}
	h.Set("X-Slack-Request-Timestamp", fmt.Sprint(at.Unix()))
	h.Set("X-Slack-Signature", "v0="+sum(textSecret, fmt.Sprintf("v0:%d:%s", at.Unix(), body)))
	return h
}

// post delivers a body to /hooks/NAME and returns the status and the text of the answer.
func (w *world) post(base, name, media, body string, h http.Header) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, base+"/hooks/"+name, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = h.Clone()
	r.Header.Set("Content-Type", media)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestSchemes delivers events as Svix, GitHub, Stripe and Slack sign them.
func TestSchemes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		scheme hooks.Scheme
		secret string
		sign   func(body string, at time.Time) http.Header
		// names is the header with the signature; timed is set where the sender signs a timestamp.
		names string
		timed bool
		// repeatable is set where an event may be delivered again with another body.
		repeatable bool
	}{
		{"svix", "", secretOf("a"), signSvix, "Svix-Signature", true, false},
		{"github", hooks.SchemeGitHub, textSecret, signGitHub, "X-Hub-Signature-256", false, false},
		{"stripe", hooks.SchemeStripe, textSecret, signStripe, "Stripe-Signature", true, true},
		{"slack", hooks.SchemeSlack, textSecret, signSlack, "X-Slack-Signature", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, secretOf("a"))
			url := w.serve(hooks.Hook{Name: "in", Conversation: w.conversation, Client: w.hub.InProcess(t, "shop"), Schema: "in.v1",
				Tags: []string{"new"}, Scheme: c.scheme, Secrets: []string{c.secret}})
			now := time.Now()
			if status, text := w.post(url, "in", jsonMedia, eventOne, c.sign(eventOne, now)); status != http.StatusAccepted {
				t.Fatalf("a delivery: %d %s", status, text)
			}
			again := c.sign(eventOne, now.Add(-time.Minute))
			if status, text := w.post(url, "in", jsonMedia, eventOne, again); status != http.StatusAccepted || !strings.Contains(text, `"duplicate":true`) {
				t.Errorf("the same delivery again: %d %s", status, text)
			}
			want := http.StatusConflict
			if c.repeatable {
				want = http.StatusAccepted
			}
			if status, text := w.post(url, "in", jsonMedia, eventChanged, c.sign(eventChanged, now)); status != want {
				t.Errorf("the same event with another body: %d %s, expected %d", status, text, want)
			}
			bad := map[string]http.Header{"of another body": c.sign("{}", now), "none": {}, "cut": c.sign(eventOne, now)}
			bad["cut"].Set(c.names, bad["cut"].Get(c.names)[:20])
			if c.timed {
				bad["too old"], bad["too new"] = c.sign(eventOne, now.Add(-6*time.Minute)), c.sign(eventOne, now.Add(6*time.Minute))
			}
			for what, h := range bad {
				if status, text := w.post(url, "in", jsonMedia, eventOne, h); status != http.StatusUnauthorized {
					t.Errorf("signature %s: %d %s, expected 401", what, status, text)
				}
			}
			notes, _ := w.notes()
			if len(notes) != 1 || string(notes[0].Data) != eventOne {
				t.Errorf("notes %+v, expected one", notes)
			}
			tags := []string{"new"}
			if c.scheme == hooks.SchemeGitHub {
				tags = append(tags, "pull_request")
			}
			if len(notes) == 1 && !slices.Equal(notes[0].Tags, tags) {
				t.Errorf("tags %q, expected %q", notes[0].Tags, tags)
			}
		})
	}
}

// TestSchemes_Svix refuses a mixture of svix-* and webhook-* headers.
func TestSchemes_Svix(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	for _, name := range []string{"Id", "Timestamp", "Signature"} {
		h := signSvix(eventOne, time.Now())
		h.Set("Webhook-"+name, h.Get("Svix-"+name))
		h.Del("Svix-" + name)
		if status, text := w.post(w.url, "orders", jsonMedia, eventOne, h); status != http.StatusUnauthorized {
			t.Errorf("webhook-%s with svix-*: %d %s, expected 401", name, status, text)
		}
	}
}

// TestSchemes_GitHubSHA1 refuses the older signature of GitHub.
func TestSchemes_GitHubSHA1(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	url := w.serve(hooks.Hook{Name: "in", Conversation: w.conversation, Client: w.hub.InProcess(t, "shop"), Schema: "in.v1",
		Scheme: hooks.SchemeGitHub, Secrets: []string{textSecret}})
	h := signGitHub(eventOne, time.Now())
	h.Set("X-Hub-Signature", "sha1=0d4d0c2e2a6d4d4e7f2d0a0c8b8e6d3b9b0a1c2d")
	h.Del("X-Hub-Signature-256")
	if status, text := w.post(url, "in", jsonMedia, eventOne, h); status != http.StatusUnauthorized {
		t.Errorf("%d %s, expected 401", status, text)
	}
}

// TestSchemes_SlackChallenge answers a signed url_verification without a note, and refuses an unsigned one.
func TestSchemes_SlackChallenge(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	url := w.serve(hooks.Hook{Name: "in", Conversation: w.conversation, Client: w.hub.InProcess(t, "shop"), Schema: "in.v1",
		Scheme: hooks.SchemeSlack, Secrets: []string{textSecret}})
	status, text := w.post(url, "in", jsonMedia, slackVerify, signSlack(slackVerify, time.Now()))
	if status != http.StatusOK || text != "{\"challenge\":\"3eZbrw1a\"}\n" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := w.post(url, "in", jsonMedia, slackVerify, http.Header{}); status != http.StatusUnauthorized {
		t.Errorf("unsigned: %d %s, expected 401", status, text)
	}
	if notes, _ := w.notes(); len(notes) != 0 {
		t.Errorf("%d notes, expected none", len(notes))
	}
}

// TestSchemes_Forms posts the payload of a form, which GitHub and Slack send, and refuses other forms.
func TestSchemes_Forms(t *testing.T) {
	w := newWorld(t, secretOf("a"))
	shop := w.hub.InProcess(t, "shop")
	hook := func(name string, scheme hooks.Scheme) hooks.Hook {
		return hooks.Hook{Name: name, Conversation: w.conversation, Client: shop, Schema: "in.v1", Scheme: scheme, Secrets: []string{textSecret}}
	}
	base := w.serve(hook("github", hooks.SchemeGitHub), hook("slack", hooks.SchemeSlack), hook("stripe", hooks.SchemeStripe))
	payload, other := "payload="+url.QueryEscape(eventOne), "command=/deploy"
	for _, c := range []struct {
		hook, body string
		sign       func(string, time.Time) http.Header
		status     int
	}{
		{"github", payload, signGitHub, http.StatusAccepted},
		{"slack", payload, signSlack, http.StatusAccepted},
		{"github", `{"comment":"x&` + payload + `&y"}`, signGitHub, http.StatusUnsupportedMediaType},
		{"slack", other, signSlack, http.StatusUnsupportedMediaType},
		{"stripe", payload, signStripe, http.StatusUnsupportedMediaType},
	} {
		if status, text := w.post(base, c.hook, formMedia, c.body, c.sign(c.body, time.Now())); status != c.status {
			t.Errorf("%s %s: %d %s, expected %d", c.hook, c.body, status, text, c.status)
		}
	}
	notes, _ := w.notes()
	for _, note := range notes {
		if string(note.Data) != eventOne {
			t.Errorf("data %s, expected %s", note.Data, eventOne)
		}
	}
	if len(notes) != 2 {
		t.Errorf("%d notes, expected 2", len(notes))
	}
}

// TestCheckSecret checks the form of secrets per scheme.
func TestCheckSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scheme hooks.Scheme
		secret string
		want   string
	}{
		{"", secretOf("a"), ""},
		{hooks.SchemeStandard, "whsec_short", "expected whsec_"},
		{hooks.SchemeStripe, textSecret, ""},
		{hooks.SchemeGitHub, "any text", ""},
		{hooks.SchemeSlack, "", "1 to 512 bytes"},
		{hooks.SchemeSlack, strings.Repeat("x", 513), "1 to 512 bytes"},
		{"paypal", "any text", "standard, github, stripe or slack"},
	} {
		err := hooks.CheckSecret(c.scheme, c.secret)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q %.10s: %v, expected %q", c.scheme, c.secret, err, c.want)
		}
	}
}
