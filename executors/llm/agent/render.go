package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
)

// maxShown limits the bytes of a conversation that a model is shown. Older messages are left out,
// except the first.
const maxShown = 4 << 20

// marks escapes text inside a mark, so that it can neither end the mark nor start another one.
var marks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var quotes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", " ", "\r", " ")

func escape(text string) string { return marks.Replace(strings.ToValidUTF8(text, "\uFFFD")) }

// foreignMark matches the start of one of the agent's marks, also in escaped form.
var foreignMark = regexp.MustCompile(`(?i)(<|&lt;)(\s*/?\s*(?:attachment|call|context|data|hub|instructions|message|note|parameters|participant|plan|private|request|result|summary|tags|task|title)\b)`)

// escapeMarks returns a text of a tool with the agent's marks escaped, and all else unchanged.
func escapeMarks(text string) string {
	return foreignMark.ReplaceAllStringFunc(text, func(begin string) string {
		if rest, ok := strings.CutPrefix(begin, "<"); ok {
			return "&lt;" + rest
		}
		return "&amp;" + begin[1:]
	})
}

// attribute returns ` name="value"`, or nothing if the value is empty.
func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + quotes.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

// mark returns a body between a start tag and an end tag.
func mark(tag, attributes, body string) string {
	return "<" + tag + attributes + ">\n" + body + "\n</" + tag + ">"
}

// messages returns the conversation for the model. Own messages have the role of the assistant.
// Messages of others, of the hub, and notes each have a mark.
func (r *run) messages(files *attachments) ([]llm.Message, error) {
	var all []llm.Message
	used := int64(0) // estimated tokens
	for i := range r.view.entries {
		m, err := r.message(&r.view.entries[i], files)
		if err != nil {
			return nil, err
		}
		used += llm.CountTokens(m.Text)
		if m.Role == llm.RoleAssistant {
			m.Text = join(m.Text, r.contextUsage(r.main, used))
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		all = append(all, hubMessage(startText))
	}
	if all[0].Role != llm.RoleUser {
		all = append([]llm.Message{hubMessage(ownStartText)}, all...)
	}
	if all[len(all)-1].Role != llm.RoleUser {
		all = append(all, hubMessage(againText))
	}
	return shorten(all), nil
}

// shorten leaves out the messages that are too old to be shown.
func shorten(all []llm.Message) []llm.Message {
	size := len(all[0].Text)
	for i := len(all) - 1; i > 0; i-- {
		if size += len(all[i].Text); size > maxShown && i < len(all)-1 {
			return append([]llm.Message{all[0], hubMessage(fmt.Sprintf("%d messages are omitted here.", i))}, all[i+1:]...)
		}
	}
	return all
}

// hubMessage returns a message of the hub to the model.
func hubMessage(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Text: mark("hub", "", escape(text))}
}

func (r *run) message(e *entry, files *attachments) (llm.Message, error) {
	seq := attribute("seq", strconv.FormatInt(e.seq, 10))
	switch {
	case e.note != nil:
		attributes := attribute("from", e.from) + attribute("kind", string(r.view.participant(e.from).Kind)) + seq +
			attribute("schema", e.note.Schema)
		return llm.Message{Role: llm.RoleUser, Text: mark("note", attributes, escape(string(e.note.Data)))}, nil
	case e.from == r.view.me:
		return llm.Message{Role: llm.RoleAssistant, Text: ownText(e.message)}, nil
	case e.from == parley.HubID:
		return llm.Message{Role: llm.RoleUser, Text: mark("hub", seq, messageBody(e.message, files))}, nil
	}
	text, err := r.requestText(e)
	if err != nil || text != "" {
		return llm.Message{Role: llm.RoleUser, Text: text}, err
	}
	p := r.view.participant(e.from)
	attributes := attribute("from", e.from) + attribute("kind", string(p.Kind)) + attribute("role", p.Role) + seq
	return llm.Message{Role: llm.RoleUser, Text: mark("message", attributes, messageBody(e.message, files)),
		Files: files.imagesOf(e.message)}, nil
}

// requestText returns the request of the caller of a session, in the form of the user_template or
// of a child. It is empty otherwise.
func (r *run) requestText(e *entry) (string, error) {
	if r.view.session == nil || e.from != r.view.session.Caller || len(e.message.Parameters) == 0 {
		return "", nil
	}
	if r.child != nil {
		return r.child.text(), nil
	}
	if r.template == nil {
		return "", nil
	}
	text, err := r.template.fill(e.message.Parameters)
	if err != nil {
		return "", &failure{reason: reasonParameters, text: err.Error()}
	}
	p := r.view.participant(e.from)
	return mark("request", attribute("from", e.from)+attribute("kind", string(p.Kind)), text), nil
}

// ownText returns an earlier message of the agent in its original form.
func ownText(m *parley.Message) string {
	switch {
	case m.Text != "":
		return m.Text
	case m.Result != nil && m.Result.ResultText != nil:
		return *m.Result.ResultText
	case len(m.Data) > 0:
		return string(m.Data)
	}
	return "(empty message)"
}

// messageBody returns the parts of a message.
func messageBody(m *parley.Message, files *attachments) string {
	var parts []string
	if m.Text != "" {
		parts = append(parts, escape(m.Text))
	}
	if len(m.Parameters) > 0 && !isPrompt(m) {
		parts = append(parts, mark("parameters", "", escape(string(m.Parameters))))
	}
	if len(m.Data) > 0 {
		parts = append(parts, mark("data", attribute("schema", m.Schema), escape(string(m.Data))))
	}
	if m.Result != nil {
		b, err := json.Marshal(m.Result)
		if err == nil {
			parts = append(parts, mark("result", "", escape(string(b))))
		}
	}
	for i := range m.Attachments {
		parts = append(parts, files.mark(&m.Attachments[i]))
	}
	if len(m.Tags) > 0 {
		parts = append(parts, "<tags>"+escape(strings.Join(m.Tags, ", "))+"</tags>")
	}
	return strings.Join(parts, "\n")
}

// isPrompt reports whether the text of a caller's message is its only parameter.
func isPrompt(m *parley.Message) bool {
	var p map[string]any
	if m.Text == "" || json.Unmarshal(m.Parameters, &p) != nil || len(p) != 1 {
		return false
	}
	return p["prompt"] == m.Text
}
