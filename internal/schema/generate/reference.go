package generate

import (
	_ "embed"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// The files that Reference creates.
const (
	MethodsFile = "methods.md"
	ErrorsFile  = "errors.md"
)

// methodRules has the rules of each method, and errorAdvice the advice for each error: a section of
// Markdown for each.
var (
	//go:embed methods.md
	methodRules string
	//go:embed errors.md
	errorAdvice string
)

const methodsHead = `# Methods

<!-- Generated from the Go types and internal/schema/generate/methods.md. Do not edit.
     go test ./rpc -run Schemas -update rewrites it. -->

Each method has its params, result, rules and errors here. Section numbers refer to
[the protocol](../../protocol.md). ` + "`GET /openrpc.json`" + ` returns the same for programs.

- A param without "yes" is optional. Integers are at most 2^53-1.
- The scope "any token" means that every authenticated caller may call the method.
- Results may have more members in later versions. Ignore those that you do not know.
`

const errorsHead = `# Errors

<!-- Generated from the Go table of errors and internal/schema/generate/errors.md. Do not edit.
     go test ./rpc -run Schemas -update rewrites it. -->

Section 3 of [the protocol](../../protocol.md#3-errors) describes the form of an error. Compare
` + "`data.reason`" + ` or ` + "`code`" + `, never the message. A retryable error may succeed when the same call is
repeated later.

| code | reason | HTTP | retryable |
|---|---|---|---|
`

// Reference returns the reference pages by file name. dir is the root of the module, and methods are
// those that the hub serves.
func Reference(dir string, methods []Method) (map[string][]byte, error) {
	s, err := readSource(dir)
	if err != nil {
		return nil, err
	}
	methodsPage, err := define(s, methods).methodsPage()
	if err != nil {
		return nil, err
	}
	errorsPage, err := define(s, methods).errorsPage()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{MethodsFile: []byte(methodsPage), ErrorsFile: []byte(errorsPage)}, nil
}

// readSections returns the sections of a Markdown text by their headings. It returns an error unless
// they have exactly these headings, in this order.
func readSections(text string, headings []string) (map[string]string, error) {
	sections := map[string]string{}
	var have []string
	for _, part := range strings.Split(text, "\n## ")[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		have = append(have, heading)
		sections[heading] = strings.TrimSpace(body)
	}
	if !slices.Equal(have, headings) {
		return nil, fmt.Errorf("generate: the text has the sections %v, want %v", have, headings)
	}
	return sections, nil
}

func (d *definitions) methodsPage() (string, error) {
	var names []string
	for _, m := range d.methods {
		names = append(names, m.Name)
	}
	rules, err := readSections(methodRules, names)
	if err != nil {
		return "", err
	}
	p := &typesPage{definitions: d, uses: map[reflect.Type]int{}}
	for _, m := range d.methods {
		p.uses[m.Result]++
	}
	p.WriteString(methodsHead)
	p.listErrorsOfAll()
	for _, m := range d.methods {
		p.writeMethod(m, rules[m.Name])
	}
	p.WriteString("\n## Types\n\nA type whose name ends in `Input` is strict: the hub refuses unknown members of it.\n")
	for i := 0; i < len(p.named); i++ { // typeOf adds names
		for m := d.schemas[p.named[i]].Properties.Oldest(); m != nil; m = m.Next() {
			p.typeOf(m.Value)
		}
	}
	for _, name := range slices.Sorted(slices.Values(p.named)) {
		fmt.Fprintf(p, "\n### %s\n\n", name)
		p.writeMembers("member", d.schemas[name])
	}
	return p.String(), nil
}

// typesPage is the page of methods. It collects the types that it names.
type typesPage struct {
	strings.Builder
	*definitions
	uses  map[reflect.Type]int // how many methods have this result
	named []string             // types that the page refers to
}

func (p *typesPage) listErrorsOfAll() {
	var reasons []string
	for _, row := range parley.Errors {
		if slices.Contains(always, row.Err) {
			reasons = append(reasons, linkError(row))
		}
	}
	fmt.Fprintf(p, "- Every method can return these errors, which the methods below do not repeat:\n%s\n",
		wrapWords("  ", strings.Join(reasons, ", ")+"."))
}

func linkError(row parley.ErrorRow) string {
	return fmt.Sprintf("[%s](errors.md#%s)", row.Reason(), row.Reason())
}

func (p *typesPage) writeMethod(m Method, rules string) {
	fmt.Fprintf(p, "\n## %s\n\n", m.Name)
	scope := "scope `" + string(m.Scope) + "`"
	switch m.Scope {
	case methods.ScopeNone:
		scope = "no token needed"
	case methods.ScopeSelf:
		scope = "any token"
	}
	facts := []string{scope}
	if m.Route != "" {
		facts = append(facts, "`"+m.Route+"`")
	}
	if m.Socket {
		facts = append(facts, "JSON-RPC on a WebSocket only")
	}
	fmt.Fprintf(p, "%s\n\n%s\n", strings.Join(facts, " · "), rules)

	params := p.schemas[p.name(m.Params, true)]
	if params.Properties.Len() > 0 {
		p.WriteString("\n")
		p.writeMembers("param", params)
	}
	result := p.name(m.Result, false)
	switch schema := p.schemas[result]; {
	case schema.Properties.Len() == 0:
		p.WriteString("\nResult: `{}`.\n")
	case p.uses[m.Result] > 1:
		fmt.Fprintf(p, "\nResult: %s.\n", p.link(result))
	default:
		p.WriteString("\nResult:\n\n")
		p.writeMembers("member", schema)
	}
	var reasons []string
	for _, row := range p.refusals(m) {
		if !slices.Contains(always, row.Err) {
			reasons = append(reasons, linkError(row))
		}
	}
	if len(reasons) > 0 {
		fmt.Fprintf(p, "\n%s\n", wrapWords("", "Errors: "+strings.Join(reasons, ", ")+"."))
	}
}

// writeMembers writes the table of the members of an object. heading is that of the first column.
func (p *typesPage) writeMembers(heading string, s *jsonschema.Schema) {
	required := "always present"
	if heading == "param" {
		required = "required"
	}
	fmt.Fprintf(p, "| %s | type | %s |\n|---|---|---|\n", heading, required)
	for m := s.Properties.Oldest(); m != nil; m = m.Next() {
		yes := ""
		if slices.Contains(s.Required, m.Key) {
			yes = "yes"
		}
		fmt.Fprintf(p, "| `%s` | %s | %s |\n", m.Key, p.typeOf(m.Value), yes)
	}
}

// link refers to a type of the page, and adds it to the types that the page describes.
func (p *typesPage) link(name string) string {
	if !slices.Contains(p.named, name) {
		p.named = append(p.named, name)
	}
	return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
}

// typeOf returns the type and the bounds of a value, in Markdown.
func (p *typesPage) typeOf(s *jsonschema.Schema) string {
	switch {
	case s.Ref != "":
		return p.link(strings.TrimPrefix(s.Ref, definitionPrefix))
	case len(s.Enum) > 0:
		return listValues(s.Enum)
	case len(s.AnyOf) > 0 && len(s.AnyOf[0].Enum) > 0:
		return listValues(s.AnyOf[0].Enum)
	case s.Type == "array":
		return "list of " + p.typeOf(s.Items) + lengthBounds(s.MinItems, s.MaxItems, "")
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Type != "":
		return "object of " + p.typeOf(s.AdditionalProperties)
	case s.Type == "string" && s.ContentEncoding != "":
		return "string in " + s.ContentEncoding
	case s.Format == "date-time":
		return "time"
	case s.Type == "string":
		return "string" + lengthBounds(nil, s.MaxLength, " bytes")
	case s.Type == "integer":
		return "integer" + integerBounds(s)
	case s.Type == "":
		return "any JSON"
	}
	return s.Type
}

func listValues(values []any) string {
	var out []string
	for _, v := range values {
		out = append(out, fmt.Sprintf("`%v`", v))
	}
	return strings.Join(out, ", ")
}

// lengthBounds returns the bounds of a length.
func lengthBounds(least, most *uint64, unit string) string {
	switch {
	case most != nil && least != nil && *least > 0:
		return fmt.Sprintf(", %d to %d%s", *least, *most, unit)
	case most != nil:
		return fmt.Sprintf(", at most %d%s", *most, unit)
	case least != nil && *least > 0:
		return fmt.Sprintf(", at least %d%s", *least, unit)
	}
	return ""
}

func integerBounds(s *jsonschema.Schema) string {
	most := s.Maximum.String()
	switch {
	case s.Minimum == "" && most == "":
		return ""
	case most == "" || most == fmt.Sprint(maxInteger):
		return ", at least " + s.Minimum.String()
	}
	return fmt.Sprintf(", %s to %s", s.Minimum, most)
}

func (d *definitions) errorsPage() (string, error) {
	var reasons []string
	for _, row := range parley.Errors {
		reasons = append(reasons, row.Reason())
	}
	advice, err := readSections(errorAdvice, reasons)
	if err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString(errorsHead)
	for _, row := range parley.Errors {
		reason := row.Reason()
		fmt.Fprintf(&page, "| %d | [%s](#%s) | %d | %s |\n", row.Code, reason, reason, row.HTTP, retryable(row))
	}
	for _, row := range parley.Errors {
		fmt.Fprintf(&page, "\n## %s\n\nCode %d, HTTP status %d. Retryable: %s.\n\n%s\n\n%s\n",
			row.Reason(), row.Code, row.HTTP, retryable(row), advice[row.Reason()], wrapWords("", d.methodsWith(row)))
	}
	return page.String(), nil
}

func retryable(row parley.ErrorRow) string {
	if row.Retryable {
		return "yes"
	}
	return "no"
}

// methodsWith returns a sentence with the methods that can return an error.
func (d *definitions) methodsWith(row parley.ErrorRow) string {
	if slices.Contains(always, row.Err) {
		return "Every method can return it."
	}
	var names []string
	for _, m := range d.methods {
		if slices.ContainsFunc(d.refusals(m), func(r parley.ErrorRow) bool { return r.Err == row.Err }) {
			names = append(names, fmt.Sprintf("[%s](methods.md#%s)", m.Name, strings.ToLower(m.Name)))
		}
	}
	return "Returned by " + strings.Join(names, ", ") + "."
}

const pageColumns = 100

// wrapWords breaks a text into lines of at most 100 columns.
func wrapWords(indent, text string) string {
	var out strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		if column > 0 && column+1+len(word) > pageColumns {
			out.WriteString("\n")
			column = 0
		}
		if column == 0 {
			out.WriteString(indent)
			column = len(indent)
		} else {
			out.WriteString(" ")
			column++
		}
		out.WriteString(word)
		column += len(word)
	}
	return out.String()
}
