//go:build !linux

package doctor

import "errors"

func diskOf(string) (disk, error) {
	return disk{}, errors.New("this program cannot tell how much is free on this system")
}
