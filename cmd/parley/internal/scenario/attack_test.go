package scenario_test

import (
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
)

// TestBombs: a file that was made to cost much costs little. The bound is far above what it takes.
func TestBombs(t *testing.T) {
	const most = 256 << 10
	fill := func(begin, unit, end string) string {
		return begin + strings.Repeat(unit, (most-len(begin)-len(end))/len(unit)) + end
	}
	for name, text := range map[string]string{
		"deep":      fill("metadata: ", "[", ""),
		"deep maps": fill("metadata: ", "{a: ", ""),
		"deep list": fill("", "- ", "a"),
		"unknown":   fill("", "?\n", ""),
		"twice":     fill("", "title: a\n", ""),
		"rules":     fill("policy: {kind: rules, rules: [", "{when: '((((', next: b}, ", "]}"),
		"seats":     fill("participants: [", "{id: a, kind: human}, ", "]"),
		"refs":      fill("metadata: {a: &a [x], b: [", "*a, ", "]}"),
		"name":      fill("", "x", ": 1"),
		"parens": "participants: [{id: a, kind: human}]\nlimits: {stopWhen: '" + strings.Repeat("(", 1000) + "true" +
			strings.Repeat(")", 1000) + "'}",
	} {
		if _, err := scenario.Parse("s.yaml", []byte(text)); err == nil { // without a bound, it would never return
			t.Errorf("%s: no error", name)
		}
	}
}
