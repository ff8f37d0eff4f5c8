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
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/parleyhub/parley"
)

const (
	// Path is the path above the hooks: POST /hooks/NAME.
	Path = "/hooks/"
	// MaxBodyBytes limits the body of a delivery. A larger body is refused with HTTP 413.
	MaxBodyBytes = 256 << 10
	// maxDepth limits the nesting of a body. It is below that of a frame, because a note contains it.
	maxDepth = parley.MaxDepth - 8
	// retryAfterMs is the retry delay for a delivery that the hook could not post.
	retryAfterMs = 60_000
)

// Handler serves hooks.
type Handler struct {
	hooks  map[string]*hook
	nobody *hook
	log    *slog.Logger
}

var _ http.Handler = (*Handler)(nil)

// New creates the handler of hooks. It returns an error for a hook without a name, a client or a
// valid secret, and for duplicate names.
func New(o *Options) (*Handler, error) {
	h := &Handler{hooks: map[string]*hook{}, log: o.Logger}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if h.nobody, err = unknownHook(); err != nil {
		return nil, err
	}
	for i := range o.Hooks {
		one, err := newHook(&o.Hooks[i])
		if err != nil {
			return nil, err
		}
		if h.hooks[one.Name] != nil {
			return nil, fmt.Errorf("hook %s: another has the name (expected different names)", one.Name)
		}
		h.hooks[one.Name] = one
	}
	return h, nil
}

// statusError is a refusal with another HTTP status than that in the table of errors.
type statusError struct {
	status  int
	refusal *parley.Error
}

func (e *statusError) Error() string { return e.refusal.Error() }
func (e *statusError) Unwrap() error { return e.refusal }

func refuse(status int, sentinel error, message, expected string) error {
	return &statusError{status, parley.Refuse(sentinel, message, expected)}
}

// errSignature is the only error for invalid signatures and unknown hooks.
var errSignature = parley.Refuse(parley.ErrUnauthenticated,
	"the delivery is not signed for a hook that is here, or too long ago",
	"the headers of Standard Webhooks, signed with a secret of the hook")

// ServeHTTP handles one delivery.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	posted, err := h.take(w, r)
	if err != nil {
		refused(w, err)
		return
	}
	answer, _ := json.Marshal(posted) // numbers and booleans
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(append(answer, '\n')) // the sender may be gone, and sends again
}

// take checks a delivery without the hub, then posts it.
func (h *Handler) take(w http.ResponseWriter, r *http.Request) (*parley.SeqResult, error) {
	w.Header().Set("Connection", "close") // unsigned senders must not keep a connection open
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, refuse(http.StatusMethodNotAllowed, parley.ErrMethodNotFound, "a hook does not take "+r.Method,
			http.MethodPost)
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, refuse(http.StatusUnsupportedMediaType, parley.ErrInvalidRequest, "the body is no JSON",
			"Content-Type: application/json")
	}
	body, err := readBody(w, r)
	if err != nil {
		return nil, err
	}
	name := strings.TrimPrefix(r.URL.Path, Path)
	one, known := h.hooks[name]
	if !known {
		one = h.nobody
	}
	if !one.signed(body, r.Header) || !known {
		h.log.Debug("a delivery is not signed for a hook that is here", "hook", name)
		return nil, errSignature
	}
	w.Header().Del("Connection")
	if err := checkBody(body); err != nil {
		return nil, err
	}
	// of the sender, after its signature was checked
	ctx := parley.WithTraceparent(r.Context(), r.Header.Get("Traceparent"))
	return h.post(ctx, one, r.Header.Get(webhooks.HeaderWebhookID), body)
}

// isJSON reports whether a Content-Type is JSON or a format based on JSON.
func isJSON(header string) bool {
	media, _, err := mime.ParseMediaType(header)
	return err == nil && (media == "application/json" || strings.HasPrefix(media, "application/") &&
		strings.HasSuffix(media, "+json"))
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := parley.Refuse(parley.ErrTooLarge, "the body is too large", fmt.Sprintf("at most %d bytes", MaxBodyBytes))
	if r.ContentLength > MaxBodyBytes {
		return nil, tooLarge // without reading it
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBodyBytes))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, tooLarge
	case err != nil:
		return nil, parley.Refuse(parley.ErrInvalidRequest, "the body did not come whole", "")
	}
	return body, nil
}

// signed reports whether a delivery has a recent signature with a secret of the hook. It always
// tries every secret.
func (o *hook) signed(body []byte, headers http.Header) bool {
	good := false
	for _, key := range o.keys {
		good = key.Verify(body, headers) == nil || good
	}
	return good
}

// checkBody refuses a body that cannot be the data of a note.
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

// deeper reports whether JSON is nested more deeply than the given levels.
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

// post posts a note for a delivery.
func (h *Handler) post(ctx context.Context, o *hook, id string, body []byte) (*parley.SeqResult, error) {
	note := parley.Note{Schema: o.Schema, Tags: o.Tags, Data: bytes.TrimSpace(body)}
	r, err := o.Client.SendNote(ctx, &parley.SendNoteParams{ConversationID: o.Conversation, Payload: note,
		ClientRequestID: key(o.Name, id)})
	switch {
	case err == nil:
		h.log.Debug("a hook has posted", "hook", o.Name, "conversation", o.Conversation, "seq", r.Seq, "duplicate",
			r.Duplicate)
		return r, nil
	case errors.Is(err, parley.ErrNotFound), errors.Is(err, parley.ErrForbidden),
		errors.Is(err, parley.ErrUnauthenticated):
		h.log.Error("a hook cannot post: its conversation is not there, or its participant has no seat in it", "hook", o.Name,
			"conversation", o.Conversation, "agent", o.Client.AgentID(), "error", err)
		return nil, &parley.Error{Err: parley.ErrUnavailable,
			Message: "the hook cannot post at the moment; the operator of the hub can correct it", RetryAfterMs: retryAfterMs}
	}
	return nil, err
}

// key returns the idempotency key of the note for a delivery. It contains the hook name, so that
// independent senders may use the same ids.
func key(name, id string) string {
	whole := name + "/" + id
	if len(whole) <= parley.MaxKeyBytes && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl) {
		return whole
	}
	sum := sha256.Sum256([]byte(id))
	return name + "//" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// refused answers with a problem according to the table of errors.
func refused(w http.ResponseWriter, err error) {
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
	_, _ = w.Write(append(answer, '\n')) // the sender may be gone, and sends again
}
