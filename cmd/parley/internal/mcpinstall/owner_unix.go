//go:build unix

package mcpinstall

import (
	"io/fs"
	"os"
	"syscall"
)

// chownLike sets the owner of a path to that of another. It sets the group if this user may. The
// mode excludes the group.
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
