//go:build unix

package certs

import (
	"fmt"
	"io/fs"
	"syscall"
)

// checkKeyMode refuses a key that others may read. The group may where the file is root's: that is
// how a supervisor hands a key to a service, which cannot own it.
func checkKeyMode(name string, info fs.FileInfo) error {
	allowed := fs.FileMode(0o700)
	if user, ok := OwnerOf(info); ok && user == 0 {
		allowed |= 0o040
	}
	if mode := info.Mode().Perm(); mode&^allowed != 0 {
		return fmt.Errorf("%s has mode %04o: others may read or change it; expected 0600", name, mode)
	}
	return nil
}

// OwnerOf returns the user that owns a file.
func OwnerOf(info fs.FileInfo) (user int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
