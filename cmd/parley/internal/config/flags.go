package config

import (
	"strings"

	"github.com/spf13/pflag"
)

// Flags are the flags of all settings, in one set.
type Flags struct {
	values map[string]*flagValue // by the name of the setting
}

// AddFlags adds a flag for every setting. Parsing checks nothing, because Load reports all faults
// together.
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

// given returns the values of flags.
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

// flagValue collects the texts of one flag.
type flagValue struct {
	setting Setting
	texts   []string
}

var _ pflag.SliceValue = (*flagValue)(nil)

// Set adds the text of a flag: the last one counts, or items of a list, separated by commas.
func (v *flagValue) Set(text string) error {
	if v.setting.list() {
		v.texts = append(v.texts, listed(text)...)
		return nil
	}
	v.texts = []string{text}
	return nil
}

// String returns the given value, otherwise the default.
func (v *flagValue) String() string {
	switch {
	case len(v.texts) > 0:
		return strings.Join(v.texts, ",")
	case v.setting.field == nil: // pflag creates zero values to compare with
		return ""
	}
	return v.setting.Text(&defaults)
}

// Type returns the placeholder of the value in a help text.
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

// Replace replaces the given texts.
func (v *flagValue) Replace(texts []string) error {
	v.texts = texts
	return nil
}

// GetSlice returns the texts.
func (v *flagValue) GetSlice() []string { return v.texts }
