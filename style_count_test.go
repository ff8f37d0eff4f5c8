package parley_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	goColumns       = 120 // a tab counts as one column
	markdownColumns = 100
)

// A class is one column of testdata/style.tsv.
type class int

const (
	comments class = iota
	testComments
	messages
	docs
	longGo
	longMarkdown
	classes int = iota
)

var classNames = [classes]string{"comments", "test comments", "messages", "docs", "long Go", "long Markdown"}

// A hit is one phrase that a reader must read twice, or one long line.
type hit struct {
	line int
	what string
}

// counts has the hits and the words of one file.
type counts struct {
	hits  [classes][]hit
	words [classes]int
}

const verbs = "has|is|may|does|asks|calls|knows|speaks|looks|waits|had|was|runs|gets|comes|reads|sees|wants|holds|" +
	"chooses|starts|begins|gives|says|subscribes|takes|made|goes"

// patterns are the phrases of docs/style.md. They match within one paragraph, whose lines are
// joined by spaces.
var patterns = []*regexp.Regexp{
	regexp.MustCompile(
		`(?:^|[.;:,(] ?)(?:[Tt]o |[Ff]or |[Bb]y |[Ww]ith |[Oo]f |[Ff]rom )?\b(?:[Ww]ho|[Ww]hat) (?:` + verbs + `)\b`),
	regexp.MustCompile(`\b[Gg]ives?\b`),
	regexp.MustCompile(`\b(?:[Tt]ells?|told)\b`),
	regexp.MustCompile(`\banew\b`),
	regexp.MustCompile(`\b(?:[Nn]obody|[Ss]omebody|[Ww]hoever|[Ww]homever)\b`),
	regexp.MustCompile(`\bbut for\b`),
	regexp.MustCompile(`\bstands?\b`),
	regexp.MustCompile(`\bheld against\b|\bholds? \w+ against\b`),
	regexp.MustCompile(`\b(?:is|was|are) none\b`),
	regexp.MustCompile(`\b(?:goes?|went) on\b`),
	regexp.MustCompile(`\bof (?:its|their|his|the hub.s) own\b`),
	regexp.MustCompile(`\b(?:has|have) (?:begun|come|said|gone|spoken|made|written|taken|ended|asked)\b`),
}

// countGo counts the comments, the strings and the long lines of a Go file. The file need not
// parse.
func countGo(src []byte, test bool) counts {
	var c counts
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	s.Init(file, src, nil, scanner.ScanComments)

	commentClass := comments
	if test {
		commentClass = testComments
	}
	var group []line // line comments that follow each other
	end := func() {
		c.countText(commentClass, group)
		group = nil
	}
	for {
		pos, tok, lit := s.Scan()
		at := file.Line(pos)
		switch tok {
		case token.COMMENT:
			block, isBlock := strings.CutPrefix(lit, "/*")
			if isBlock {
				end()
				c.countText(commentClass, textLines(at, strings.TrimSuffix(block, "*/")))
				continue
			}
			if n := len(group); n > 0 && group[n-1].number != at-1 {
				end()
			}
			text := strings.TrimPrefix(lit, "//")
			if text != "" && text[0] != ' ' && text[0] != '\t' { // a directive
				text = ""
			}
			group = append(group, line{at, strings.TrimPrefix(text, " ")})
			continue
		case token.STRING:
			if text, err := strconv.Unquote(lit); err == nil && !test && strings.Count(text, " ") >= 3 {
				c.countText(messages, textLines(at, text))
			}
		case token.EOF:
			end()
			if !generated(src) {
				c.countLong(longGo, textLines(1, string(src)), goColumns)
			}
			return c
		}
	}
}

var generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func generated(src []byte) bool {
	header, _, _ := bytes.Cut(src, []byte("\npackage "))
	return generatedLine.Match(header)
}

