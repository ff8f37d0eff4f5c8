package config

import (
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the flags of all settings, in one set.
type Flags struct {
	values map[string]*flagValue // by the setting's name
}

// AddFlags adds a flag for every setting. Parsing them checks nothing: Load tells of all faults together.
func AddFlags(set *pflag.FlagSet) *Flags {
	f := &Flags{values: map[string]*flagValue{}}
	for _, s := range Settings {
		v := &flagValue{setting: s}
		f.values[s.Name] = v
		doc := s.Doc
		if len(s.rule.choices) > 0 {
			doc += " (" + s.values() + ")"
		}
		if s.list() {
			doc += " (repeatable)"
		}
		if s.shown != "" {
			doc += " (default: " + s.shown + ")"
		}
		flag := set.VarPF(v, s.Flag, "", doc)
		if s.kind() == "boolean" {
			flag.NoOptDefVal = "true"
		}
	}
	return f
}

// given gives what was said by flags.
func (f *Flags) given() map[string]given {
	found := map[string]given{}
	if f == nil {
		return found
	}
	for name, v := range f.values {
		if len(v.texts) > 0 {
			found[name] = given{v.texts, Origin{Where: FromFlag, Name: "--" + v.setting.Flag}}
		}
	}
	return found
}

// flagValue gathers the texts of one flag.
type flagValue struct {
	setting Setting
	texts   []string
}

var _ pflag.SliceValue = (*flagValue)(nil)

// Set takes the text of a flag: the last one, or more of a list, with commas between them.
func (v *flagValue) Set(text string) error {
	if v.setting.list() {
		v.texts = append(v.texts, listed(text)...)
		return nil
	}
	v.texts = []string{text}
	return nil
}

// String is what was given, else the default.
func (v *flagValue) String() string {
	switch {
	case len(v.texts) > 0:
		return strings.Join(v.texts, ",")
	case v.setting.field == nil: // pflag makes zero values to compare with
		return ""
	}
	return v.setting.Text(&defaults)
}

// Type is the word for the value in a help text.
func (v *flagValue) Type() string {
	switch kind := v.setting.kind(); kind {
	case "boolean":
		return "bool"
	case "integer":
		return "int"
	case "number":
		return "float"
	case "list":
		return "strings"
	default:
		return kind
	}
}

// Append, Replace and GetSlice are for completion.
func (v *flagValue) Append(text string) error { return v.Set(text) }

// Replace puts other texts in the place of those that were given.
func (v *flagValue) Replace(texts []string) error {
	v.texts = texts
	return nil
}

// GetSlice gives the texts.
func (v *flagValue) GetSlice() []string { return v.texts }
