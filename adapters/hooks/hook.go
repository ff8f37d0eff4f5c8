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

// Hook is a place to which others send.
type Hook struct {
	// Name is where it is: /hooks/NAME. It is an id like that of a participant.
	Name string
	// Conversation gets the notes.
	Conversation string
	// Client posts them; it speaks as a participant of the conversation.
	Client parley.Client
	// Schema and Tags are those of the notes.
	Schema string
	Tags   []string
	// Secrets are those that deliveries may be signed with: at least one, several while one gives way to another. See CheckSecret.
	Secrets []string
}

// Options are for New. The zero value of each but Hooks is good.
type Options struct {
	// Hooks have different names.
	Hooks []Hook
	// Logger hears what a hook cannot do; nil: nobody.
	Logger *slog.Logger
}

// The bounds of a secret, in bytes, as Standard Webhooks say.
const (
	minSecretBytes = 24
	maxSecretBytes = 64
)

const secretPrefix = "whsec_"

// errSecret does not say what the secret was.
var errSecret = fmt.Errorf("expected %s and %d to %d bytes in base64", secretPrefix, minSecretBytes, maxSecretBytes)

// CheckSecret refuses what is no secret of Standard Webhooks: whsec_ and 24 to 64 bytes in base64. The error does not have it.
func CheckSecret(secret string) error {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < minSecretBytes || len(key) > maxSecretBytes {
		return errSecret
	}
	return nil
}

// hook is a Hook that is served.
type hook struct {
	Hook
	keys []*webhooks.Webhook
}

func newHook(h *Hook) (*hook, error) {
	switch {
	case !parley.ValidParticipantID(h.Name):
		return nil, fmt.Errorf("hook %q: the name is none (expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit)", h.Name)
	case len(h.Secrets) == 0:
		return nil, fmt.Errorf("hook %s: it has no secret (expected at least one)", h.Name)
	case h.Client == nil:
		return nil, fmt.Errorf("hook %s: nobody posts for it (expected a client)", h.Name)
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

// nobody stands for a hook that there is not: nothing is signed with its secret, and it takes as long to find that out.
func nobody() (*hook, error) {
	key := make([]byte, minSecretBytes)
	_, _ = rand.Read(key) // which never fails
	w, err := webhooks.NewWebhookRaw(key)
	if err != nil {
		return nil, errors.New("no secret can be made")
	}
	return &hook{keys: []*webhooks.Webhook{w}}, nil
}
