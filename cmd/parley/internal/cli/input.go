package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parleyhub/parley"
)

func (a *App) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.In)
	}
	return os.ReadFile(name)
}

// ReadBounded reads a file, or stdin for "-", that has to fit into a call.
func (a *App) ReadBounded(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("the name of the file is empty: name a file, or - for stdin")
	}
	from := a.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, parley.MaxFrameBytes+1))
	if err == nil && len(text) > parley.MaxFrameBytes {
		err = fmt.Errorf("%s has more than %d bytes, and does not fit into a call", name, parley.MaxFrameBytes)
	}
	return text, err
}
