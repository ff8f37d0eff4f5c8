//go:build !linux

package doctor

import "errors"

func diskOf(string) (disk, error) {
	return disk{}, errors.New("the free space is unknown on this system")
}
