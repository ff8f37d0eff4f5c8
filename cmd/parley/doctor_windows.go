package main

import "io/fs"

func ownerOf(fs.FileInfo) (int, bool) { return 0, false }

func maxOpenFiles() (uint64, bool) { return 0, false }
