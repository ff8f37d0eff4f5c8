//go:build !linux

package main

import "errors"

func diskOf(string) (disk, error) {
	return disk{}, errors.New("this program cannot tell how much is free on this system")
}
