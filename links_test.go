package parley_test

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	referenceURL = regexp.MustCompile(`(?m)^\[[^]]+\]: (\S+)$`)
	idAttribute  = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
	headingLinks = regexp.MustCompile(`!?\[([^]]*)\]\([^)]*\)`)
)

// TestLinks checks that each link in a Markdown file of the tree leads to an existing file and heading.
// It does not check links to other hosts.
func TestLinks(t *testing.T) {
	t.Parallel()
	files := 0
	links := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skippedDir(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" && path != "llms.txt" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, link := range linksOf(string(src)) {
			links++
			if err := checkLink(path, link); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d links of %d files", links, files)
}

// linksOf returns the targets of the links in the text of a Markdown file, without code.
func linksOf(src string) []string {
	text := codeSpan.ReplaceAllString(withoutFences(src), "")
	var all []string
	for _, pattern := range []*regexp.Regexp{markdownLink, referenceURL} {
		for _, m := range pattern.FindAllStringSubmatch(text, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

func checkLink(from, link string) error {
	u, err := url.Parse(link)
	if err != nil {
		return err
	}
	if u.IsAbs() {
		return nil
	}
	target := from
	if u.Path != "" {
		target = filepath.Join(filepath.Dir(from), filepath.FromSlash(u.Path))
	}
	info, err := os.Stat(target)
	if err != nil {
		return fmt.Errorf("link %q: %w", link, err)
	}
	if u.Fragment == "" {
		return nil
	}
	if info.IsDir() || filepath.Ext(target) != ".md" {
		return fmt.Errorf("link %q has an anchor, but %s is not a Markdown file", link, target)
	}
	src, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	if !anchorsOf(string(src))[u.Fragment] {
		return fmt.Errorf("link %q: %s has no such heading", link, target)
	}
	return nil
}

// anchorsOf returns the anchors that GitHub adds to the headings of a Markdown file, and those of <a id="..."> tags.
func anchorsOf(src string) map[string]bool {
	all := map[string]bool{}
	seen := map[string]int{}
	for _, m := range idAttribute.FindAllStringSubmatch(src, -1) {
		all[m[1]] = true
	}
	for line := range strings.Lines(withoutFences(src)) {
		title := strings.TrimLeft(line, "#")
		if level := len(line) - len(title); level == 0 || level > 6 || !strings.HasPrefix(title, " ") {
			continue
		}
		anchor := anchorOf(title)
		if n := seen[anchor]; n > 0 {
			all[fmt.Sprintf("%s-%d", anchor, n)] = true
		} else {
			all[anchor] = true
		}
		seen[anchor]++
	}
	return all
}

// anchorOf returns the anchor of a heading: its letters, digits, hyphens and underscores in lower case, with a hyphen
// for each space.
func anchorOf(heading string) string {
	var b strings.Builder
	for _, r := range strings.TrimSpace(headingLinks.ReplaceAllString(heading, "$1")) {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			b.WriteRune(unicode.ToLower(r))
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// withoutFences returns a Markdown text without its fenced code blocks.
func withoutFences(src string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(src) {
		trimmed := strings.TrimSpace(line)
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3:
			fence = mark
		case fence != "" && strings.HasPrefix(mark, fence):
			fence = ""
		case fence == "":
			b.WriteString(line)
		}
	}
	return b.String()
}

func TestLinksFindFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	for path, text := range map[string]string{
		"a.md":     "# One `two`: three\n\n## Again\n\n## Again\n\n```sh\n# no heading\n```\n<a id=\"mark\"></a>\n",
		"dir/b.md": "",
		"c.txt":    "",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"../a.md", "../a.md#one-two-three", "../a.md#again", "../a.md#again-1", "../a.md#mark",
		"../c.txt", "..", "https://example.com/a.md#x"} {
		if err := checkLink("dir/b.md", link); err != nil {
			t.Error(err)
		}
	}
	for _, link := range []string{"a.md", "#again", "../a.md#again-2", "../a.md#no-heading", "../c.txt#one", "..#one"} {
		if checkLink("dir/b.md", link) == nil {
			t.Errorf("the link %q was accepted", link)
		}
	}
	text := "[a](x.md) `[b](code.md)`\n```\n[c](fenced.md)\n```\n[d]: ref.md\n"
	if got := linksOf(text); len(got) != 2 || got[0] != "x.md" || got[1] != "ref.md" {
		t.Errorf("got links %q", got)
	}
}
