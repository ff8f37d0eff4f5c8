// Package disks creates disks for tests whose power can be cut: ext4 file systems in files, which
// lose the data that was not synced. It requires root and Linux.
package disks
