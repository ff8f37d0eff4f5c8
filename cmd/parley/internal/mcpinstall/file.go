package mcpinstall

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// maxFileBytes bounds a configuration file that is read.
const maxFileBytes = 16 << 20

// configFile is a configuration file as it was when it was read.
type configFile struct {
	path string
	info fs.FileInfo // nil: it was not there
	text []byte
}

func readConfigFile(path string) (*configFile, error) {
	f := &configFile{path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if f.info = info; !info.Mode().IsRegular() {
		return nil, exit.Usagef("%s is no file", path)
	}
	if info.Size() > maxFileBytes {
		return nil, exit.Usagef("%s has more than %d bytes", path, maxFileBytes)
	}
	f.text, err = os.ReadFile(path)
	return f, err
}

// backUp keeps the file as it was beside it, in the place of what an earlier call has kept there.
func (f *configFile) backUp() (path string, err error) {
	if f.info == nil {
		return "", nil
	}
	path = f.path + ".parley.bak"
	temp, err := f.writeTemp(f.text)
	if err == nil {
		err = renameOver(temp, path)
	}
	if err != nil {
		return "", fmt.Errorf("keep %s as it was: %w", f.path, err)
	}
	return path, nil
}

// replace replaces the file, if it is unchanged since it was read. It keeps the owner and the
// owner's bits of the mode. No one else may read the file then.
func (f *configFile) replace(text []byte) error {
	if err := f.makeDirs(); err != nil {
		return err
	}
	temp, err := f.writeTemp(text)
	if err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	if err = f.checkUnchanged(); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return renameOver(temp, f.path)
}

// writeTemp writes a text into a new file beside this one, whole and with its owner and mode.
func (f *configFile) writeTemp(text []byte) (path string, err error) {
	temp, err := os.CreateTemp(filepath.Dir(f.path), ".parley-*") // mode 0600
	if err != nil {
		return "", err
	}
	_, err = temp.Write(text)
	err = cmp.Or(err, temp.Sync(), temp.Close())
	if err == nil {
		err = f.setOwner(temp.Name())
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", err
	}
	return temp.Name(), nil
}

// setOwner sets owner and mode of a path to those of this file. A new file of root gets the owner
// of its directory.
func (f *configFile) setOwner(path string) (err error) {
	info := f.info
	switch {
	case info != nil:
		if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
			return err
		}
	case os.Geteuid() == 0:
		if info, err = os.Stat(filepath.Dir(f.path)); err != nil {
			return err
		}
	default:
		return nil
	}
	if err := chownLike(path, info); err != nil {
		return exit.WithHint(fmt.Errorf("the owner of %s cannot be kept: %w", f.path, err),
			"run this as the user whose file it is")
	}
	return nil
}

// checkUnchanged refuses when the file is not as it was when it was read.
func (f *configFile) checkUnchanged() error {
	now, err := readConfigFile(f.path)
	if err != nil {
		return err
	}
	if (now.info == nil) != (f.info == nil) || !bytes.Equal(now.text, f.text) {
		return exit.WithHint(fmt.Errorf("%s was changed by another program meanwhile, and is left as it is", f.path),
			"end the program whose file it is, and call this again")
	}
	return nil
}

// makeDirs makes the directories of the file. What root makes belongs to the owner of the first
// that was there.
func (f *configFile) makeDirs() error {
	var missing []string
	dir := filepath.Dir(f.path)
	info, err := os.Stat(dir)
	for ; errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir); info, err = os.Stat(dir) {
		missing = append(missing, dir)
		dir = filepath.Dir(dir)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.path), 0o700)
	}
	for _, one := range missing {
		if err == nil && os.Geteuid() == 0 {
			err = chownLike(one, info)
		}
	}
	return err
}

// renameOver renames a file, which is gone if that fails.
func renameOver(temp, path string) error {
	err := os.Rename(temp, path)
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}
