//go:build !unix

package wire

import "errors"

// directly is false: connections use package net only.
const directly = false

var errNotNow = errors.New("not now")

func readNow(uintptr, []byte) (int, error) { return 0, errNotNow }

func writeNow(uintptr, []byte) (int, error) { return 0, errNotNow }
