package cli

// Output rules, for every command:
//
//   - stdout has data, stderr has progress and errors. A script reads stdout alone.
//   - Progress begins with a lower-case letter and has no full stop. An error is one line: reason, fault, next step.
//   - -o json: one JSON value on each line, with the names of the protocol. Events are the stored bytes, unchanged.
//   - In text, everything that others wrote (messages, titles, ids, errors of the wire) passes through Clean: it can
//     neither move the cursor nor look like a line of another participant.
//   - Color only on a terminal, never if NO_COLOR is set or TERM is dumb. It never carries meaning alone.

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/fatih/color"
	"golang.org/x/term"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

const (
	FormatText = "text"
	FormatJSON = "json"
)

func checkFormat(f string) error {
	if f != FormatText && f != FormatJSON {
		return exit.Usagef("-o %s: expected text or json", f)
	}
	return nil
}

// Stream is stdout or stderr. Lines are written whole.
type Stream struct {
	Color    bool
	Terminal bool

	mu     sync.Mutex // guards the fields below
	w      io.Writer
	failed error // of the first write that did not succeed
}

// NewStream returns a stream. Color and width depend on whether w is a terminal.
func NewStream(w io.Writer) *Stream {
	f, isFile := w.(*os.File)
	terminal := isFile && term.IsTerminal(int(f.Fd()))
	colour := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return &Stream{w: w, Terminal: terminal, Color: colour}
}

// Write makes a stream an io.Writer.
func (s *Stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.w.Write(b)
	if s.failed == nil {
		s.failed = err
	}
	return n, err
}

// WriteError says why something could not be written, or is nil.
func (s *Stream) WriteError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Line writes one line. A closed pipe ends the program by SIGPIPE. Execute reports any other
// failure of stdout.
func (s *Stream) Line(text string) {
	io.WriteString(s, text+"\n")
}

func (s *Stream) Linef(format string, args ...any) {
	s.Line(fmt.Sprintf(format, args...))
}

// Style is the look of a text on a terminal with color.
type Style int

const (
	StylePlain Style = iota
	StyleDim
	StyleBold
	StyleError
	StyleGood
	StyleSpeakers // and the numbers above it: one per speaker
)

var styles = map[Style][]color.Attribute{
	StyleDim:   {color.Faint},
	StyleBold:  {color.Bold},
	StyleError: {color.FgRed, color.Bold},
	StyleGood:  {color.FgGreen, color.Bold},
}

var speakerColours = []color.Attribute{
	color.FgCyan, color.FgMagenta, color.FgYellow, color.FgGreen, color.FgBlue, color.FgHiRed,
}

// Paint colours text where the stream shows colour. It must be clean already.
func (s *Stream) Paint(st Style, text string) string {
	if !s.Color || st == StylePlain {
		return text
	}
	attrs, ok := styles[st]
	if !ok {
		attrs = []color.Attribute{speakerColours[int(st-StyleSpeakers)%len(speakerColours)], color.Bold}
	}
	c := color.New(attrs...)
	c.EnableColor() // the package looks at the process's stdout; this stream has decided already
	return c.Sprint(text)
}

// JSON writes v on a separate line without HTML escapes, so that stored events stay unchanged.
func (s *Stream) JSON(v any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(s, b.String())
	return err
}

// Clean makes a text of others harmless on one line: control characters, line and paragraph
// separators and characters that turn the direction of writing are shown as escapes.
func Clean(text string) string {
	if !strings.ContainsFunc(text, unsafeRune) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1: // not UTF-8
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == utf8.RuneError, !unsafeRune(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	if r == '\u200c' || r == '\u200d' { // joiners: scripts and emoji need them, and they move nothing
		return false
	}
	return unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// CleanLines is clean for a text of several lines: each is cleaned, and those after the first are
// indented, so that none of them can pass for the beginning of an event. Lines longer than width,
// if that is a useful one, are broken between words.
func CleanLines(text, indent string, width int) string {
	var lines []string
	for l := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		l = Clean(strings.ReplaceAll(l, "\t", "    "))
		if width >= minWrap {
			lines = append(lines, wrapLine(l, width)...)
		} else {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "\n"+indent)
}

// minWrap is the narrowest column that is worth breaking lines for.
const minWrap = 30

func wrapLine(l string, width int) []string {
	var lines []string
	for utf8.RuneCountInString(l) > width {
		at := strings.LastIndexByte(string([]rune(l)[:width+1]), ' ')
		if at <= 0 {
			break
		}
		lines = append(lines, l[:at])
		l = strings.TrimLeft(l[at:], " ")
	}
	return append(lines, l)
}

// Columns is how wide a terminal is, and 0 for anything else.
func (s *Stream) Columns() int {
	f, isFile := s.w.(*os.File)
	if !s.Terminal || !isFile {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
