package oidc

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

const (
	// digestMark separates the readable part of a mapped id from its digest.
	digestMark = "--"
	// maxReadable bounds the readable part, so that a mapped id has at most 64 bytes.
	maxReadable = 30
	// digestBytes are the bytes of SHA-256 in a mapped id: 32 characters.
	digestBytes = 20
)

var (
	digestEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)
	mappedID       = regexp.MustCompile(digestMark + `[0-9a-v]{32}$`)
	notInID        = regexp.MustCompile(`[^A-Za-z0-9._]+`)
)

// participantID returns the participant id of a token claim, raw as in the token and decoded. A value
// that is a participant id is used unchanged. Every other value, and one that looks like a mapped id,
// becomes a readable part and a digest of the value. So two values never have the same id, a value has
// the same id on every hub, and no one can choose a value that equals the id of another.
func participantID(raw json.RawMessage, value string) string {
	if parley.ValidParticipantID(value) && !mappedID.MatchString(value) {
		return value
	}
	text := []byte(value)
	if strings.ContainsRune(value, utf8.RuneError) {
		text = raw // decoding has replaced different invalid characters by one
	}
	sum := sha256.Sum256(text)
	digest := strings.ToLower(digestEncoding.EncodeToString(sum[:digestBytes]))
	readable := strings.Trim(notInID.ReplaceAllString(value, "-"), "-._")
	if readable == "" {
		readable = "user"
	}
	return readable[:min(len(readable), maxReadable)] + digestMark + digest
}
