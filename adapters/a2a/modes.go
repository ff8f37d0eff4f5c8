package a2a

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// modes are the media types that a caller accepts; empty means all.
type modes []string

// modesOf parses acceptedOutputModes. Some clients send text, data and file, the kinds of parts of
// 0.3.
func modesOf(accepted []string) modes {
	var all modes
	for _, m := range accepted {
		switch m = bareType(m); m {
		case "":
		case "text":
			all = append(all, "text/*")
		case "data":
			all = append(all, jsonType)
		case "file", "*":
			all = append(all, "*/*")
		default:
			all = append(all, m)
		}
	}
	return all
}

const (
	textType = "text/plain"
	jsonType = "application/json"
	fileType = "application/octet-stream"
)

// accepts reports whether a media type is accepted.
func (ms modes) accepts(mediaType string) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	return len(ms) == 0 || slices.ContainsFunc(ms, func(m string) bool {
		return m == mediaType || m == "*/*" || m == kind+"/*"
	})
}

// filter removes the parts that are not accepted. It converts data to text for callers that accept
// text only. If no part remains, a text names the removed media types.
func (ms modes) filter(parts a2a.ContentParts) a2a.ContentParts {
	if len(ms) == 0 {
		return parts
	}
	var left a2a.ContentParts
	var out []string
	for _, p := range parts {
		mediaType := typeOf(p)
		data, isData := p.Content.(a2a.Data)
		switch {
		case ms.accepts(mediaType):
			left = append(left, p)
		case isData && ms.accepts(textType):
			raw, err := encode(data.Value)
			if err != nil {
				continue
			}
			left = append(left, &a2a.Part{Content: a2a.Text(raw), Filename: p.Filename, Metadata: p.Metadata})
		default:
			out = append(out, mediaType)
		}
	}
	if len(left) == 0 {
		slices.Sort(out)
		left = append(left, a2a.NewTextPart(fmt.Sprintf("Left out, because acceptedOutputModes does not include: %s.",
			strings.Join(slices.Compact(out), ", "))))
	}
	return left
}

// typeOf returns the media type of a part.
func typeOf(p *a2a.Part) string {
	if t := bareType(p.MediaType); t != "" {
		return t
	}
	switch p.Content.(type) {
	case a2a.Text:
		return textType
	case a2a.Data:
		return jsonType
	}
	return fileType
}
