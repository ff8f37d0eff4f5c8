//go:build !unix

package mcpinstall

import "io/fs"

// chownLike does nothing: a file belongs to its creator.
func chownLike(string, fs.FileInfo) error { return nil }
