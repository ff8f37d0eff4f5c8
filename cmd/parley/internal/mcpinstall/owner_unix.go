//go:build unix

package mcpinstall

import (
	"io/fs"
	"os"
	"syscall"
)

// chownLike gives a path the owner of another. Its group follows where this user may give it; the mode lets no group in.
func chownLike(path string, like fs.FileInfo) error {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if has, ok := info.Sys().(*syscall.Stat_t); ok && has.Uid == want.Uid {
		_ = os.Lchown(path, -1, int(want.Gid))
		return nil
	}
	return os.Lchown(path, int(want.Uid), int(want.Gid))
}
