package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

const (
	// maxSaidText and maxSaidData limit the text and data of a message. More becomes a file.
	maxSaidText = 256 << 10
	maxSaidData = 256 << 10
	// maxShownText limits the part of such a text in the message.
	maxShownText = 8 << 10
)

// said is the payload of an answer.
type said struct {
	Text        string              `json:"text,omitempty"`
	Data        json.RawMessage     `json:"data,omitempty"`
	Tags        []string            `json:"tags,omitempty"`
	Attachments []parley.Attachment `json:"attachments,omitempty"`
	A2A         link                `json:"a2a"`
}

// say posts the message that ends the turn.
func (x *exchange) say(ctx context.Context) (parley.TurnOutcome, error) {
	s, err := x.words(ctx)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	finality, outcome := parley.FinalityTurn, (*parley.Outcome)(nil)
	if isSession(x.turn.ConversationID) && !s.A2A.waits() {
		finality, outcome = parley.FinalityConversation, &parley.Outcome{Status: parley.OutcomeCompleted}
		if s.A2A.State != stateCompleted {
			outcome = &parley.Outcome{Status: parley.OutcomeFailed, Reason: clip(oneLine(s.Text), parley.MaxReasonBytes)}
		}
	}
	r, err := x.turn.PostPayload(ctx, payload, finality, outcome)
	if err != nil {
		return "", err
	}
	if finality == parley.FinalityConversation {
		return parley.TurnComplete, nil
	}
	if s.A2A.waits() {
		x.watch(open{client: x.turn.Client, conversation: x.turn.ConversationID, participant: x.turn.AgentID, seq: r.Seq,
			link: s.A2A})
	}
	return parley.TurnPosted, nil
}

// words builds the payload, and attaches the files.
func (x *exchange) words(ctx context.Context) (*said, error) {
	s := &said{A2A: link{ContextID: x.contextID, TaskID: x.taskID, State: stateWord(x.state), Peer: x.name}}
	if s.A2A.waits() {
		s.A2A.Told = x.answer.marks()
	}
	w := &writer{x: x, said: s}
	for _, p := range x.answer.all() {
		if err := w.add(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := w.finish(ctx); err != nil {
		return nil, err
	}
	switch x.state {
	case a2a.TaskStateInputRequired:
		s.Tags = []string{tagInputRequired}
		s.Text = cmp.Or(s.Text, "The remote agent asks for input without a description.")
	case a2a.TaskStateAuthRequired:
		s.Tags = []string{tagInputRequired}
		s.Text = joinText("The remote agent needs an authorization"+x.schemes()+" before it continues.", s.Text)
	case a2a.TaskStateFailed:
		s.Text = cmp.Or(s.Text, "The remote agent failed without a reason.")
	case a2a.TaskStateRejected:
		s.Text = cmp.Or(s.Text, "The remote agent rejected the message without a reason.")
	case a2a.TaskStateCanceled:
		s.Text = joinText("The remote agent canceled its task.", s.Text)
	}
	if s.Text == "" && s.Data == nil && len(s.Attachments) == 0 {
		s.Text = "The remote agent completed its task without an answer."
	}
	return s, nil
}

// schemes lists the security schemes of the card.
func (x *exchange) schemes() string {
	var names []string
	for name := range x.peer.Card.SecuritySchemes {
		names = append(names, clip(oneLine(string(name)), 64))
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (its card names " + strings.Join(names[:min(len(names), 8)], ", ") + ")"
}

// writer adds parts to a payload.
type writer struct {
	x    *exchange
	said *said
	data []json.RawMessage
}

func (w *writer) add(ctx context.Context, p *a2a.Part) error {
	switch v := p.Content.(type) {
	case a2a.Text:
		w.said.Text = joinText(w.said.Text, strings.ToValidUTF8(string(v), "\uFFFD"))
	case a2a.Data:
		raw, err := json.Marshal(v.Value)
		if err == nil && string(raw) != "null" {
			w.data = append(w.data, raw)
		}
		return err
	case a2a.Raw:
		return w.attach(ctx, p.Filename, p.MediaType, v)
	case a2a.URL: // it is never fetched
		w.said.Text = joinText(w.said.Text,
			fmt.Sprintf("%s: %s", cmp.Or(plainName(p.Filename), plainType(p.MediaType), "file"), oneLine(string(v))))
	}
	return nil
}

// attach adds a file to the conversation.
func (w *writer) attach(ctx context.Context, name, kind string, data []byte) error {
	switch {
	case len(data) == 0:
		w.said.Text = joinText(w.said.Text, fmt.Sprintf("[file %s, empty]", cmp.Or(plainName(name), "without a name")))
		return nil
	case len(data) > parley.MaxAttachmentBytes:
		return fmt.Errorf("%w: file with %d bytes", ErrTooLarge, len(data))
	case len(w.said.Attachments) == parley.MaxMessageAttachments:
		return fmt.Errorf("%w: more than %d files in an answer", ErrTooLarge, parley.MaxMessageAttachments)
	}
	at, err := w.x.turn.Attach(ctx, plainName(name), plainType(kind), data)
	if err != nil {
		return fmt.Errorf("attach a file of the remote agent: %w", err)
	}
	w.said.Attachments = append(w.said.Attachments, at)
	return nil
}

// finish adds the data, and makes files of parts that are too large for a message.
func (w *writer) finish(ctx context.Context) error {
	switch len(w.data) {
	case 0:
	case 1:
		w.said.Data = w.data[0]
	default:
		all, err := json.Marshal(w.data)
		if err != nil {
			return err
		}
		w.said.Data = all
	}
	if len(w.said.Data) > maxSaidData || depth(w.said.Data) > limits.MaxDepth-8 {
		if err := w.attach(ctx, "data.json", "application/json", w.said.Data); err != nil {
			return err
		}
		w.said.Data = nil
	}
	if len(w.said.Text) > maxSaidText {
		if err := w.attach(ctx, "answer.txt", "text/plain; charset=utf-8", []byte(w.said.Text)); err != nil {
			return err
		}
		w.said.Text = clip(w.said.Text, maxShownText) + "\n\n[the whole text is in answer.txt]"
	}
	return nil
}

// depth returns the nesting depth of JSON.
func depth(raw []byte) int {
	now, most, inText, escaped := 0, 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case inText:
			escaped, inText = c == '\\', c != '"'
		case c == '"':
			inText = true
		case c == '{' || c == '[':
			now++
			most = max(most, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return most
}

func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// plainName returns a file name that the hub accepts. It may be empty.
func plainName(name string) string {
	name = path.Base(strings.ReplaceAll(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, clip(name, 4<<10)), `\`, "/"))
	if name == "." || name == ".." || name == "/" {
		return ""
	}
	return clip(name, limits.MaxNameBytes)
}

// plainType returns a valid media type, or an empty string.
func plainType(kind string) string {
	if _, _, err := mime.ParseMediaType(kind); err != nil || len(kind) > limits.MaxMediaTypeBytes ||
		!strings.Contains(kind, "/") {
		return ""
	}
	return kind
}

func oneLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
}
