package main

import (
	"bufio"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/parleyhub/parley"
)

// desk is where a person sits: lines come from it, and it can be written to while one is being typed.
type desk struct {
	// lines ends when the person has left.
	lines <-chan string
	// write puts whole lines above the one being typed.
	write func(lines string)
	// prompt shows whether it is the person's turn.
	prompt func(mine bool)
	// typing shows what another is saying just now.
	typing func(name, piece string)
	// waits is true where lines are there before they are wanted: then each is kept until its turn.
	waits bool
	close func() error
}

// openDesk takes the terminal, or whatever stdin is.
func (a *app) openDesk(name string) (*desk, error) {
	in, isFile := a.in.(*os.File)
	if !isFile || !a.out.terminal || !term.IsTerminal(int(in.Fd())) {
		return a.pipeDesk(), nil
	}
	return a.terminalDesk(in, name)
}

// readLines gives what read gives until it fails. Its goroutine may outlive the desk by one read, because nobody can interrupt a read of
// stdin; it ends with the process.
func readLines(read func() (string, error)) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for {
			line, err := read()
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	return lines
}

func (a *app) pipeDesk() *desk {
	s := bufio.NewScanner(a.in)
	s.Buffer(nil, parley.MaxEventBytes)
	return &desk{
		lines: readLines(func() (string, error) {
			if !s.Scan() {
				return "", io.EOF
			}
			return s.Text(), nil
		}),
		write:  a.out.line,
		prompt: func(bool) {},
		typing: func(name, piece string) { a.out.line(name + " is saying: " + clean(piece)) },
		waits:  true,
		close:  func() error { return nil },
	}
}

// The prompt is never empty: the terminal paints it again only where one stands.
const idlePrompt = "... "

func (a *app) terminalDesk(in *os.File, name string) (*desk, error) {
	fd := int(in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, a.out}, idlePrompt)
	write := func(text string) {
		if w, h, err := term.GetSize(fd); err == nil && w > 0 { // 0: the terminal does not know; 80 then
			t.SetSize(w, h)
		}
		io.WriteString(t, text)
	}
	said := ""
	return &desk{
		lines: readLines(t.ReadLine), // fails at ^C and ^D
		write: func(text string) {
			said = ""
			write(text + "\n")
		},
		prompt: func(mine bool) {
			p := idlePrompt
			if mine {
				p = a.out.paint(styleBold, clean(name)+"> ")
			}
			t.SetPrompt(p)
			write("")
		},
		typing: func(name, piece string) {
			said = lastRunes(said+clean(piece), 60)
			t.SetPrompt(name + " is saying: " + said + " ")
			write("")
		},
		close: func() error {
			io.WriteString(a.out, "\r\n")
			return term.Restore(fd, state)
		},
	}, nil
}

func lastRunes(s string, n int) string {
	r := []rune(s)
	return string(r[max(0, len(r)-n):])
}
