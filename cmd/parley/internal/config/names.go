package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley/internal/yamlfile"
)

// groups are the names that only hold others, such as limits.
func groups() []string {
	var names []string
	for _, s := range Settings {
		if group, _, ok := strings.Cut(s.Name, "."); ok && !slices.Contains(names, group) {
			names = append(names, group)
		}
	}
	return names
}

func firstBelow(group string) string {
	for _, s := range Settings {
		if name, ok := strings.CutPrefix(s.Name, group+"."); ok {
			return name
		}
	}
	return ""
}

// suggestion ends the message about an unknown name with the one that may have been meant.
func suggestion(name string) string {
	if name == "dev" || name == "config" {
		return ": it is a flag only"
	}
	names := groups()
	for _, s := range Settings {
		names = append(names, s.Name)
	}
	near := yamlfile.Nearest(name, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; is it %s?", near)
}
