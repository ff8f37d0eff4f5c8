package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxItems limits a list.
const maxItems = 1000

// set checks the texts of a setting and sets it in c. All settings except lists have one text.
func (s Setting) set(c *Config, texts []string) error {
	switch field := s.field(c).(type) {
	case *[]string:
		if err := s.items(texts); err != nil {
			return err
		}
		*field = slices.Clone(texts)
		return nil
	case *bool:
		if texts[0] != "true" && texts[0] != "false" {
			return errors.New("expected true or false")
		}
		*field = texts[0] == "true"
		return nil
	case *int:
		n, err := s.rule.number(texts[0], true)
		*field = int(n)
		return err
	case *float64:
		n, err := s.rule.number(texts[0], false)
		*field = n
		return err
	case *string:
		*field = texts[0]
		return s.rule.text(texts[0])
	}
	panic("a setting of an unknown type: " + s.Name) // the table is part of the program
}

func (s Setting) items(texts []string) error {
	if len(texts) > maxItems {
		return fmt.Errorf("expected at most %d", maxItems)
	}
	for i, text := range texts {
		if err := s.item(texts[:i], text); err != nil {
			return err
		}
	}
	return nil
}

// listed splits a list with commas.
func listed(text string) []string {
	texts := strings.Split(text, ",")
	for i := range texts {
		texts[i] = strings.TrimSpace(texts[i])
	}
	return texts
}

// item checks an item of a list, after the items before it.
func (s Setting) item(before []string, text string) error {
	if slices.Contains(before, text) {
		return errors.New("it is in the list twice")
	}
	return s.rule.text(text)
}

// expectation returns the expected type.
func (s Setting) expectation() string {
	if kind := s.kind(); kind == "string" || kind == "list" {
		return "expected a string"
	}
	return s.set(&Config{}, []string{""}).Error() // an empty text is neither a number nor a boolean
}

// Value returns the value in c: a string, bool, int, float64 or []string.
func (s Setting) Value(c *Config) any {
	switch field := s.field(c).(type) {
	case *[]string:
		return append([]string{}, *field...)
	case *bool:
		return *field
	case *int:
		return *field
	case *float64:
		return *field
	case *string:
		return *field
	}
	panic("a setting of an unknown type: " + s.Name)
}

// Text formats the value in c in the form of the environment.
func (s Setting) Text(c *Config) string {
	switch v := s.Value(c).(type) {
	case []string:
		return strings.Join(v, ",")
	case float64:
		return decimal(v)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	default:
		return v.(string)
	}
}
