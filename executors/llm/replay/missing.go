package replay

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// MissingError reports a request without an answer.
type MissingError struct {
	// What is the name of the provider, or "the tool" and its name.
	What string
	// Times counts the earlier replays of the same request. If it is not 0, the request was
	// recorded that often.
	Times int
	// Nearest is the position of the most similar recorded request, as file:line. It is empty if
	// there is none for What. Path is the first difference, where Recorded and Asked have the two
	// values around the difference. An empty value is missing.
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
			"%s: %s was called with this request %s when it was recorded; each answer is replayed once",
			ErrNotRecorded, e.What, often)
	case e.Nearest == "":
		return fmt.Sprintf("%s: the cassette has no request to %s", ErrNotRecorded, e.What)
	}
	return fmt.Sprintf("%s: no such request to %s was recorded; the most similar one in %s differs at %s: recorded %s, now %s",
		ErrNotRecorded, e.What, e.Nearest, e.Path, orNothing(e.Recorded), orNothing(e.Asked))
}

// Unwrap returns ErrNotRecorded.
func (e *MissingError) Unwrap() error { return ErrNotRecorded }

func orNothing(text string) string {
	if text == "" {
		return "nothing"
	}
	return text
}

// missing returns the error for a request without an answer.
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

// leavesOf returns the values of a request by path, as JSON.
func leavesOf(e *entry) map[string]string {
	all := map[string]string{}
	if v, err := decode(maskIDs(e.Request)); err == nil {
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

// shared counts the equal values of a and b.
func shared(a, b map[string]string) (n int) {
	for path, value := range a {
		if b[path] == value {
			n++
		}
	}
	return n
}

// difference returns the first path at which two requests differ, in the order of paths, and the
// parts that differ.
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

// tidy removes the zeros that keep indexes in order.
func tidy(path string) string { return padded.ReplaceAllString(path, "[$1") }

// around returns the part of a text around the first difference.
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
