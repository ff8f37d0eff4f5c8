package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

func BenchmarkNext(b *testing.B) {
	thirtytwo := rules(slices.Repeat([]string{"last.role == 'nobody' && turns > 3"}, limits.MaxRules)...)
	for i := range thirtytwo.Rules {
		thirtytwo.Rules[i].When += fmt.Sprintf(" && %d > 0", i)
	}
	for _, c := range []struct {
		name   string
		policy parley.Policy
		text   string
	}{
		{"addressed/hit", parley.Policy{Kind: parley.PolicyAddressed}, "hello @clinic"},
		{"addressed/miss/16KiB", parley.Policy{Kind: parley.PolicyAddressed}, strings.Repeat("a", 16<<10)},
		{"addressed/many/16KiB", parley.Policy{Kind: parley.PolicyAddressed}, strings.Repeat("@nobody ", 2<<10)},
		{"rules/1", rules("last.text.contains('hello')"), "hello"},
		{"rules/32", thirtytwo, "hello"},
		{"rules/1/16KiB", rules("last.text.contains('nothing')"), strings.Repeat("a", 16<<10)},
		{"moderator", parley.Policy{Kind: parley.PolicyModerator, Moderator: "anna"}, "hello"},
	} {
		b.Run(c.name, func(b *testing.B) {
			e := ended(c.policy, "payer", c.text)
			b.ReportAllocs()
			for b.Loop() {
				again := *e // without the decoded message
				policy.Next(&again)
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	i := 0
	for b.Loop() {
		i++
		if err := policy.Check(rules(fmt.Sprintf("last.text.contains('hello') && turns > %d", i)), "", seats()); err != nil {
			b.Fatal(err)
		}
	}
}
