package a2a

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The newest text within the limit is sent, and many texts become one part.
func TestSentIsBounded(t *testing.T) {
	blockOf := func(text string) block { return block{[]*a2a.Part{a2a.NewTextPart(text)}, len(text)} }
	var d draft
	big := strings.Repeat("x", 100<<10)
	for range 10 {
		d.blocks = append(d.blocks, blockOf(big))
	}
	d.blocks = append(d.blocks, blockOf("the last"))
	parts := d.parts()
	if len(parts) != 7 || parts[0].Text() != "[5 earlier messages omitted]" || parts[6].Text() != "the last" {
		t.Errorf("%d parts: %.80q ... %.80q", len(parts), parts[0].Text(), parts[len(parts)-1].Text())
	}
	d = draft{blocks: []block{blockOf(strings.Repeat("x", 2*MaxSentText))}}
	if parts := d.parts(); len(parts) != 1 {
		t.Errorf("one that is too large alone: %d parts", len(parts))
	}
	d = draft{}
	for range MaxSentParts + 40 {
		d.blocks = append(d.blocks, blockOf("x"))
	}
	if parts := d.parts(); len(parts) != 1 || parts[0].Text() != strings.Repeat("x\n\n", MaxSentParts+39)+"x" {
		t.Errorf("many: %d parts", len(parts))
	}
}
