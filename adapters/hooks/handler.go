package hooks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

const (
	// Path is the prefix of the addresses of hooks: POST /hooks/NAME.
	Path = "/hooks/"
	// MaxBodyBytes bounds the body of a delivery. A larger one is refused with HTTP 413.
	MaxBodyBytes = 256 << 10
	// maxDepth bounds the nesting of a body. It is less than that of a frame, which contains the note.
	maxDepth = limits.MaxDepth - 8
	// retryAfterMs is the Retry-After of a delivery that a hook cannot post at the moment.
	retryAfterMs = 60_000
)

// Handler serves hooks. It is safe for concurrent use.
type Handler struct {
	hooks   map[string]*hook
	unknown *hook
	log     *slog.Logger
}

var _ http.Handler = (*Handler)(nil)

// New returns a handler for hooks. It returns an error for a hook without a name, a client or a valid
// secret, and for two hooks with one name.
func New(o *Options) (*Handler, error) {
	h := &Handler{hooks: map[string]*hook{}, unknown: newUnknownHook(), log: o.Logger}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	for i := range o.Hooks {
		one, err := newHook(&o.Hooks[i])
		if err != nil {
			return nil, err
		}
		if h.hooks[one.Name] != nil {
			return nil, fmt.Errorf("two hooks have the name %s (expected different names)", one.Name)
		}
		h.hooks[one.Name] = one
	}
	return h, nil
}

// statusError is a refusal with an HTTP status that differs from the one in the table of errors.
type statusError struct {
	status  int
	refusal *parley.Error
}

func (e *statusError) Error() string { return e.refusal.Error() }
func (e *statusError) Unwrap() error { return e.refusal }

func refuse(status int, sentinel error, message, expected string) error {
	return &statusError{status, parley.Refuse(sentinel, message, expected)}
}

// errSignature is the only answer to deliveries without a valid signature and to unknown hooks.
var errSignature = parley.Refuse(parley.ErrUnauthenticated, "the delivery has no valid and recent signature of a hook at this address",
	"the signature headers of the hook's scheme, made with one of its secrets")

// ServeHTTP receives one delivery.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, answer, err := h.receive(w, r)
	if err != nil {
		writeProblem(w, err)
		return
	}
	text, _ := json.Marshal(answer) // numbers, booleans and strings
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a sender that is gone delivers again
}

// receive checks a delivery and posts it. It returns the HTTP status and the body of the answer.
func (h *Handler) receive(w http.ResponseWriter, r *http.Request) (status int, answer any, err error) {
	w.Header().Set("Connection", "close") // an unsigned request does not keep its connection
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return 0, nil, refuse(http.StatusMethodNotAllowed, parley.ErrMethodNotFound, "a hook does not accept "+r.Method, http.MethodPost)
	}
	media, isJSON := mediaType(r.Header.Get("Content-Type"))
	if !isJSON && media != mediaForm {
		return 0, nil, errMedia
	}
	body, err := readBody(w, r)
	if err != nil {
		return 0, nil, err
	}
	name := strings.TrimPrefix(r.URL.Path, Path)
	one, known := h.hooks[name]
	if !known {
		one = h.unknown
	}
	id, signed := one.verify(body, r.Header)
	if !signed || !known {
		h.log.Debug("refused a delivery without a valid signature", "hook", name)
		return 0, nil, errSignature
	}
	w.Header().Del("Connection")
	if !isJSON {
		if body, isJSON = one.Scheme.formPayload(body); !isJSON {
			return 0, nil, errMedia
		}
	}
	if err := checkBody(body); err != nil {
		return 0, nil, err
	}
	if challenge, ok := one.Scheme.challenge(body); ok {
		return http.StatusOK, map[string]string{"challenge": challenge}, nil
	}
	if id == "" {
		id = one.Scheme.bodyID(body)
	}
	ctx := parley.WithTraceparent(r.Context(), r.Header.Get("Traceparent")) // the sender signed the request
	answer, err = h.post(ctx, one, id, body, r.Header)
	return http.StatusAccepted, answer, err
}

const mediaForm = "application/x-www-form-urlencoded"

var errMedia = refuse(http.StatusUnsupportedMediaType, parley.ErrInvalidRequest, "the body is not JSON", "Content-Type: application/json")

