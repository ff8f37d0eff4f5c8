// Package spelling finds the name that a misspelled one may mean. For example, the name for
// "modle" is "model":
//
//	spelling.Nearest("modle", []string{"model", "tools"})
package spelling

import "strings"

// Nearest returns the most similar name to a misspelled one, or "" if more than a third of its
// letters differ.
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

// distance returns the number of bytes to insert, delete or replace to turn a into b.
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
