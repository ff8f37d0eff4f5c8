package certs

import "io/fs"

// checkKeyMode takes every key: there are no modes here that would say who may read it.
func checkKeyMode(string, fs.FileInfo) error { return nil }

// OwnerOf reports that files have no owner here.
func OwnerOf(fs.FileInfo) (user int, ok bool) { return 0, false }
