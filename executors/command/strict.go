package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// object parses a JSON object, and returns its names in order. It refuses duplicate names, and JSON
// that decoders read differently.
func object(text []byte) (names []string, members map[string]json.RawMessage, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("invalid UTF-8: expected a JSON object in UTF-8")
	}
	notJSON := fmt.Errorf("%s is not a JSON object: expected one such as {\"text\":\"hello\"}", excerpt(text))
	if !json.Valid(text) {
		return nil, nil, notJSON
	}
	if halfSurrogate(text) {
		return nil, nil, errors.New(`half of a surrogate pair: expected both halves, such as \ud83d\ude00`)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return nil, nil, notJSON
	}
	members = map[string]json.RawMessage{}
	for dec.More() {
		name, _ := dec.Token() // text is valid JSON
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, nil, err
		}
		names = append(names, name.(string))
		members[name.(string)] = raw
	}
	if len(members) < len(names) {
		return nil, nil, errors.New("duplicate member")
	}
	return names, members, nil
}

// strict decodes an object that has only the allowed members.
func strict(what string, raw json.RawMessage, into any, allowed ...string) error {
	names, members, err := object(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for _, name := range names {
		switch {
		case !slices.Contains(allowed, name):
			return fmt.Errorf("unknown member %s.%s: expected one of %s", what, name, strings.Join(allowed, ", "))
		case name != "data" && string(members[name]) == "null":
			return fmt.Errorf("%s.%s is null: expected a value, or no member", what, name)
		}
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s is %s: %w", what, excerpt(raw), err)
	}
	return nil
}

// list parses a list.
func list(what string, raw json.RawMessage) (items []json.RawMessage, err error) {
	if err := json.Unmarshal(raw, &items); err != nil || items == nil {
		return nil, fmt.Errorf("%s is %s: expected a list", what, excerpt(raw))
	}
	return items, nil
}

// strictList decodes a list of objects that have only the allowed members.
func strictList[T any](what string, raw json.RawMessage, allowed ...string) ([]T, error) {
	items, err := list(what, raw)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(items))
	for i, item := range items {
		if err := strict(fmt.Sprintf("%s[%d]", what, i), item, &all[i], allowed...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// wordList decodes a list of strings.
func wordList(what string, raw json.RawMessage) ([]string, error) {
	items, err := list(what, raw)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(items))
	for i, item := range items {
		if all[i], err = words(fmt.Sprintf("%s[%d]", what, i), item); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// words decodes a non-empty string.
func words(name string, raw json.RawMessage) (string, error) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || s == "" {
		return "", fmt.Errorf("%s is %s: expected a string that is not empty", name, excerpt(raw))
	}
	return s, nil
}

// halfSurrogate reports whether valid JSON has an escape of half a surrogate pair. Decoders replace
// it in different ways.
func halfSurrogate(text []byte) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		i++ // the escaped character
		if text[i] != 'u' {
			continue
		}
		hex := strings.ToLower(string(text[i+1 : i+5]))
		i += 4
		if hex < "d800" || hex > "dfff" {
			continue
		}
		if hex >= "dc00" || !bytes.HasPrefix(text[i+1:], []byte(`\u`)) {
			return true
		}
		low := strings.ToLower(string(text[i+3 : i+7]))
		if low < "dc00" || low > "dfff" {
			return true
		}
		i += 6
	}
	return false
}

// excerpt returns the quoted beginning of a text.
func excerpt(text []byte) string {
	const most = 60
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprintf("%q...", text[:most])
}
