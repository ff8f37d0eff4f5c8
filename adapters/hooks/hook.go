package hooks

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/parleyhub/parley"
)

// Hook is an address for deliveries of a sender.
type Hook struct {
	// Name is the last part of its path /hooks/NAME. It has the form of a participant id.
	Name string
	// Conversation receives the notes.
	Conversation string
	// Client posts the notes as a participant of the conversation.
	Client parley.Client
	// Schema and Tags are those of the notes.
	Schema string
	Tags   []string
	// Secrets are the secrets for signatures. There is at least one, and several during a rotation.
	// See CheckSecret.
	Secrets []string
}

// Options configures New. Only Hooks is required.
type Options struct {
	// Hooks have different names.
	Hooks []Hook
	// Logger receives errors of hooks; nil discards them.
	Logger *slog.Logger
}

// Limits of a secret in bytes, from Standard Webhooks.
const (
	minSecretBytes = 24
	maxSecretBytes = 64
)

const secretPrefix = "whsec_"

// errSecret does not contain the secret.
var errSecret = fmt.Errorf("expected %s and %d to %d bytes in base64", secretPrefix, minSecretBytes, maxSecretBytes)

// CheckSecret returns an error unless the secret has the form of Standard Webhooks: whsec_ and 24
// to 64 bytes in base64. The error does not contain the secret.
func CheckSecret(secret string) error {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return errSecret
	}
	return nil
}

// hook is a Hook in service.
type hook struct {
	Hook
	keys []*webhooks.Webhook
}

func newHook(h *Hook) (*hook, error) {
	switch {
	case !parley.ValidParticipantID(h.Name):
		return nil, fmt.Errorf("hook %q: invalid name (expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter "+
			"or digit)", h.Name)
	case len(h.Secrets) == 0:
		return nil, fmt.Errorf("hook %s: it has no secret (expected at least one)", h.Name)
	case h.Client == nil:
		return nil, fmt.Errorf("hook %s: missing client", h.Name)
	}
	one := &hook{Hook: *h}
	for i, secret := range h.Secrets {
		if err := CheckSecret(secret); err != nil {
			return nil, fmt.Errorf("hook %s: secret %d: %w", h.Name, i+1, err)
		}
		key, err := webhooks.NewWebhook(secret)
		if err != nil {
			return nil, fmt.Errorf("hook %s: secret %d: %w", h.Name, i+1, errSecret)
		}
		one.keys = append(one.keys, key)
	}
	return one, nil
}

// unknownHook returns a hook with a random secret. It replaces unknown hooks, so that their check
// takes as long.
func unknownHook() (*hook, error) {
	key := make([]byte, minSecretBytes)
	_, _ = rand.Read(key) // never fails
	w, err := webhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, errors.New("no secret can be made")
	}
	return &hook{keys: []*webhooks.Webhook{w}}, nil
}
