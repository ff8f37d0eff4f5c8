//go:build unix

package files

import (
	"io/fs"
	"syscall"
)

// OwnerOf is the user that a file belongs to.
func OwnerOf(info fs.FileInfo) (user int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(s.Uid), true
}
