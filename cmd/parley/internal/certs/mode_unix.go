//go:build unix

package certs

import (
	"fmt"
	"io/fs"

	"github.com/parleyhub/parley/cmd/parley/internal/files"
)

// checkKeyMode refuses a key that others may read. The group may where the file is root's: that is how a supervisor hands a key to a service,
// which cannot own it.
func checkKeyMode(name string, info fs.FileInfo) error {
	allowed := fs.FileMode(0o700)
	if user, ok := files.OwnerOf(info); ok && user == 0 {
		allowed |= 0o040
	}
	if mode := info.Mode().Perm(); mode&^allowed != 0 {
		return fmt.Errorf("%s has mode %04o: others may read or change it; expected 0600", name, mode)
	}
	return nil
}
