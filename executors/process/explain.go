package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// explain says what the system means when it does not start a program.
func explain(err error, path string) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: expected a program of this machine, or a script that begins with #! and its interpreter", err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("%w: expected less in its arguments and its environment", err)
	case errors.Is(err, fs.ErrNotExist) && exists(path):
		return fmt.Errorf(
			"%w: the file is there; expected its interpreter to be so too, the one of its first line or its loader", err)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
