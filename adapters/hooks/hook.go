package hooks

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/parleyhub/parley"
)

// Hook is one address to which a sender delivers.
type Hook struct {
	// Name is the last part of the address /hooks/NAME. It has the form of a participant id.
	Name string
	// Conversation is the id of the conversation that receives the notes.
	Conversation string
	// Client posts the notes. It speaks as a participant of the conversation.
	Client parley.Client
	// Schema and Tags are those of the notes.
	Schema string
	Tags   []string
	// Scheme is how deliveries are signed; empty means SchemeStandard.
	Scheme Scheme
	// Secrets are the secrets with which a delivery may be signed: at least one, and several during a
	// rotation. [CheckSecret] states their form.
	Secrets []string
}

// Options configure New. The zero value of every field except Hooks is valid.
type Options struct {
	// Hooks have different names.
	Hooks []Hook
	// Logger receives what a hook cannot do; nil discards it.
	Logger *slog.Logger
}

// hook is a Hook that is served.
type hook struct {
	Hook
	keys [][]byte
}

func newHook(h *Hook) (*hook, error) {
	switch {
	case !parley.ValidParticipantID(h.Name):
		return nil, fmt.Errorf("invalid name %q of a hook (expected 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit)", h.Name)
	case len(h.Secrets) == 0:
		return nil, fmt.Errorf("hook %s has no secret (expected at least one)", h.Name)
	case h.Client == nil:
		return nil, fmt.Errorf("hook %s has no client", h.Name)
	}
	one := &hook{Hook: *h}
	for i, secret := range h.Secrets {
		key, err := keyOf(h.Scheme, secret)
		if err != nil {
			return nil, fmt.Errorf("hook %s: secret %d: %w", h.Name, i+1, err)
		}
		one.keys = append(one.keys, key)
	}
	return one, nil
}

// newUnknownHook returns the hook that is used for unknown names. No delivery is signed with its
// key. A sender that measures the time of refusals may learn which names exist. Names are not
// secret.
func newUnknownHook() *hook {
	key := make([]byte, minSecretBytes)
	_, _ = rand.Read(key) // which never fails
	return &hook{keys: [][]byte{key}}
}

// verify reports whether a delivery is signed with a secret of the hook, and the id that its headers
// have.
func (o *hook) verify(body []byte, h http.Header) (id string, ok bool) {
	for _, key := range o.keys {
		if found, verified := o.Scheme.verify(key, body, h); verified {
			id, ok = found, true
		}
	}
	return id, ok
}
