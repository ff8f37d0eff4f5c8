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

// answer gathers what a task brings.
type answer struct {
	message   *a2a.Message // of its status
	artifacts []*artifact  // in the order in which they came
	parts     int
	bytes     int
	progress  string // what was told last
	told      []string
}

type artifact struct {
	id    a2a.ArtifactID
	parts a2a.ContentParts
}

func newAnswer() *answer { return &answer{} }

// replace takes the artifacts as they are now. A task that is told without them, as some peers do, leaves those that came.
func (a *answer) replace(all []*a2a.Artifact) error {
	if len(all) == 0 {
		return nil
	}
	a.artifacts, a.parts, a.bytes = nil, 0, 0
	for _, one := range all {
		if one == nil {
			return fmt.Errorf("%w: an artifact that is null", ErrGarbage)
		}
		if err := a.add(one, false); err != nil {
			return err
		}
	}
	return nil
}

// update takes a piece of an artifact.
func (a *answer) update(e *a2a.TaskArtifactUpdateEvent) error {
	if e.Artifact == nil {
		return fmt.Errorf("%w: an update without its artifact", ErrGarbage)
	}
	return a.add(e.Artifact, e.Append)
}

// add puts an artifact in the place of the one with its id, or its parts behind those.
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
			return fmt.Errorf("%w: an empty part", ErrGarbage)
		}
		a.parts++
		a.bytes += sizeOf(p)
		known.parts = append(known.parts, p)
	}
	if a.parts > MaxParts || a.bytes > MaxStreamBytes {
		return fmt.Errorf("%w: artifacts of %d parts and %d bytes", ErrTooLarge, a.parts, a.bytes)
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

// all gives every part once: those of the message, then those of the artifacts. The texts of one artifact are pieces of one text. What the message has in common with the
// artifacts is left to them.
func (a *answer) all() a2a.ContentParts {
	var made a2a.ContentParts
	for _, one := range a.artifacts {
		if !slices.Contains(a.told, one.mark()) { // in an earlier turn of the same task
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

// marks are those of the artifacts, for who goes on with the task.
func (a *answer) marks() []string {
	var all []string
	for _, one := range a.artifacts {
		all = append(all, one.mark())
	}
	return all
}

// mark is short, and another for every artifact and state of it.
func (one *artifact) mark() string {
	h := sha256.New()
	fmt.Fprintf(h, "%q", one.id)
	for _, p := range pieced(one.parts) {
		raw, _ := json.Marshal(p)
		fmt.Fprintf(h, "%d %s", len(raw), raw)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// pieced joins neighbouring texts.
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

// same reports whether two parts say the same.
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

// clip cuts a text off at a code point.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