// countMarkdown counts the text and the long lines of a Markdown file.
// Code in backticks is no text. Code blocks are text, because people read the comments in them.
// Rows of tables, code blocks, and lines without a space to break at may be long.
func countMarkdown(src []byte) counts {
	var c counts
	text := textLines(1, string(src))
	var prose []line
	fence := ""
	for i, l := range text {
		trimmed := strings.TrimSpace(l.text)
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`~"))]
		switch {
		case fence == "" && len(mark) >= 3:
			fence = mark
			text[i].text = ""
		case fence != "" && strings.HasPrefix(mark, fence):
			fence = ""
			text[i].text = ""
		case fence != "":
			text[i].text = "\t" + l.text // each line of code is a paragraph
		default:
			if !strings.HasPrefix(trimmed, "|") && !unbreakable(trimmed) {
				prose = append(prose, l)
			}
			text[i].text = codeSpan.ReplaceAllString(l.text, "``")
		}
	}
	c.countText(docs, text)
	c.countLong(longMarkdown, prose, markdownColumns)
	return c
}

var (
	codeSpan = regexp.MustCompile("`[^`]+`")
	// The markers before the text of a line of Markdown or of a doc comment.
	listMarker = regexp.MustCompile(`^\s*(?:(?:[-*+>]|#+|\d+[.)]|\[[^]]*\]:)\s+)*`)
	link       = regexp.MustCompile(`^!?\[[^]]*\]\([^)]*\)[.,:;]?$`)
)

// unbreakable reports whether a line is one word or one link, apart from its list marker.
func unbreakable(line string) bool {
	line = line[len(listMarker.FindString(line)):]
	return !strings.Contains(line, " ") || link.MatchString(line)
}

type line struct {
	number int
	text   string
}

// textLines splits text whose first line has the given number.
func textLines(first int, text string) []line {
	var all []line
	for l := range strings.SplitSeq(text, "\n") {
		all = append(all, line{first + len(all), strings.TrimSuffix(l, "\r")})
	}
	return all
}

// countText counts words and patterns. A paragraph ends at an empty line, at a list item, a
// heading, a row of a table and at an indented line, so that it does not matter where a sentence is
// wrapped.
func (c *counts) countText(k class, text []line) {
	var paragraph strings.Builder
	var numbers, offsets []int // of the lines of the paragraph
	end := func() {
		p := paragraph.String()
		c.words[k] += len(strings.Fields(p))
		for _, pattern := range patterns {
			for _, m := range pattern.FindAllStringIndex(p, -1) {
				found := strings.TrimLeft(p[m[0]:m[1]], ".;:,( ")
				i, exact := slices.BinarySearch(offsets, m[1]-len(found))
				if !exact {
					i--
				}
				c.hits[k] = append(c.hits[k], hit{numbers[i], strconv.Quote(found)})
			}
		}
		paragraph.Reset()
		numbers, offsets = nil, nil
	}
	for _, l := range text {
		marker := listMarker.FindString(l.text)
		rest := strings.TrimRight(l.text[len(marker):], " \t")
		isItem := strings.TrimSpace(marker) != ""
		isIndented := strings.HasPrefix(l.text, "\t") || strings.HasPrefix(l.text, "    ")
		isRow := strings.HasPrefix(rest, "|")
		if rest == "" || isItem || isIndented || isRow {
			end()
		}
		if rest == "" {
			continue
		}
		if paragraph.Len() > 0 {
			paragraph.WriteByte(' ')
		}
		numbers, offsets = append(numbers, l.number), append(offsets, paragraph.Len())
		paragraph.WriteString(rest)
	}
	end()
}

func (c *counts) countLong(k class, text []line, columns int) {
	for _, l := range text {
		if n := utf8.RuneCountInString(l.text); n > columns {
			c.hits[k] = append(c.hits[k], hit{l.number, strconv.Itoa(n) + " columns"})
		}
	}
}

func TestStylePatterns(t *testing.T) {
	for _, c := range []struct{ phrase, hit, miss string }{
		{"Who has", "Who has the floor speaks.", "The participant who has the floor speaks."},
		{"For who waits", "The hub asks. For who waits it writes.", "The caller sees who waits."},
		{"what was", "It ends: what was said stays.", "It returns what was said."},
		{"gives", "Get gives the value.", "Get is given the value and returns it, forgives."},
		{"told", "The caller is told.", "The caller can retell it."},
		{"anew", "It starts anew.", "It starts again in a new process."},
		{"Nobody", "Nobody reads it.", "No one reads it."},
		{"but for", "all but for one", "all but one, but forever"},
		{"stands", "The claim stands.", "The claim understands, as a standby."},
		{"held against", "It is held against the schema.", "It is held for the schema."},
		{"holds it against", "It holds it against the schema.", "It holds the lock of the value against the schema."},
		{"is none", "The value is none.", "The value is nonempty, there are nonetheless some."},
		{"goes on", "The turn goes on.", "The turn goes ongoing."},
		{"of its own", "a process of its own", "a process of its owner"},
		{"of the hub's own", "a clock of the hub's own", "a clock of the hub"},
		{"has ended", "The session has ended.", "The session has completed."},
	} {
		got := countMarkdown([]byte(c.hit)).hits[docs]
		if want := []hit{{1, strconv.Quote(c.phrase)}}; !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", c.hit, got, want)
		}
		if got := countMarkdown([]byte(c.miss)).hits[docs]; len(got) != 0 {
			t.Errorf("%q: got %v, want no hit", c.miss, got)
		}
	}
}

func TestStyleCountGo(t *testing.T) {
	src := "// Package p gives\n// things to whoever\n// comes, and goes\n// on.\n//\n" + // lines 1 to 5
		"//go:generate gives\npackage p\n\n" + // 6-8
		"/* It tells. */\n" + // 9
		"const a, b = \"three words gives\", \"four words it gives\" // anew\n" + // 10
		"const c = `one\ntwo that it\nstands here`\n" + // 11-13
		"const d = '\\'' // \"" + strings.Repeat("x", goColumns) + "\n" + // 14
		"var broken = = \"it is held against it\"\n" // 15
	check := func(name string, got []hit, want ...int) {
		t.Helper()
		var lines []int
		for _, h := range got {
			lines = append(lines, h.line)
		}
		slices.Sort(lines)
		if !slices.Equal(lines, want) {
			t.Errorf("%s: got hits in lines %v, want %v", name, lines, want)
		}
	}
	product, test := countGo([]byte(src), false), countGo([]byte(src), true)
	check("comments", product.hits[comments], 1, 2, 3, 9, 10)
	check("messages", product.hits[messages], 10, 13, 15)
	check("long", product.hits[longGo], 14)
	check("test comments", test.hits[testComments], 1, 2, 3, 9, 10)
	check("strings of a test", test.hits[messages])
	check("comments of a test", test.hits[comments])

	made := countGo([]byte("// Code generated by x. DO NOT EDIT.\n\n"+src), false)
	check("generated comments", made.hits[comments], 3, 4, 5, 11, 12)
	check("generated long", made.hits[longGo])
}

func TestStyleCountMarkdown(t *testing.T) {
	long := strings.Repeat("word ", markdownColumns/5)
	for _, c := range []struct {
		name, text string
		docs, long int
	}{
		{"text", "It goes\non, and gives.", 2, 0},
		{"paragraphs", "It goes\n\non. It goes\n- on", 0, 0},
		{"headless item", "- who has the floor\n- the speaker\n  who has it", 1, 0},
		{"code span", "The word `gives`, and ``who has``.", 0, 0},
		{"code block", "```sh\n# who has the floor\n" + long + "x\n```\nIt stands.", 2, 0},
		{"fence in fence", "````\n```\n" + long + "x\n```\n````\n" + long + "x", 0, 1},
		{"at the bound", long[:markdownColumns], 0, 0},
		{"runes, not bytes", strings.Repeat("\u00e9 ", markdownColumns/2), 0, 0},
		{"above the bound", long + "x", 0, 1},
		{"table", "| " + long + " gives |", 1, 0},
		{"link alone", "- [" + long + "](https://example.com)", 0, 0},
		{"address", "[x]: https://example.com/" + strings.Repeat("x", markdownColumns), 0, 0},
		{"text with a link", long + "[x](y)", 0, 1},
	} {
		got := countMarkdown([]byte(c.text))
		if len(got.hits[docs]) != c.docs || len(got.hits[longMarkdown]) != c.long {
			t.Errorf("%s: got %d hits and %d long lines, want %d and %d: %v",
				c.name, len(got.hits[docs]), len(got.hits[longMarkdown]), c.docs, c.long, got.hits)
		}
	}
}
