package a2a

import (
	"errors"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func artifactOf(id string, more bool, texts ...string) *a2a.TaskArtifactUpdateEvent {
	u := &a2a.TaskArtifactUpdateEvent{Append: more, Artifact: &a2a.Artifact{ID: a2a.ArtifactID(id)}}
	for _, s := range texts {
		u.Artifact.Parts = append(u.Artifact.Parts, a2a.NewTextPart(s))
	}
	return u
}

// Text in the status and in artifacts is posted once, parts of an artifact are joined, and a
// repeated artifact replaces the earlier one.
func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		name   string
		status []string
		pieces []*a2a.TaskArtifactUpdateEvent
		told   bool // the artifacts as they are then were said before
		more   []*a2a.TaskArtifactUpdateEvent
		want   string
	}{
		{"the status alone", []string{"yes"}, nil, false, nil, "yes"},
		{"an artifact alone", nil, []*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "yes")}, false, nil, "yes"},
		{"both the same", []string{" yes\n"}, []*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "yes")}, false, nil,
			"yes"},
		{"both the same, in pieces", []string{"yes and no"},
			[]*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "yes"), artifactOf("a", true, " and"),
				artifactOf("a", true, " no")}, false, nil, "yes and no"},
		{"the same in two artifacts", []string{"one\n\ntwo"},
			[]*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "one"), artifactOf("b", false, "two")}, false, nil, "one|two"},
		{"different", []string{"here:"}, []*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "yes")}, false, nil,
			"here:|yes"},
		{"replaced", nil, []*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "yes"), artifactOf("a", false, "no")}, false,
			nil, "no"},
		{"told before", []string{"again?"}, []*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "yes")}, true,
			[]*a2a.TaskArtifactUpdateEvent{artifactOf("b", false, "no")}, "again?|no"},
		{"told before, and more of it", nil, []*a2a.TaskArtifactUpdateEvent{artifactOf("a", false, "yes")}, true,
			[]*a2a.TaskArtifactUpdateEvent{artifactOf("a", true, " no")}, "yes no"},
	} {
		a := newAnswer()
		for _, u := range c.pieces {
			if err := a.update(u); err != nil {
				t.Fatal(err)
			}
		}
		if c.told {
			a.told = a.marks()
		}
		for _, u := range c.more {
			if err := a.update(u); err != nil {
				t.Fatal(err)
			}
		}
		if c.status != nil {
			a.message = a2a.NewMessage(a2a.MessageRoleAgent)
			for _, s := range c.status {
				a.message.Parts = append(a.message.Parts, a2a.NewTextPart(s))
			}
		}
		var got []string
		for _, p := range a.all() {
			got = append(got, p.Text())
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// TestAnswerIsBounded has too many bytes and too many parts.
func TestAnswerIsBounded(t *testing.T) {
	big := strings.Repeat("x", 8<<20)
	a := newAnswer()
	var err error
	for range MaxStreamBytes/len(big) + 1 {
		if err = a.update(artifactOf("a", true, big)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("bytes: %v", err)
	}
	a = newAnswer()
	if err := a.update(artifactOf("a", false, make([]string, MaxParts+1)...)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("parts: %v", err)
	}
	a = newAnswer()
	for range 100 { // one in the place of the other
		if err := a.update(artifactOf("a", false, big)); err != nil {
			t.Fatal(err)
		}
	}
}

// Any input is a usable card or an error.
func FuzzParseCard(f *testing.F) {
	f.Add([]byte(
		`{"name":"x","supportedInterfaces":[{"url":"https://a.example","protocolBinding":"JSONRPC",` +
			`"protocolVersion":"1.0"}],"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}}}}`))
	f.Add([]byte(
		`{"url":"https://a.example","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"https://b.example",` +
			`"transport":"HTTP+JSON"}],"security":[{"x":[]}]}`))
	f.Add([]byte(`{"supportedInterfaces":[null],"url":1}`))
	f.Add([]byte(`{"url":"https://a.example","securitySchemes":{"a":{"type":"new"}},"skills":[null]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		card, shape, err := ParseCard(body)
		if (err == nil) != (card != nil && shape != "") && err == nil {
			t.Fatal(card, shape, err)
		}
		if err == nil {
			Spoken(card)
		}
	})
}
