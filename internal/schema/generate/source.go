package generate

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// source has the parts of package parley's sources that reflection lacks: comments and constants.
type source struct {
	comments map[string]string   // "Event" or "Event.Seq" -> its doc comment
	values   map[string]string   // the name of a constant -> its value
	known    map[string][]string // the name of a string type -> the values of its constants
}

func readSource(dir string) (*source, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	if len(parsed) == 0 {
		return nil, fmt.Errorf("no Go sources in %s", dir)
	}
	s := &source{comments: map[string]string{}, values: map[string]string{}, known: map[string][]string{}}
	for _, f := range parsed {
		s.readComments(f)
	}
	s.readConstants(fset, parsed)
	return s, nil
}

func (s *source) readComments(f *ast.File) {
	for _, d := range f.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			continue
		}
		for _, spec := range group.Specs {
			t := spec.(*ast.TypeSpec)
			s.comments[t.Name.Name] = textOf(t.Doc, group.Doc)
			if fields, ok := t.Type.(*ast.StructType); ok {
				s.readFields(t.Name.Name, fields)
			}
		}
	}
}

func (s *source) readFields(name string, t *ast.StructType) {
	for _, f := range t.Fields.List {
		for _, n := range f.Names {
			s.comments[name+"."+n.Name] = textOf(f.Doc, f.Comment)
		}
	}
}

// textOf returns the first comment with text, on one line.
func textOf(comments ...*ast.CommentGroup) string {
	for _, c := range comments {
		if text := strings.Join(strings.Fields(c.Text()), " "); text != "" {
			return text
		}
	}
	return ""
}

// readConstants evaluates the constants. It skips parts that constants do not need, such as
// imports.
func (s *source) readConstants(fset *token.FileSet, files []*ast.File) {
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	p, _ := conf.Check("parley", fset, files, nil)
	scope := p.Scope()
	names := scope.Names()
	slices.SortFunc(names, func(a, b string) int { return int(scope.Lookup(a).Pos() - scope.Lookup(b).Pos()) })
	for _, name := range names {
		c, ok := scope.Lookup(name).(*types.Const)
		if !ok || !c.Exported() {
			continue
		}
		if c.Val().Kind() != constant.String {
			s.values[name] = c.Val().ExactString()
			continue
		}
		value := constant.StringVal(c.Val())
		s.values[name] = value
		t, named := c.Type().(*types.Named)
		if named && value != "" {
			s.known[t.Obj().Name()] = append(s.known[t.Obj().Name()], value)
		}
		if named && t.Obj().Name() == "Finality" {
			s.values[name] = "finality " + value // the values are common words
		}
	}
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }

// describe returns the comment of a type or of one of its fields, in terms of the protocol: JSON
// names for fields, and values for constants.
func (s *source) describe(t reflect.Type, field string) string {
	key := t.Name()
	if field != "" {
		key += "." + field
	}
	if text, ok := descriptions[key]; ok {
		return text
	}
	text := s.comments[key]
	if field == "" {
		text = sentence(strings.TrimPrefix(text, t.Name()+" "))
	}
	return word.ReplaceAllStringFunc(text, func(w string) string { return s.onTheWire(t, w) })
}

// sentence turns "is a page" into "A page".
func sentence(text string) string {
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

var word = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`)

func (s *source) onTheWire(t reflect.Type, w string) string {
	if w == "nil" {
		return "absent"
	}
	if value, ok := s.values[w]; ok {
		return value
	}
	if name := jsonName(t, w); name != "" {
		return name
	}
	if name, ok := wireNames[w]; ok {
		return name
	}
	return w
}

// wireNames lists fields that comments of other types mention.
var wireNames = map[string]string{
	"SinceSeq": "sinceSeq", "NextSeq": "nextSeq", "LatestSeq": "latestSeq", "ClientRequestID": "clientRequestId",
	"ConversationID": "conversationId", "RetryAfterMs": "retryAfterMs", "ParticipantID": "participantId",
}

// jsonName returns the JSON name of a field of t, or "".
func jsonName(t reflect.Type, field string) string {
	if t.Kind() != reflect.Struct {
		return ""
	}
	f, ok := t.FieldByName(field)
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