// mediaType returns the media type of a Content-Type, and whether it is JSON or a format based on JSON.
func mediaType(header string) (media string, isJSON bool) {
	media, _, err := mime.ParseMediaType(header)
	isJSON = media == "application/json" || strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")
	return media, err == nil && isJSON
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := parley.Refuse(parley.ErrTooLarge, "the body is too large", fmt.Sprintf("at most %d bytes", MaxBodyBytes))
	if r.ContentLength > MaxBodyBytes {
		return nil, tooLarge // without waiting for it
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge
	case err != nil:
		return nil, parley.Refuse(parley.ErrInvalidRequest, "the body is incomplete", "")
	}
	return body, nil
}

// checkBody returns an error for a body that cannot be the data of a note.
func checkBody(body []byte) error {
	switch {
	case !utf8.Valid(body):
		return parley.Refuse(parley.ErrParse, "the body is not UTF-8", "JSON")
	case !json.Valid(body):
		return parley.Refuse(parley.ErrParse, "the body is not one JSON value", "JSON")
	case deeper(body, maxDepth):
		return parley.Refuse(parley.ErrParse, "the body nests too deep", fmt.Sprintf("at most %d levels", maxDepth))
	}
	return nil
}

// deeper reports whether JSON nests deeper than most levels.
func deeper(text []byte, most int) bool {
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if level++; level > most {
				return true
			}
		case c == '}' || c == ']':
			level--
		}
	}
	return false
}

// post posts the note of a delivery.
func (h *Handler) post(ctx context.Context, o *hook, id string, body []byte, headers http.Header) (*parley.SeqResult, error) {
	note := parley.Note{Schema: o.Schema, Tags: o.tags(headers), Data: bytes.TrimSpace(body)}
	p := &parley.SendNoteParams{ConversationID: o.Conversation, Payload: note, ClientRequestID: noteKey(o.Name, id)}
	r, err := o.Client.SendNote(ctx, p)
	switch {
	case err == nil:
		h.log.Debug("posted a delivery", "hook", o.Name, "conversation", o.Conversation, "seq", r.Seq, "duplicate", r.Duplicate)
		return r, nil
	case errors.Is(err, parley.ErrIdempotencyConflict) && (o.Scheme == SchemeStripe || o.Scheme == SchemeSlack):
		// The id is signed with the body. A repeated event may differ, for example in pending_webhooks.
		h.log.Warn("a repeated delivery differs from its note, which stays", "hook", o.Name, "conversation", o.Conversation)
		return &parley.SeqResult{Duplicate: true}, nil
	case errors.Is(err, parley.ErrNotFound), errors.Is(err, parley.ErrForbidden), errors.Is(err, parley.ErrUnauthenticated):
		h.log.Error("a hook cannot post: its conversation does not exist, or its participant has no seat in it", "hook", o.Name,
			"conversation", o.Conversation, "agent", o.Client.AgentID(), "error", err)
		return nil, &parley.Error{Err: parley.ErrUnavailable, Message: "the hook cannot post at the moment; its operator has to repair it", RetryAfterMs: retryAfterMs}
	}
	return nil, err
}

// tags returns the tags of a note: those of the hook and, for GitHub, the name of the event, which is not
// in the body.
func (o *hook) tags(headers http.Header) []string {
	event := headers.Get("X-GitHub-Event")
	if o.Scheme != SchemeGitHub || event == "" || len(event) > limits.MaxTagBytes || len(o.Tags) == limits.MaxTags ||
		slices.Contains(o.Tags, event) || strings.ContainsFunc(event, isNotTag) {
		return o.Tags
	}
	return append(slices.Clip(o.Tags), event)
}

// isNotTag reports whether a character does not occur in the name of an event, such as pull_request.
func isNotTag(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }

// noteKey returns the key of the note of a delivery. It contains the name of the hook, so that the ids
// of independent senders may be equal.
func noteKey(name, id string) string {
	whole := name + "/" + id
	if len(whole) <= parley.MaxKeyBytes && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl) {
		return whole
	}
	sum := sha256.Sum256([]byte(id))
	return name + "//" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// writeProblem answers with a problem (RFC 9457) whose status is in the table of errors.
func writeProblem(w http.ResponseWriter, err error) {
	status := parley.ErrorRowOf(err).HTTP
	if at := (*statusError)(nil); errors.As(err, &at) {
		status, err = at.status, at.refusal
	}
	var refusal *parley.Error
	if errors.As(err, &refusal) && refusal.RetryAfterMs > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((refusal.RetryAfterMs+999)/1000, 10))
	}
	answer, _ := json.Marshal(parley.ToProblem(err, status)) // strings and numbers
	w.Header().Set("Content-Type", parley.ProblemType)
	w.WriteHeader(status)
	_, _ = w.Write(append(answer, '\n')) // a sender that is gone sends again
}
