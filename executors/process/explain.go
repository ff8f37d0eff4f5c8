package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// explain adds the likely cause to an error of the system.
func explain(err error, path string) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: expected a program for this machine, or a script that starts with #! and its interpreter", err)
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("%w: expected smaller arguments or a smaller environment", err)
	case errors.Is(err, fs.ErrNotExist) && exists(path):
		return fmt.Errorf(
			"%w: the file exists, but the interpreter in its first line or its loader does not", err)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
