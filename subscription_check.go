package parley

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley/internal/limits"
)

var schemaVersion = regexp.MustCompile(`\.v[0-9]+$`)

// ContextKey returns the key that a schema has in an agent context: the schema without its version,
// and with _ for each dot. The key of browser.page.context.v1 is browser_page_context.
func ContextKey(schema string) string {
	return strings.ReplaceAll(schemaVersion.ReplaceAllString(schema, ""), ".", "_")
}

// ContextKey returns Key, or its default. It returns "" if the selector has neither Key nor
// SchemaName.
func (s *Selector) ContextKey() string {
	if s.Key != "" {
		return s.Key
	}
	return ContextKey(s.SchemaName)
}

// check reports all invalid values among those that could be decoded.
func (s *Subscriptions) check(f *subscriptionFaults, read []selectorRead) {
	f.word("$.answer_schema", s.AnswerSchema, limits.MaxSchemaNameBytes)
	f.optional("$.max_context_bytes", int64(s.MaxContextBytes), limits.MinContextBytes, limits.MaxContextBytes)
	keys := map[string]string{}
	for i := range read {
		sel, r := &s.Selectors[i], &read[i]
		sel.check(f, r)
		switch {
		case f.unread(r.path+".role") || !sel.Role.Valid(): // checks that depend on the role are not possible
		case sel.Trigger():
			sel.checkTrigger(f, r)
		default:
			sel.checkFetch(f, r)
			sel.checkKey(f, r, keys)
		}
	}
}

func (s *Selector) check(f *subscriptionFaults, r *selectorRead) {
	if r.there["schema_name"] {
		f.given(r.path+".schema_name", s.SchemaName, limits.MaxSchemaNameBytes)
	}
	if r.there["role"] && s.Role != RoleTrigger && s.Role != RoleContext {
		f.add(r.path+".role", "expected trigger or context")
	}
	if r.there["scope"] && s.Scope != InConversation && s.Scope != InWorkspace {
		f.add(r.path+".scope", "expected conversation or workspace")
	}
	f.tags(r.path+".any_tags", s.AnyTags)
	f.tags(r.path+".all_tags", s.AllTags)
	for i := range r.matches {
		s.ContextMatch[i].check(f, fmt.Sprintf("%s.context_match[%d]", r.path, i), r.matches[i])
	}
	if s.LLMHints != nil {
		s.LLMHints.check(f, r.path+".llm_hints", r.hints)
	}
}

// checkTrigger reports the members that only a context selector may have.
func (s *Selector) checkTrigger(f *subscriptionFaults, r *selectorRead) {
	if r.there["key"] {
		f.add(r.path+".key", "expected with role context only: the key of a triggering event is always trigger")
	}
	if s.Fetch != nil && s.Fetch.Method != FetchEventData {
		f.add(r.path+".fetch", "expected event_data for a trigger: the others are for role context")
		return
	}
	s.checkFetch(f, r)
}

// checkFetch checks the numbers of a fetch for its method.
func (s *Selector) checkFetch(f *subscriptionFaults, r *selectorRead) {
	t := s.Fetch
	if t == nil {
		return
	}
	at := func(name string) string {
		if r.there[name] {
			return r.path + "." + name
		}
		return r.path + ".fetch." + name
	}
	switch {
	case t.Limit == 0:
	case t.Method == FetchRecent:
		f.within(at("limit"), int64(t.Limit), 1, limits.MaxFetchLimit)
	case t.Method != FetchLatest:
		f.add(at("limit"), "expected with fetch recent only")
	case t.Limit != 1:
		f.add(at("limit"), "expected 1 with fetch latest: recent brings more")
	}
	switch {
	case t.NN == 0:
	case t.Method == FetchVector:
		f.within(at("nn"), int64(t.NN), 1, limits.MaxFetchNN)
	default:
		f.add(at("nn"), "expected with fetch vector only")
	}
}

// checkKey compares the key of a context selector with the earlier ones. keys maps them to their
// paths.
func (s *Selector) checkKey(f *subscriptionFaults, r *selectorRead, keys map[string]string) {
	at := r.path + ".key"
	if r.there["key"] {
		f.given(at, s.Key, limits.MaxContextKeyBytes)
	}
	key := s.ContextKey()
	switch first, taken := keys[key]; {
	case key == "":
		if !r.there["key"] {
			f.add(at, "expected a key, or a schema_name that makes one")
		}
	case key == "trigger" || key == "triggers":
		f.add(at, "expected another key than %s, which is that of what has woken the agent", key)
	case taken:
		f.add(at, "expected each key once: %s has %s too", first, clipped(key))
	default:
		keys[key] = r.path
	}
}

