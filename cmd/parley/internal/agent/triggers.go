package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// printTriggers prints a line for each selector of an agent: the start condition, and the members
// of its context.
func printTriggers(a *cli.App, raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	a.Out.Line("\nsubscriptions")
	s, faults := parley.ParseSubscriptions(raw)
	if len(faults) > 0 { // of a hub that is newer
		a.Out.Line("  " + cli.Clean(string(raw)))
		return
	}
	for i := range s.Selectors {
		a.Out.Linef("  selectors[%d] %s", i, selectorText(&s.Selectors[i]))
	}
}

// selectorText says in a line what a selector is for and what it matches.
func selectorText(s *parley.Selector) string {
	text := "wakes on "
	if !s.Trigger() {
		text = strings.TrimSpace("context "+cli.Clean(s.Key)) + ": " + fetchText(s.FetchOf()) + " of "
	}
	what := "anything"
	if s.SchemaName != "" {
		what = cli.Clean(s.SchemaName)
	}
	parts := []string{what}
	if s.AnyTags != nil {
		parts = append(parts, "with any of the tags "+tagsText(s.AnyTags))
	}
	if len(s.AllTags) > 0 {
		parts = append(parts, "with all of the tags "+tagsText(s.AllTags))
	}
	for _, m := range s.ContextMatch {
		parts = append(parts, strings.TrimSpace(cli.Clean(m.Path)+" "+cli.Clean(string(m.Op))+" "+cli.Clean(string(m.Value))))
	}
	if s.Workspace() {
		parts = append(parts, "in the workspace")
	}
	return text + strings.Join(parts, ", ")
}

func tagsText(tags []string) string {
	if len(tags) == 0 {
		return "(none: nothing has one)"
	}
	return cli.Clean(strings.Join(tags, " "))
}

func fetchText(f parley.Fetch) string {
	switch f.Method {
	case parley.FetchRecent:
		return fmt.Sprintf("the last %d", f.Limit)
	case parley.FetchVector:
		return fmt.Sprintf("the %d most alike", f.NN)
	case parley.FetchEventData:
		return "the event itself"
	}
	return "the last"
}
