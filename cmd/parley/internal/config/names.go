package config

import (
	"fmt"
	"slices"
	"strings"
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

// brief keeps a name that is none from filling the terminal.
func brief(name string) string {
	const most = 64
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return name
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
	near := Nearest(name, names)
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; is it %s?", near)
}

// Nearest gives the name that differs the least from one that is misspelt: by no more than a third of its letters, else "".
func Nearest(misspelt string, names []string) string {
	best, least := "", len(misspelt)/3+1
	for _, name := range names {
		if len(misspelt) > 2*len(name) {
			continue
		}
		if d := distance(strings.ToLower(misspelt), strings.ToLower(name)); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many bytes have to be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // row[j] is the distance of a[:i] and b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
