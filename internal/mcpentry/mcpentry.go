// Package mcpentry has the forms that the entries of MCP servers have in the mcp.json files of other
// products: names of transports, other names of keys, wrappers, and variables. For example, the text
// "Bearer ${env:KEY}" has the variable KEY:
//
//	mcpentry.Expand(text, func(v mcpentry.Variable) string { return os.Getenv(v.Name) })
package mcpentry

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The transports of a server.
const (
	Stdio = "stdio"
	HTTP  = "http" // falls back to SSE
	SSE   = "sse"  // HTTP+SSE of the protocol version 2024-11-05
)

// Transport returns the transport that a type of an entry names. It returns "" for an unknown type.
func Transport(written string) string {
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(written)) {
	case "stdio", "local":
		return Stdio
	case "http", "streamablehttp", "remote":
		return HTTP
	case "sse", "httpsse", "http+sse":
		return SSE
	}
	return ""
}

// OtherNames has the names that other products use for keys of an entry with the same values.
var OtherNames = map[string]string{
	"serverUrl": "url", "httpUrl": "url", // Windsurf, Gemini CLI
	"transport": "type", "transportType": "type", "environment": "env", "http_headers": "headers",
	"envFile": "env_file", "includeTools": "tools", "enabled_tools": "tools",
}

// Ignored has the keys without an effect, and what to use in their place.
var Ignored = map[string]string{
	"timeout": "it differs between products; use start_timeout for the start of the server, " +
		"and timeout of the agent for its turns",
	"autoApprove": approval, "alwaysAllow": approval, "trust": approval,
	"description": "it is for people", "gallery": editor, "version": editor, "dev": editor,
}

const (
	approval = "every tool runs without approval; use hitl_tools of the agent for those that must not"
	editor   = "it is for an editor"
)

// Similar has keys of other products whose values have another form, and the key to use.
var Similar = map[string]string{
	"startup_timeout_sec": "start_timeout", "startup_timeout_ms": "start_timeout", "initTimeout": "start_timeout",
	"bearer_token_env_var": "headers", "env_http_headers": "headers", "env_vars": "env", "required": "optional",
	"enabled": "disabled", "disabledTools": "tools", "excludeTools": "tools", "disabled_tools": "tools",
	"working_directory": "cwd",
	"tool_timeout_sec":  "timeout of the agent",
}

// Entry is one entry in a config.
type Entry struct {
	Path    string // of the entry, such as files or mcpServers.files
	Raw     json.RawMessage
	Ignored []string // keys without an effect
	Twice   []string // names of a key that has another name in the entry too
	Foreign []string // keys of Similar
}

// Entries returns the entries of a config by name. A whole mcp.json is accepted: its members
// mcpServers and servers have entries too. ok is false if raw is not an object.
func Entries(raw json.RawMessage) (entries map[string]Entry, ok bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, false
	}
	entries = map[string]Entry{}
	wrapped := false
	for _, wrapper := range []string{"mcpServers", "servers"} {
		inner, is := wrappedEntries(members[wrapper])
		if !is {
			continue
		}
		wrapped = true
		delete(members, wrapper)
		for name, entry := range inner {
			entries[name] = newEntry(wrapper+"."+name, entry)
		}
	}
	for name, entry := range members {
		if wrapped && (name == "inputs" || name == "$schema") {
			continue // a use of an input is reported where it is
		}
		entries[name] = newEntry(name, entry)
	}
	return entries, true
}

// wrappedEntries returns the entries in a value that is an object of objects. An entry is not one,
// because its command or url is a text.
func wrappedEntries(value json.RawMessage) (map[string]json.RawMessage, bool) {
	var inner map[string]json.RawMessage
	if json.Unmarshal(value, &inner) != nil || inner == nil {
		return nil, false
	}
	for _, entry := range inner {
		var object map[string]json.RawMessage
		if json.Unmarshal(entry, &object) != nil || object == nil {
			return nil, false
		}
	}
	return inner, true
}

