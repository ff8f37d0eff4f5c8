package console

import (
	"fmt"
	"regexp"
	"strings"
)

// The forms of import and export in the modules of the page. The imports of a module are at the
// beginning of lines, have names only, and come from files in the same directory.
var (
	importForm = regexp.MustCompile(`(?m)^import \{([^}]*)\} from '\./([\w.-]+\.js)';\n`)
	exportForm = regexp.MustCompile(`(?m)^export ((?:async )?function|class|const|let) ([A-Za-z_$][\w$]*)`)
	otherForm  = regexp.MustCompile(`(?m)^(import\b|export\b)|\bimport\(['"]`)
	comments   = regexp.MustCompile(`(?ms)^[ \t]*/\*\*.*?\*/[ \t]*\n?|^[ \t]*//[^\n]*\n`)
)

// bundle returns one script for a module and its imports, each in a function, ordered by their
// dependencies. It returns an error for any form that it does not know, so that it never writes a
// wrong page.
func bundle(read func(name string) (string, error), entry string) (string, error) {
	b := &bundler{read: read, index: map[string]int{}}
	if err := b.add(entry); err != nil {
		return "", err
	}
	script := b.out.String()
	for _, end := range []string{"</script", "<!--", "<script"} {
		if strings.Contains(strings.ToLower(script), end) {
			return "", fmt.Errorf("bundle %s: a script of a page cannot hold %s", entry, end)
		}
	}
	return script, nil
}

type bundler struct {
	read  func(name string) (string, error)
	index map[string]int // index of added modules; -1 while one is being added
	added int
	out   strings.Builder
}

func (b *bundler) add(name string) error {
	if i, ok := b.index[name]; ok {
		if i < 0 {
			return fmt.Errorf("bundle %s: it imports itself", name)
		}
		return nil
	}
	b.index[name] = -1
	text, err := b.read(name)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", name, err)
	}
	text = comments.ReplaceAllString(text, "")
	for _, m := range importForm.FindAllStringSubmatch(text, -1) {
		if err := b.add(m[2]); err != nil {
			return err
		}
	}
	text = importForm.ReplaceAllStringFunc(text, func(form string) string {
		m := importForm.FindStringSubmatch(form)
		return fmt.Sprintf("const {%s} = m%d;\n", strings.ReplaceAll(m[1], " as ", ": "), b.index[m[2]])
	})
	var names []string
	for _, m := range exportForm.FindAllStringSubmatch(text, -1) {
		names = append(names, m[2])
	}
	text = exportForm.ReplaceAllString(text, "$1 $2")
	if odd := otherForm.FindString(text); odd != "" {
		return fmt.Errorf("bundle %s: a form of %q that is not understood", name, odd)
	}
	b.added++
	b.index[name] = b.added
	fmt.Fprintf(&b.out, "const m%d = (() => {\n%s\nreturn { %s };\n})();\n", b.index[name], strings.TrimSpace(text),
		strings.Join(names, ", "))
	return nil
}
