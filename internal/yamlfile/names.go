package yamlfile

import "strings"

// Brief keeps a name that is none from filling the terminal.
func Brief(name string) string {
	const most = 64
	if runes := []rune(name); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return name
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
