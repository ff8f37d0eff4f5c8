package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley/internal/spelling"
)

// groups returns the names that contain other settings, such as limits.
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

// suggestion returns the end of the message about an unknown name, with the most similar name.
func suggestion(name string) string {
	if name == "dev" || name == "config" {
		return ": it is a flag only"
	}
	names := groups()
	for _, s := range Settings {
		names = append(names, s.Name)
	}
	near := spelling.Nearest(name, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; is it %s?", near)
}
