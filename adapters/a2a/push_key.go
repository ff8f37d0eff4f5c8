package a2a

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// keyBytes is the size of a key: AES-256.
const keyBytes = 32

// LoadKey reads the key that seals the secrets of push configurations, 32 bytes, and makes it where there is none. The file is for its owner alone (mode 0600):
// one that others may read is refused. Who loses it loses the configurations that were sealed with it.
func LoadKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeKey(path); err != nil && !errors.Is(err, fs.ErrExist) { // another was faster
		return nil, fmt.Errorf("make the key %s: %w", path, err)
	}
	return readKey(path)
}

func readKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); runtime.GOOS != "windows" && mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the key %s is open to others (mode %04o): expected 0600", path, mode.Perm())
	}
	if info.Size() != keyBytes {
		return nil, fmt.Errorf("the key %s has %d bytes: expected %d", path, info.Size(), keyBytes)
	}
	return os.ReadFile(path)
}

// makeKey writes a whole key or none, and never over another.
func makeKey(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	_, err = f.Write(key)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// secret is what of a configuration nobody reads in the log.
type secret struct {
	URL         string `json:"url"` // its query may be one
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// seal binds a secret to the configuration that it is of.
type seal struct{ aead cipher.AEAD }

func newSeal(key []byte) (*seal, error) {
	if len(key) != keyBytes {
		return nil, fmt.Errorf("a2a: the key has %d bytes: expected %d", len(key), keyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &seal{aead}, err
}

func (s *seal) close(of string, v *secret) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.aead.Seal(nil, nil, plain, []byte(of)), nil
}

func (s *seal) open(of string, sealed []byte) (*secret, error) {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(of))
	if err != nil {
		return nil, err
	}
	v := &secret{}
	return v, json.Unmarshal(plain, v)
}
