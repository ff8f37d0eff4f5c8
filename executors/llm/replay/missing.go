package replay

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// MissingError is a request for which no answer is left.
type MissingError struct {
	// What was asked: a provider, or a tool.
	What string
	// Times is how often it was asked for and answered before; then it was not recorded once more.
	Times int
	// Nearest is the place, as file:line, of the recorded request that is the most like it; empty, there is none of What. It differs at Path, where Recorded and Asked are the beginnings of
	// what stands there; empty where there is nothing.
	Nearest, Path, Recorded, Asked string
}

func (e *MissingError) Error() string {
	switch {
	case e.Times > 0:
		often := "once"
		if e.Times > 1 {
			often = fmt.Sprintf("%d times", e.Times)
		}
		return fmt.Sprintf(
			"%s: %s was asked this %s before, and not once more when it was recorded: each answer is played once",
			ErrNotRecorded, e.What, often)
	case e.Nearest == "":
		return fmt.Sprintf("%s: nothing that %s was asked is in the cassette", ErrNotRecorded, e.What)
	}
	return fmt.Sprintf("%s: %s was not asked this: the nearest that it was, in %s, differs at %s: recorded %s, now %s",
		ErrNotRecorded, e.What, e.Nearest, e.Path, orNothing(e.Recorded), orNothing(e.Asked))
}

// Unwrap gives ErrNotRecorded.
func (e *MissingError) Unwrap() error { return ErrNotRecorded }

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// missing says what is known of a request without an answer.
func (c *Cassette) missing(asked *entry) *MissingError {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := &MissingError{What: asked.what(), Times: c.played[asked.Hash]}
	if m.Times > 0 {
		return m
	}
	now := leavesOf(asked)
	best := -1
	for _, e := range c.entries {
		if e.what() != m.What {
			continue
		}
		was := leavesOf(e)
		if n := shared(was, now); n > best {
			best, m.Nearest = n, e.place
			m.Path, m.Recorded, m.Asked = difference(was, now)
		}
	}
	return m
}

func (e *entry) what() string {
	if e.Tool != "" {
		return "the tool " + e.Tool
	}
	return e.Provider
}

// leavesOf are the values of a request by their paths, as JSON.
func leavesOf(e *entry) map[string]string {
	all := map[string]string{}
	if v, err := decode(alike(e.Request)); err == nil {
		leaves("", v, all)
	}
	return all
}

func leaves(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			leaves(strings.TrimPrefix(path+"."+name, "."), below, into)
		}
	case []any:
		for i, below := range v {
			leaves(fmt.Sprintf("%s[%03d]", path, i), below, into)
		}
	default:
		into[path] = string(encode(v))
	}
}

// shared counts what two have in common.
func shared(a, b map[string]string) (n int) {
	for path, value := range a {
		if b[path] == value {
			n++
		}
	}
	return n
}

// difference gives the first path at which two differ, in the order of paths, and the beginnings of what differs.
func difference(was, now map[string]string) (path, recorded, asked string) {
	all := maps.Clone(was)
	maps.Copy(all, now)
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if was[p] == now[p] {
			continue
		}
		same := 0
		for same < min(len(was[p]), len(now[p])) && was[p][same] == now[p][same] {
			same++
		}
		return tidy(p), around(was[p], same), around(now[p], same)
	}
	return "", "", ""
}

var padded = regexp.MustCompile(`\[0+([0-9])`)

// tidy takes out the zeros by which places are in order.
func tidy(path string) string { return padded.ReplaceAllString(path, "[$1") }

// around is a part of a text at the place where it begins to differ.
func around(text string, at int) string {
	const before, after = 20, 60
	from, to := max(at-before, 0), min(at+after, len(text))
	part := strings.ToValidUTF8(text[from:to], "")
	if from > 0 {
		part = "..." + part
	}
	if to < len(text) {
		part += "..."
	}
	return part
}