// newEntry returns an entry in which keys have the names of an agent file.
func newEntry(path string, raw json.RawMessage) Entry {
	e := Entry{Path: path, Raw: raw}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return e
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		name, other := OtherNames[key]
		switch {
		case Ignored[key] != "":
			e.Ignored = append(e.Ignored, key)
			delete(members, key)
		case key == "enabled" && string(members[key]) == "true":
			delete(members, key)
		case key == "enabled" && string(members[key]) == "false":
			delete(members, key)
			members["disabled"] = json.RawMessage("true")
		case Similar[key] != "":
			e.Foreign = append(e.Foreign, key)
			delete(members, key)
		case other && members[name] != nil:
			e.Twice = append(e.Twice, key)
			delete(members, key)
		case other:
			members[name] = members[key]
			delete(members, key)
		}
	}
	splitCommand(members)
	for _, key := range []string{"args", "env", "headers"} {
		if members[key] != nil {
			members[key] = withTexts(members[key])
		}
	}
	if b, err := json.Marshal(members); err == nil {
		e.Raw = b
	}
	return e
}

// splitCommand splits a command that is a list of the program and its arguments.
func splitCommand(members map[string]json.RawMessage) {
	var command, args []json.RawMessage
	if json.Unmarshal(members["command"], &command) != nil || len(command) == 0 ||
		members["args"] != nil && json.Unmarshal(members["args"], &args) != nil {
		return
	}
	if b, err := json.Marshal(append(command[1:], args...)); err == nil {
		members["command"], members["args"] = command[0], b
	}
}

// withTexts returns a list or an object whose numbers and booleans are texts. Members of an object
// that are null are absent.
func withTexts(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	var object map[string]json.RawMessage
	var changed any
	switch {
	case json.Unmarshal(raw, &list) == nil:
		for i := range list {
			list[i] = asText(list[i])
		}
		changed = list
	case json.Unmarshal(raw, &object) == nil:
		for key, value := range object {
			if object[key] = asText(value); string(value) == "null" {
				delete(object, key)
			}
		}
		changed = object
	default:
		return raw
	}
	if b, err := json.Marshal(changed); err == nil {
		return b
	}
	return raw
}

var scalar = regexp.MustCompile(`^(true|false|-?[0-9].*)$`)

func asText(value json.RawMessage) json.RawMessage {
	if scalar.Match(value) {
		return json.RawMessage(`"` + string(value) + `"`)
	}
	return value
}

// Variable is a variable in a text.
type Variable struct {
	Name string
	// Default applies if the variable is not set or empty. HasDefault is false without one.
	Default    string
	HasDefault bool
}

var (
	reference = regexp.MustCompile(`\$\{[^}]*\}?`)
	known     = regexp.MustCompile(`^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-((?s:.*)))?\}$`)
)

// Expand replaces each ${NAME}, ${env:NAME} and ${NAME:-default} in a text by its value. Other text
// is literal, such as $NAME and the forms that Unknown returns.
func Expand(text string, value func(Variable) string) string {
	return reference.ReplaceAllStringFunc(text, func(written string) string {
		m := known.FindStringSubmatch(written)
		if m == nil || strings.Contains(m[3], "${") {
			return written
		}
		return value(Variable{Name: m[1], Default: m[3], HasDefault: m[2] != ""})
	})
}

// Unknown returns the first ${...} of another form, or "".
func Unknown(text string) string {
	for _, written := range reference.FindAllString(text, -1) {
		if m := known.FindStringSubmatch(written); m == nil || strings.Contains(m[3], "${") {
			return written
		}
	}
	return ""
}

// ParseEnvFile returns the variables of a file of lines NAME=VALUE. Empty lines, comments and lines
// of other forms are skipped. A value may be in quotes.
func ParseEnvFile(text string) map[string]string {
	env := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(line, "\uFEFF")), "export ")
		name, value, ok := strings.Cut(line, "=")
		if name = strings.TrimSpace(name); !ok || !variableName.MatchString(name) {
			continue
		}
		env[name] = unquote(strings.TrimSpace(value))
	}
	return env
}

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	escapes      = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\"`, `"`)
)

func unquote(value string) string {
	for _, quote := range []string{`"`, `'`} {
		rest, is := strings.CutPrefix(value, quote)
		if !is {
			continue
		}
		if end := strings.LastIndex(rest, quote); end >= 0 {
			if quote == `"` {
				return escapes.Replace(rest[:end])
			}
			return rest[:end]
		}
	}
	if at := strings.Index(value, " #"); at >= 0 {
		return strings.TrimSpace(value[:at])
	}
	return value
}
