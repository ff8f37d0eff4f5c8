package wire

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A JSON string can have half of a surrogate pair as an escape, such as \ud83d, if a vendor splits
// a text between both halves. Package json would replace both. MarkSurrogates replaces each such
// escape by a private-use character, which survives decoding and joining, and JoinSurrogates
// replaces these characters by the text.

// firstMark is the private-use character of the surrogate U+D800. The characters of all surrogates
// follow it.
const firstMark = 0x10F000

// Surrogates are U+D800 to U+DFFF, the high ones first.
const (
	firstSurrogate = 0xD800
	firstLow       = 0xDC00
	lastSurrogate  = 0xDFFF
)

// MarkSurrogates returns JSON in which private-use characters replace the escapes of surrogates
// without their other half.
func MarkSurrogates(raw []byte) []byte {
	return replaceSurrogates(raw, func(half rune) string { return string(half - firstSurrogate + firstMark) })
}

// replaceSurrogates replaces the escapes of surrogates without their other half.
func replaceSurrogates(raw []byte, replace func(half rune) string) []byte {
	if !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw
	}
	var out bytes.Buffer
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out.WriteByte(raw[i])
			i++
			continue
		}
		half := escaped(raw[i:])
		switch {
		case half < firstSurrogate || half > lastSurrogate:
			n := min(2, len(raw)-i) // also a backslash that is escaped
			out.Write(raw[i : i+n])
			i += n
		case utf16.DecodeRune(half, escaped(raw[i+6:])) != utf8.RuneError:
			out.Write(raw[i : i+12])
			i += 12
		default:
			out.WriteString(replace(half))
			i += 6
		}
	}
	return out.Bytes()
}

// escaped returns the character of an escape such as \ud83d at the beginning of raw, or -1.
func escaped(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// JoinSurrogates replaces the marks of MarkSurrogates: two halves by their character, and others by
// U+FFFD.
func JoinSurrogates(text string) string {
	if !hasMark(text) {
		return text
	}
	var out strings.Builder
	for rest := text; rest != ""; {
		half, n := markedHalf(rest)
		if half < 0 {
			out.WriteString(rest[:n])
			rest = rest[n:]
			continue
		}
		rest = rest[n:]
		low, m := markedHalf(rest)
		joined := utf16.DecodeRune(half, low)
		out.WriteRune(joined) // U+FFFD if they are no pair
		if joined != utf8.RuneError {
			rest = rest[m:]
		}
	}
	return out.String()
}

// markedHalf returns the surrogate of the mark at the beginning of a text, or -1, and the length of
// its first character.
func markedHalf(text string) (half rune, n int) {
	r, n := utf8.DecodeRuneInString(text)
	if !isMark(r) {
		return -1, n
	}
	return r - firstMark + firstSurrogate, n
}

func isMark(r rune) bool { return r >= firstMark && r <= firstMark+lastSurrogate-firstSurrogate }

func hasMark(text string) bool { return strings.ContainsFunc(text, isMark) }

// splitMark returns the mark of a high surrogate at the end of a text separately, because the other
// half may follow.
func splitMark(text string) (whole, mark string) {
	r, n := utf8.DecodeLastRuneInString(text)
	if isMark(r) && r < firstMark+firstLow-firstSurrogate {
		return text[:len(text)-n], text[len(text)-n:]
	}
	return text, ""
}
