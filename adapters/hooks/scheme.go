package hooks

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Scheme names how a sender signs its deliveries.
type Scheme string

// The schemes of deliveries.
const (
	// SchemeStandard is Standard Webhooks: the headers webhook-id, webhook-timestamp and
	// webhook-signature, or the same three as svix-*. It is the default.
	SchemeStandard Scheme = "standard"
	// SchemeGitHub is X-Hub-Signature-256, which Gitea and Forgejo send too. The id of a delivery is
	// X-GitHub-Delivery. X-GitHub-Event becomes a tag of the note.
	SchemeGitHub Scheme = "github"
	// SchemeStripe is Stripe-Signature. The id of a delivery is the id of the event.
	SchemeStripe Scheme = "stripe"
	// SchemeSlack is X-Slack-Signature. The id of a delivery is event_id. The challenge of
	// url_verification is answered and not posted.
	SchemeSlack Scheme = "slack"
)

// Schemes are all schemes, the default first.
var Schemes = []Scheme{SchemeStandard, SchemeGitHub, SchemeStripe, SchemeSlack}

const (
	// tolerance is how far the timestamp of a delivery may be from the clock of the hub.
	tolerance = 5 * time.Minute
	// maxTextSecretBytes bounds a secret that is not in base64.
	maxTextSecretBytes = 512
	secretPrefix       = "whsec_"
)

// The bounds of the key in a secret of SchemeStandard, in bytes (Standard Webhooks, "Signature scheme").
const (
	minSecretBytes = 24
	maxSecretBytes = 64
)

// The errors of secrets do not contain the secret.
var (
	errSecret     = fmt.Errorf("expected %s and %d to %d bytes in base64", secretPrefix, minSecretBytes, maxSecretBytes)
	errTextSecret = fmt.Errorf("expected a text of 1 to %d bytes", maxTextSecretBytes)
	errScheme     = errors.New("expected standard, github, stripe or slack")
)

// CheckSecret reports whether a scheme accepts a secret. SchemeStandard requires whsec_ and 24 to 64
// bytes in base64; the others accept any text of 1 to 512 bytes. The error does not contain the secret.
func CheckSecret(s Scheme, secret string) error {
	_, err := keyOf(s, secret)
	return err
}

// keyOf returns the key with which the signatures of a scheme are computed.
func keyOf(s Scheme, secret string) ([]byte, error) {
	switch s = cmp.Or(s, SchemeStandard); {
	case !slices.Contains(Schemes, s):
		return nil, errScheme
	case s == SchemeStandard:
		encoded, ok := strings.CutPrefix(secret, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
			return nil, errSecret
		}
		return key, nil
	case secret == "" || len(secret) > maxTextSecretBytes:
		return nil, errTextSecret
	}
	return []byte(secret), nil
}

// verify reports whether a delivery is signed with a key, and the id of the delivery in its headers, if
// its scheme has one there.
func (s Scheme) verify(key, body []byte, h http.Header) (id string, ok bool) {
	switch s {
	case SchemeGitHub:
		return h.Get("X-GitHub-Delivery"), verifyGitHub(key, body, h)
	case SchemeStripe:
		return "", verifyStripe(key, body, h)
	case SchemeSlack:
		return "", verifySlack(key, body, h)
	}
	return verifyStandard(key, body, h)
}

// verifyStandard accepts the three webhook-* headers or the three svix-* headers, and never a mixture.
func verifyStandard(key, body []byte, h http.Header) (id string, ok bool) {
	verifier, err := webhooks.NewWebhookRaw(key)
	if err != nil {
		return "", false
	}
	svix := http.Header{}
	svix.Set(webhooks.HeaderWebhookID, h.Get("Svix-Id"))
	svix.Set(webhooks.HeaderWebhookTimestamp, h.Get("Svix-Timestamp"))
	svix.Set(webhooks.HeaderWebhookSignature, h.Get("Svix-Signature"))
	for _, headers := range []http.Header{h, svix} {
		if verifier.Verify(body, headers) == nil {
			return headers.Get(webhooks.HeaderWebhookID), true
		}
	}
	return "", false
}

func verifyGitHub(key, body []byte, h http.Header) bool {
	signature, ok := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	return ok && isSignature(signature, key, body)
}

// verifyStripe accepts any of the v1 signatures of the header, which has the form t=...,v1=...,v1=...
func verifyStripe(key, body []byte, h http.Header) bool {
	var timestamp string
	var signatures []string
	for part := range strings.SplitSeq(h.Get("Stripe-Signature"), ",") {
		switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
		case "t":
			timestamp = value
		case "v1":
			signatures = append(signatures, value)
		}
	}
	return isRecent(timestamp) && slices.ContainsFunc(signatures, func(signature string) bool {
		return isSignature(signature, key, []byte(timestamp), []byte("."), body)
	})
}

func verifySlack(key, body []byte, h http.Header) bool {
	timestamp := h.Get("X-Slack-Request-Timestamp")
	signature, ok := strings.CutPrefix(h.Get("X-Slack-Signature"), "v0=")
	return ok && isRecent(timestamp) && isSignature(signature, key, []byte("v0:"), []byte(timestamp), []byte(":"), body)
}

// isSignature reports whether a text is the HMAC-SHA256 of the parts, in hexadecimal digits.
func isSignature(text string, key []byte, parts ...[]byte) bool {
	signature, err := hex.DecodeString(text)
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		_, _ = mac.Write(part) // a hash never fails
	}
	return err == nil && hmac.Equal(signature, mac.Sum(nil))
}

// isRecent reports whether a timestamp in seconds since 1970 is near enough to the present.
func isRecent(timestamp string) bool {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	return err == nil && time.Since(time.Unix(seconds, 0)).Abs() <= tolerance
}

// bodyID returns the id of a delivery from its body, or the digest of a body without an id.
func (s Scheme) bodyID(body []byte) string {
	var event struct {
		ID      string `json:"id"`
		EventID string `json:"event_id"`
	}
	_ = json.Unmarshal(body, &event) // a body without these members has no id
	switch {
	case s == SchemeStripe && event.ID != "":
		return event.ID
	case s == SchemeSlack && event.EventID != "":
		return event.EventID
	}
	sum := sha256.Sum256(body)
	return "sha256-" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// formPayload returns the JSON of a form, in which GitHub and Slack send some deliveries. The media type
// is not signed, so a body that is not only a form with this member is refused: it may be JSON.
func (s Scheme) formPayload(body []byte) ([]byte, bool) {
	if s != SchemeGitHub && s != SchemeSlack || !bytes.HasPrefix(body, []byte("payload=")) {
		return nil, false
	}
	form, err := url.ParseQuery(string(body))
	return []byte(form.Get("payload")), err == nil && form.Has("payload")
}

// challenge returns the challenge of a url_verification of Slack.
func (s Scheme) challenge(body []byte) (text string, ok bool) {
	var event struct{ Type, Challenge string }
	if s != SchemeSlack || !bytes.Contains(body, []byte("url_verification")) || json.Unmarshal(body, &event) != nil {
		return "", false
	}
	return event.Challenge, event.Type == "url_verification"
}
