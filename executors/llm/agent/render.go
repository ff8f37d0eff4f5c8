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

// maxShown bounds what of a conversation is shown to a model, in bytes: what is older is left out, but for the beginning.
const maxShown = 4 << 20

// marks makes what stands in a mark harmless: nobody can end the mark, or begin another one, from inside.
var marks = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

var quotes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", " ", "\r", " ")

func escape(text string) string { return marks.Replace(strings.ToValidUTF8(text, "\uFFFD")) }

// foreign finds where a text begins one of the agent's marks, or what stands for one.
var foreign = regexp.MustCompile(`(?i)(<|&lt;)(\s*/?\s*(?:attachment|call|context|data|hub|instructions|message|note|parameters|participant|plan|private|request|result|summary|tags|task|title)\b)`)

// defuse leaves a text of a tool as it is, but for what would be a mark of the agent's.
func defuse(text string) string {
	return foreign.ReplaceAllStringFunc(text, func(begin string) string {
		if rest, ok := strings.CutPrefix(begin, "<"); ok {
			return "&lt;" + rest
		}
		return "&amp;" + begin[1:]
	})
}

// attribute gives ` name="value"`, or nothing.
func attribute(name, value string) string {
	if value == "" {
		return ""
	}
	return " " + name + `="` + quotes.Replace(strings.ToValidUTF8(value, "\uFFFD")) + `"`
}

// mark puts lines between a tag and its end.
func mark(tag, attributes, body string) string {
	return "<" + tag + attributes + ">\n" + body + "\n</" + tag + ">"
}

// messages shows the conversation to a model: its own words as its own, and those of others, of the hub, and notes each in a mark of their own.
func (r *run) messages() ([]llm.Message, error) {
	var all []llm.Message
	used := int64(0) // about
	for i := range r.view.entries {
		m, err := r.message(&r.view.entries[i])
		if err != nil {
			return nil, err
		}
		used += llm.CountTokens(m.Text)
		if m.Role == llm.RoleAssistant {
			m.Text = join(m.Text, r.advice(r.main, used))
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		all = append(all, hubSays("The conversation has no messages yet. It is your turn to begin."))
	}
	if all[0].Role != llm.RoleUser {
		all = append([]llm.Message{hubSays("The conversation begins with words of yours.")}, all...)
	}
	if all[len(all)-1].Role != llm.RoleUser {
		all = append(all, hubSays("It is your turn again."))
	}
	return shorten(all), nil
}

// shorten leaves out what is too old to be shown.
func shorten(all []llm.Message) []llm.Message {
	size := len(all[0].Text)
	for i := len(all) - 1; i > 0; i-- {
		if size += len(all[i].Text); size > maxShown && i < len(all)-1 {
			return append([]llm.Message{all[0], hubSays(fmt.Sprintf("%d messages are left out here.", i))}, all[i+1:]...)
		}
	}
	return all
}

// hubSays is something that the agent is told besides the conversation.
func hubSays(text string) llm.Message {
	return llm.Message{Role: llm.RoleUser, Text: mark("hub", "", escape(text))}
}

func (r *run) message(e *entry) (llm.Message, error) {
	seq := attribute("seq", strconv.FormatInt(e.seq, 10))
	switch {
	case e.note != nil:
		attributes := attribute("from", e.from) + attribute("kind", string(r.view.participant(e.from).Kind)) + seq + attribute("schema", e.note.Schema)
		return llm.Message{Role: llm.RoleUser, Text: mark("note", attributes, escape(string(e.note.Data)))}, nil
	case e.from == r.view.me:
		return llm.Message{Role: llm.RoleAssistant, Text: own(e.message)}, nil
	case e.from == parley.HubID:
		return llm.Message{Role: llm.RoleUser, Text: mark("hub", seq, body(e.message))}, nil
	}
	text, err := r.asked(e)
	if err != nil || text != "" {
		return llm.Message{Role: llm.RoleUser, Text: text}, err
	}
	p := r.view.participant(e.from)
	attributes := attribute("from", e.from) + attribute("kind", string(p.Kind)) + attribute("role", p.Role) + seq
	return llm.Message{Role: llm.RoleUser, Text: mark("message", attributes, body(e.message))}, nil
}

// asked gives what the caller of a session wants where the config says how it is told, or it is a child; else nothing.
func (r *run) asked(e *entry) (string, error) {
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

// own gives what the agent itself has said before, as it has said it.
func own(m *parley.Message) string {
	switch {
	case m.Text != "":
		return m.Text
	case m.Result != nil && m.Result.ResultText != nil:
		return *m.Result.ResultText
	case len(m.Data) > 0:
		return string(m.Data)
	}
	return "(a message without words)"
}

// body gives what a message holds, part by part.
func body(m *parley.Message) string {
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
	for _, a := range m.Attachments {
		parts = append(parts, "<attachment"+attribute("sha256", a.SHA256)+attribute("name", a.Name)+attribute("media_type", a.MediaType)+"/>")
	}
	if len(m.Tags) > 0 {
		parts = append(parts, "<tags>"+escape(strings.Join(m.Tags, ", "))+"</tags>")
	}
	return strings.Join(parts, "\n")
}

// isPrompt reports whether the text of a caller's message is all that its parameters say.
func isPrompt(m *parley.Message) bool {
	var p map[string]any
	if m.Text == "" || json.Unmarshal(m.Parameters, &p) != nil || len(p) != 1 {
		return false
	}
	return p["prompt"] == m.Text
}
