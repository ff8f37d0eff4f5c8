package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// answer collects the results of a task.
type answer struct {
	message   *a2a.Message // of the task status
	artifacts []*artifact  // in the order of arrival
	parts     int
	bytes     int
	progress  string   // last progress text
	told      []string // marks of artifacts that earlier turns posted
}

type artifact struct {
	id    a2a.ArtifactID
	parts a2a.ContentParts
}

func newAnswer() *answer { return &answer{} }

// replace sets the artifacts of a task. Some peers send a task without artifacts, which keeps the
// earlier ones.
func (a *answer) replace(all []*a2a.Artifact) error {
	if len(all) == 0 {
		return nil
	}
	a.artifacts, a.parts, a.bytes = nil, 0, 0
	for _, one := range all {
		if one == nil {
			return fmt.Errorf("%w: null artifact", ErrGarbage)
		}
		if err := a.add(one, false); err != nil {
			return err
		}
	}
	return nil
}

// update adds a part of an artifact.
func (a *answer) update(e *a2a.TaskArtifactUpdateEvent) error {
	if e.Artifact == nil {
		return fmt.Errorf("%w: update without an artifact", ErrGarbage)
	}
	return a.add(e.Artifact, e.Append)
}

// add replaces the artifact with the same id, or appends to it.
func (a *answer) add(new *a2a.Artifact, behind bool) error {
	i := slices.IndexFunc(a.artifacts, func(known *artifact) bool { return known.id == new.ID })
	if i < 0 {
		if len(a.artifacts) == MaxArtifacts {
			return fmt.Errorf("%w: more than %d artifacts", ErrTooLarge, MaxArtifacts)
		}
		a.artifacts = append(a.artifacts, &artifact{id: new.ID})
		i = len(a.artifacts) - 1
	}
	known := a.artifacts[i]
	if !behind {
		a.parts -= len(known.parts)
		for _, p := range known.parts {
			a.bytes -= sizeOf(p)
		}
		known.parts = nil
	}
	for _, p := range new.Parts {
		if p == nil || p.Content == nil {
			return fmt.Errorf("%w: empty part", ErrGarbage)
		}
		a.parts++
		a.bytes += sizeOf(p)
		known.parts = append(known.parts, p)
	}
	if a.parts > MaxParts || a.bytes > MaxStreamBytes {
		return fmt.Errorf("%w: artifacts with %d parts and %d bytes", ErrTooLarge, a.parts, a.bytes)
	}
	return nil
}

func sizeOf(p *a2a.Part) int {
	switch v := p.Content.(type) {
	case a2a.Text:
		return len(v)
	case a2a.Raw:
		return len(v)
	case a2a.URL:
		return len(v)
	case a2a.Data:
		raw, _ := json.Marshal(v.Value)
		return len(raw)
	}
	return 0
}

// all returns every part once: those of the message, then those of the artifacts. The texts of one
// artifact are joined. Parts of the message that are also in the artifacts are left out.
func (a *answer) all() a2a.ContentParts {
	var made a2a.ContentParts
	for _, one := range a.artifacts {
		if !slices.Contains(a.told, one.mark()) { // posted in an earlier turn of the same task
			made = append(made, pieced(one.parts)...)
		}
	}
	var all a2a.ContentParts
	if a.message != nil {
		for _, p := range a.message.Parts {
			if p != nil && p.Content != nil && !slices.ContainsFunc(made, func(q *a2a.Part) bool { return same(p, q) }) {
				all = append(all, p)
			}
		}
		if text := strings.TrimSpace(textOf(a.message.Parts)); text != "" && text == strings.TrimSpace(textOf(made)) {
			all = slices.DeleteFunc(all, isText)
		}
	}
	return append(all, made...)
}

// marks returns the marks of the artifacts, for the next turn of the task.
func (a *answer) marks() []string {
	var all []string
	for _, one := range a.artifacts {
		all = append(all, one.mark())
	}
	return all
}

// mark returns a short hash of the artifact and its content.
func (one *artifact) mark() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", one.id)
	for _, p := range pieced(one.parts) {
		raw, _ := json.Marshal(p)
		fmt.Fprintf(h, "%d %s", len(raw), raw)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// pieced joins adjacent texts.
func pieced(parts a2a.ContentParts) a2a.ContentParts {
	var all a2a.ContentParts
	for from := 0; from < len(parts); {
		to := from
		for to < len(parts) && isText(parts[to]) {
			to++
		}
		if to == from {
			all = append(all, parts[from])
			from++
			continue
		}
		var b strings.Builder
		for _, p := range parts[from:to] {
			b.WriteString(string(p.Content.(a2a.Text)))
		}
		all = append(all, a2a.NewTextPart(b.String()))
		from = to
	}
	return all
}

func isText(p *a2a.Part) bool {
	_, is := p.Content.(a2a.Text)
	return is
}

// same reports whether two parts have the same content.
func same(p, q *a2a.Part) bool {
	text, isText := p.Content.(a2a.Text)
	other, isOther := q.Content.(a2a.Text)
	if isText && isOther {
		return strings.TrimSpace(string(text)) == strings.TrimSpace(string(other))
	}
	return isText == isOther && reflect.DeepEqual(p.Content, q.Content)
}

// textOf joins the texts of parts.
func textOf(parts a2a.ContentParts) string {
	var all []string
	for _, p := range parts {
		if p == nil {
			continue
		}
		if text, ok := p.Content.(a2a.Text); ok && text != "" {
			all = append(all, string(text))
		}
	}
	return strings.Join(all, "\n\n")
}

// clip returns at most the given number of bytes, without splitting a rune.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