func (m *ContextMatch) check(f *subscriptionFaults, path string, there map[string]bool) {
	switch {
	case there == nil:
		return
	case len(m.Path) > limits.MaxMatchPathBytes:
		f.add(path+".path", "expected at most %d bytes", limits.MaxMatchPathBytes)
	case !strings.HasPrefix(m.Path, "$"):
		f.add(path+".path", "expected a JSONPath, which begins with $")
	}
	if !slices.Contains(MatchOps, m.Op) {
		names := make([]string, len(MatchOps))
		for i, op := range MatchOps {
			names[i] = string(op)
		}
		f.add(path+".op", "expected one of %s", strings.Join(names, ", "))
		return
	}
	at, kind := path+".value", kindOfJSON(m.Value)
	switch {
	case len(m.Value) > limits.MaxMatchValueBytes:
		f.add(at, "expected at most %d bytes", limits.MaxMatchValueBytes)
	case m.Op == OpExists:
		if there["value"] && kind != "boolean" {
			f.add(at, "expected true or false for exists, or none")
		}
	case !there["value"]:
		f.add(at, "expected a value for %s", m.Op)
	case m.ordered() && kind != "number" && kind != "text":
		f.add(at, "expected a number or a text for %s", m.Op)
	case m.Op == OpContainsAny && kind != "list":
		f.add(at, "expected a list for contains_any")
	}
}

// ordered reports whether the operator compares by order.
func (m *ContextMatch) ordered() bool {
	return m.Op == OpGt || m.Op == OpGte || m.Op == OpLt || m.Op == OpLte
}

func (h *Hints) check(f *subscriptionFaults, path string, there map[string]bool) {
	f.fields(path+".include", h.Include)
	f.fields(path+".exclude", h.Exclude)
	f.text(path+".template", h.Template, limits.MaxTemplateBytes)
	if there["template"] && h.Template == "" {
		f.add(path+".template", "expected a text that is not empty")
	}
	rest := h.Template
	for {
		_, after, open := strings.Cut(rest, "{{")
		if !open {
			return
		}
		name, next, closed := strings.Cut(after, "}}")
		name = strings.TrimSpace(name)
		if !closed || !dottedName(name) {
			f.add(path+".template", "expected a dotted name and }} after {{ at byte %d", len(h.Template)-len(after)-2)
			return
		}
		rest = next
	}
}

// fields reports names of members that are not valid, or too many of them.
func (f *subscriptionFaults) fields(path string, names []string) {
	if len(names) > limits.MaxHintFields {
		f.add(path, "expected at most %d names", limits.MaxHintFields)
		return
	}
	for i, name := range names {
		if len(name) > limits.MaxHintBytes || !dottedName(name) {
			f.add(
				fmt.Sprintf("%s[%d]", path, i),
				"expected a dotted name of at most %d bytes, such as user.name",
				limits.MaxHintBytes,
			)
		}
	}
}

// dottedName reports whether s consists of names that are separated by dots, none of them empty.
func dottedName(s string) bool {
	return utf8.ValidString(s) && !slices.Contains(strings.Split(s, "."), "")
}

func (f *subscriptionFaults) tags(path string, tags []string) {
	if len(tags) > limits.MaxTags {
		f.add(path, "expected at most %d tags", limits.MaxTags)
		return
	}
	for i, tag := range tags {
		f.given(fmt.Sprintf("%s[%d]", path, i), tag, limits.MaxTagBytes)
	}
}

// given is like word, and also reports an empty text.
func (f *subscriptionFaults) given(path, s string, most int) {
	if s == "" {
		f.add(path, "expected a text that is not empty")
		return
	}
	f.word(path, s, most)
}

// word reports a text that an event may not have as schema or tag.
func (f *subscriptionFaults) word(path, s string, most int) {
	switch {
	case len(s) > most:
		f.add(path, "expected at most %d bytes", most)
	case strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }):
		f.add(path, "expected text without control characters or broken code points")
	}
}

// clipped returns s in at most 64 bytes.
func clipped(s string) string {
	if len(s) <= 64 {
		return s
	}
	return strings.ToValidUTF8(s[:61], "") + "..."
}
