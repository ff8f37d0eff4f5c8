package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// Names returns the values as strings.
func Names[S ~string](values ...S) []string {
	all := make([]string, 0, len(values))
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

// WorkspaceForm says what a workspace is called.
const WorkspaceForm = "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit"

// Count returns a number with its noun, in the plural unless it is 1.
func Count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// QuoteWord quotes a word for a shell, where it has to be.
func QuoteWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,="
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// PrintText prints a text of others: as it is to a program, harmless to a person. It ends with a
// line break.
func (a *App) PrintText(text string) error {
	if text == "" {
		return nil
	}
	if a.Out.Terminal {
		text = CleanLines(strings.TrimSuffix(text, "\n"), "", 0)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(a.Out, text)
	return err
}

// IndentJSON returns JSON on several lines. Numbers and texts are unchanged.
func IndentJSON(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// ParseLabels reads NAME=VALUE.
func ParseLabels(flag string, given []string) (map[string]string, error) {
	if len(given) == 0 {
		return nil, nil
	}
	labels := map[string]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, exit.Usagef("%s %s: expected NAME=VALUE", flag, Clean(text))
		}
		if _, twice := labels[name]; twice {
			return nil, exit.Usagef("%s %s: it is given twice", flag, Clean(name))
		}
		labels[name] = value
	}
	return labels, nil
}

// EncodeJSON is JSON without HTML escapes.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// JoinJSON returns the JSON list of items.
func JoinJSON(items []json.RawMessage) json.RawMessage {
	return json.RawMessage("[" + string(bytes.Join(rawBytes(items), []byte(","))) + "]")
}

func rawBytes(items []json.RawMessage) [][]byte {
	all := make([][]byte, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}
