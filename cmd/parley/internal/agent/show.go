package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

func newShowCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "show AGENT",
		Short: "show an agent, and the parameters for 'parley start'",
		Long: "show prints an agent with its parameters. The participant that registered it and admins also see its " +
			"triggers. With -o json it prints the row of 'parley agent list' with the whole schemas.",
		Args: cobra.ExactArgs(1),
	}
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		client, err := a.Dial(ctx, "")
		if err != nil {
			return err
		}
		defer client.Close()
		info, err := Find(ctx, a, client, args[0])
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(info)
		}
		return printAgent(a, info)
	})
}

func printAgent(a *cli.App, info *parley.AgentInfo) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	runner := cli.Clean(info.RunnerID)
	if info.Runner != "" {
		runner = strings.TrimSpace(runner + " of " + cli.Clean(info.Runner))
	}
	for _, row := range [][2]string{
		{"name", cli.Clean(info.Name)}, {"type", cli.Clean(string(info.Type))}, {"state", stateText(info)},
		{"runner", strings.TrimPrefix(runner, "of ")},
		{"labels", labelsText(info.Labels)},
	} {
		if row[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if info.Description != "" {
		a.Out.Line("\n" + cli.CleanLines(strings.TrimSpace(info.Description), "", a.Out.Columns()))
	}
	schema := info.ParametersSchema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"properties":{"prompt":{"type":"string","minLength":1}},"required":["prompt"]}`)
	}
	a.Out.Line("\nparameters")
	if err := printSchema(a, schema); err != nil {
		return err
	}
	if len(info.OutputSchema) > 0 {
		a.Out.Line("\nresult_data")
		if err := printSchema(a, info.OutputSchema); err != nil {
			return err
		}
	}
	printTriggers(a, info.Subscriptions)
	return nil
}

// printSchema prints the properties of a schema, one on each line. It prints the text of a schema
// without properties.
func printSchema(a *cli.App, raw json.RawMessage) error {
	t := readTypes(raw)
	var rows [][]string
	for _, name := range propertiesOf(raw) {
		rows = append(rows,
			[]string{name, t.ofProperty(name).kindText(0), t.requirementText(name), t.ofProperty(name).constraintsText()})
	}
	if len(rows) == 0 {
		a.Out.Line("  " + cli.CleanLines(cli.IndentJSON(raw), "  ", 0))
		return nil
	}
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			row[i] = cli.Clean(row[i])
		}
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for l := range strings.Lines(b.String()) {
		a.Out.Line(strings.TrimRight(l, " \n"))
	}
	return nil
}

// propertiesOf returns the names of an object's properties in the order of the text.
func propertiesOf(raw json.RawMessage) (names []string) {
	var schema struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(raw, &schema) != nil || len(schema.Properties) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(schema.Properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return names
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// maxShownDepth bounds the depth of a schema that is shown, since a schema may refer to itself.
const maxShownDepth = 4

// kindText names the types of a value: "integer", "list of string".
func (t *valueTypes) kindText(depth int) string {
	var kinds []string
	for _, s := range t.found {
		for _, kind := range namedTypes(s) {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	if i := slices.Index(kinds, "array"); i >= 0 {
		kinds[i] = t.listText(depth)
	}
	if len(kinds) == 0 {
		return "any"
	}
	return strings.Join(kinds, " or ")
}

// listText is "list", with the types of what is in it where they are known.
func (t *valueTypes) listText(depth int) string {
	if depth == maxShownDepth {
		return "list"
	}
	of := t.ofItems().kindText(depth + 1)
	if of == "any" {
		return "list"
	}
	return "list of " + of
}

// requirementText says whether a property has to be given: "required", "alternative" where that
// depends on others, or its default.
func (t *valueTypes) requirementText(name string) string {
	for _, s := range t.ofProperty(name).found {
		if v, ok := s["default"]; ok {
			return "default " + jsonText(v)
		}
	}
	if requires(t.root, name, 0) {
		return "required"
	}
	if slices.ContainsFunc(t.found, func(s map[string]any) bool { return requires(s, name, 0) }) {
		return "alternative"
	}
	return ""
}

// requires reports whether a schema demands a property in any case.
func requires(schema any, name string, depth int) bool {
	s, _ := schema.(map[string]any)
	if required, _ := s["required"].([]any); slices.Contains(required, any(name)) {
		return true
	}
	all, _ := s["allOf"].([]any)
	return depth < maxShownDepth && slices.ContainsFunc(all, func(part any) bool { return requires(part, name, depth+1) })
}

// boundKeywords are the keywords of a schema that are shown in a line, in this order.
var boundKeywords = []string{
	"const", "format", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "minLength",
	"maxLength", "minItems", "maxItems", "pattern",
}

// constraintsText returns the remaining constraints of a value.
func (t *valueTypes) constraintsText() string {
	var parts []string
	for _, s := range t.found {
		if text, ok := s["description"].(string); ok && text != "" {
			parts = append(parts, text)
		}
		if values, ok := s["enum"].([]any); ok {
			var all []string
			for _, v := range values {
				all = append(all, jsonText(v))
			}
			parts = append(parts, "one of "+strings.Join(all, ", "))
		}
		for _, keyword := range boundKeywords {
			if v, ok := s[keyword]; ok {
				parts = append(parts, keyword+" "+jsonText(v))
			}
		}
	}
	return strings.Join(parts, "; ")
}

// jsonText is a value as it would be given: a text without quotes.
func jsonText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	raw, err := cli.EncodeJSON(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}

func labelsText(labels map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, cli.Clean(name)+"="+cli.Clean(labels[name]))
	}
	return strings.Join(all, " ")
}
