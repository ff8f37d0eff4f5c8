package chat

import (
	"bufio"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// terminal is where a person sits: lines come from it, and it can be written to while one is being
// typed.
type terminal struct {
	// lines ends when the person has left.
	lines <-chan string
	// write puts whole lines above the one being typed.
	write func(lines string)
	// prompt shows whether it is the person's turn.
	prompt func(mine bool)
	// typing shows what another is saying just now.
	typing func(name, piece string)
	// queues is true where lines are there before they are wanted: then each is kept until its turn.
	queues bool
	close  func() error
}

// openTerminal takes the terminal, or whatever stdin is.
func openTerminal(a *cli.App, name string) (*terminal, error) {
	in, isFile := a.In.(*os.File)
	if !isFile || !a.Out.Terminal || !term.IsTerminal(int(in.Fd())) {
		return newPipeTerminal(a), nil
	}
	return newRawTerminal(a, in, name)
}

// readLines sends lines until read fails. Its goroutine may outlive the terminal by one read,
// because a read of stdin cannot be interrupted. It ends with the process.
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

func newPipeTerminal(a *cli.App) *terminal {
	s := bufio.NewScanner(a.In)
	s.Buffer(nil, parley.MaxEventBytes)
	return &terminal{
		lines: readLines(func() (string, error) {
			if !s.Scan() {
				return "", io.EOF
			}
			return s.Text(), nil
		}),
		write:  a.Out.Line,
		prompt: func(bool) {},
		typing: func(name, piece string) { a.Out.Line(name + " is saying: " + cli.Clean(piece)) },
		queues: true,
		close:  func() error { return nil },
	}
}

// The prompt is never empty: the terminal repaints it only if there is one.
const idlePrompt = "... "

func newRawTerminal(a *cli.App, in *os.File, name string) (*terminal, error) {
	fd := int(in.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, a.Out}, idlePrompt)
	write := func(text string) {
		if w, h, err := term.GetSize(fd); err == nil && w > 0 { // 0: the terminal does not know; 80 then
			t.SetSize(w, h)
		}
		io.WriteString(t, text)
	}
	said := ""
	return &terminal{
		lines: readLines(t.ReadLine), // fails at ^C and ^D
		write: func(text string) {
			said = ""
			write(text + "\n")
		},
		prompt: func(mine bool) {
			p := idlePrompt
			if mine {
				p = a.Out.Paint(cli.StyleBold, cli.Clean(name)+"> ")
			}
			t.SetPrompt(p)
			write("")
		},
		typing: func(name, piece string) {
			said = lastRunes(said+cli.Clean(piece), 60)
			t.SetPrompt(name + " is saying: " + said + " ")
			write("")
		},
		close: func() error {
			io.WriteString(a.Out, "\r\n")
			return term.Restore(fd, state)
		},
	}, nil
}

func lastRunes(s string, n int) string {
	r := []rune(s)
	return string(r[max(0, len(r)-n):])
}
