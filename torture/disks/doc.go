// Package disks gives tests disks whose power can be cut: ext4 file systems in files, which forget
// what was not synced. It needs root, on Linux.
package disks
