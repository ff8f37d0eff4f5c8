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

// keyBytes is the size of a key of AES-256.
const keyBytes = 32

// LoadKey reads the key of 32 bytes that encrypts the secrets of push configurations. It creates a
// missing file with mode 0600, and refuses a file that other users can read. If the key is lost,
// the configurations that were encrypted with it are lost.
func LoadKey(path string) ([]byte, error) {
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := createKey(path); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return nil, fmt.Errorf("create the key %s: %w", path, err)
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
		return nil, fmt.Errorf("the key %s is accessible to other users: mode %04o (expected: 0600)", path, mode.Perm())
	}
	if info.Size() != keyBytes {
		return nil, fmt.Errorf("the key %s has %d bytes (expected: %d)", path, info.Size(), keyBytes)
	}
	return os.ReadFile(path)
}

// createKey writes a whole key or none, and never overwrites one.
func createKey(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	_, err = f.Write(key)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// secret is the part of a configuration that is encrypted in the log.
type secret struct {
	URL         string `json:"url"` // its query may be a secret
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

// sealer encrypts secrets and binds them to their configuration.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (*sealer, error) {
	if len(key) != keyBytes {
		return nil, fmt.Errorf("a2a: the key has %d bytes (expected: %d)", len(key), keyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return &sealer{aead}, err
}

func (s *sealer) seal(of string, v *secret) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.aead.Seal(nil, nil, plain, []byte(of)), nil
}

func (s *sealer) open(of string, sealed []byte) (*secret, error) {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(of))
	if err != nil {
		return nil, err
	}
	v := &secret{}
	return v, json.Unmarshal(plain, v)
}
