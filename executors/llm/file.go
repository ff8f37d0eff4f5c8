package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // NewImage reads the size of GIF images
	_ "image/jpeg" // and of JPEG images
	_ "image/png"  // and of PNG images
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Limits of the images of a request. They are the smallest limits of the vendors.
const (
	// MaxImageBytes limits one image. Anthropic accepts 5 MiB in base64.
	MaxImageBytes = 5 << 20 / 4 * 3
	// MaxImageSide limits the width and the height of an image in pixels.
	MaxImageSide = 8000
	// MaxImages and MaxImagesBytes limit all images of one request. The oldest images are left out.
	MaxImages      = 20
	MaxImagesBytes = 12 << 20
)

// imageTokens is the estimated number of tokens of an image.
const imageTokens = 1500

// File is a file that a model is shown after the text of a message or of a tool result. So far,
// all files are images. The text names the file.
type File struct {
	Name string `json:"name,omitempty"`
	// MediaType is that of the content: image/png, image/jpeg, image/gif or image/webp.
	MediaType string `json:"media_type"`
	// SHA256 identifies the content in records and hashes of requests, which do not have Data.
	SHA256 string `json:"sha256"`
	Data   []byte `json:"-"`
}

// IsImage reports whether a media type is that of an image of any format.
func IsImage(mediaType string) bool {
	base, _, err := mime.ParseMediaType(mediaType)
	return err == nil && strings.HasPrefix(base, "image/")
}

// NewImage returns an image for a model. Its media type is that of the content, whatever was
// declared. NewImage returns an error if the vendors accept no such image.
func NewImage(name string, data []byte) (File, error) {
	if len(data) > MaxImageBytes {
		return File{}, fmt.Errorf("it has %d bytes, and models take images of at most %d", len(data), MaxImageBytes)
	}
	f := File{Name: name, Data: data}
	switch f.MediaType, _, _ = mime.ParseMediaType(http.DetectContentType(data)); f.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return File{}, errors.New("its content is not a PNG, JPEG, GIF or WebP image")
	}
	width, height, err := imageSize(f.MediaType, data)
	switch {
	case err != nil || width == 0 || height == 0:
		return File{}, errors.New("its content is a damaged image")
	case max(width, height) > MaxImageSide:
		return File{}, fmt.Errorf("it has %d x %d pixels, and models take at most %d on a side", width, height, MaxImageSide)
	case f.MediaType == "image/gif" && isAnimated(data):
		return File{}, errors.New("it is an animated GIF, which models do not take")
	}
	sum := sha256.Sum256(data)
	f.SHA256 = hex.EncodeToString(sum[:])
	return f, nil
}

// imageSize returns the size of an image in pixels.
func imageSize(mediaType string, data []byte) (width, height int, err error) {
	if mediaType == "image/webp" {
		return webpSize(data)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(data))
	return c.Width, c.Height, err
}

// webpSize reads the header of the first chunk (RFC 9649, sections 2.5 to 2.7).
func webpSize(b []byte) (width, height int, err error) {
	if len(b) < 30 {
		return 0, 0, errors.New("too short for a WebP image")
	}
	switch string(b[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff), nil
	case "VP8L":
		n := binary.LittleEndian.Uint32(b[21:])
		return int(n&0x3fff) + 1, int(n>>14&0x3fff) + 1, nil
	case "VP8X":
		return int(binary.LittleEndian.Uint32(b[24:])&0xffffff) + 1, int(binary.LittleEndian.Uint32(b[26:])>>8) + 1, nil
	}
	return 0, 0, errors.New("unknown WebP format")
}

// isAnimated reports whether a GIF has several images. It reads the blocks of the format without
// their pixels.
func isAnimated(b []byte) bool {
	skip := func(n int) { b = b[min(n, len(b)):] }
	table := func(flags byte) int { // bytes of a color table
		if flags&0x80 == 0 {
			return 0
		}
		return 3 << (flags&7 + 1)
	}
	if len(b) < 13 {
		return false
	}
	skip(13 + table(b[10]))
	for images := 0; len(b) > 9; {
		switch b[0] {
		case 0x2c: // an image: its descriptor, color table, code size and data
			if images++; images > 1 {
				return true
			}
			skip(10 + table(b[9]) + 1)
		case 0x21: // an extension
			skip(2)
		default:
			return false
		}
		for len(b) > 0 && b[0] != 0 {
			skip(1 + int(b[0]))
		}
		skip(1)
	}
	return false
}

// limitFiles returns the messages without the images that the model does not take, and without the
// oldest ones above the limits. A line of text reports each missing image.
func limitFiles(all []Message, images bool) []Message {
	count, size, changed := 0, 0, false
	keep := func(files []File, text string) ([]File, string) {
		var kept []File
		for _, f := range files {
			why := ""
			switch {
			case !images:
				why = "the model takes no images"
			case count == MaxImages || size+len(f.Data) > MaxImagesBytes:
				why = "there are too many other images"
			}
			if why == "" {
				count, size, kept = count+1, size+len(f.Data), append(kept, f)
				continue
			}
			text = strings.TrimPrefix(text+"\n[The image with the sha256 "+f.SHA256+" is not shown, because "+why+".]", "\n")
		}
		return kept, text
	}
	limited := slices.Clone(all)
	for i := len(limited) - 1; i >= 0; i-- {
		m := &limited[i]
		if slices.ContainsFunc(m.Results, func(r ToolResult) bool { return len(r.Files) > 0 }) {
			m.Results, changed = slices.Clone(m.Results), true
			for j := len(m.Results) - 1; j >= 0; j-- {
				r := &m.Results[j]
				r.Files, r.Text = keep(r.Files, r.Text)
			}
		}
		if len(m.Files) > 0 {
			m.Files, m.Text = keep(m.Files, m.Text)
			changed = true
		}
	}
	if !changed {
		return all
	}
	return limited
}
