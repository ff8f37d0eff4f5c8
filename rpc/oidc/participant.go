package oidc

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"regexp"
	"slices"
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
	if strings.ContainsRune(value, utf8.RuneError) && !isUnicode(raw) {
		text = append([]byte{0xff}, raw...) // no value begins with 0xff, and decoding makes different texts equal
	}
	sum := sha256.Sum256(text)
	digest := strings.ToLower(digestEncoding.EncodeToString(sum[:digestBytes]))
	readable := strings.Trim(notInID.ReplaceAllString(value, "-"), "-._")
	if readable == "" {
		readable = "user"
	}
	return readable[:min(len(readable), maxReadable)] + digestMark + digest
}

// isUnicode reports whether a JSON string has neither invalid UTF-8 nor half of a surrogate pair, which
// decoding replaces by U+FFFD.
func isUnicode(raw json.RawMessage) bool {
	return utf8.Valid(raw) && !slices.ContainsFunc(surrogates.FindAll(raw, -1), isHalf)
}

func isHalf(escape []byte) bool { return len(escape) == len(`\ud800`) }

// surrogates matches a pair of surrogates, half of one, or the beginning of any other escape.
var surrogates = regexp.MustCompile(
	`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.`)
