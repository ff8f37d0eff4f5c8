package a2a

import (
	"fmt"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// modes are the media types that a caller takes; none: all.
type modes []string

// modesOf reads acceptedOutputModes. Some clients say text, data and file, the kinds of parts of 0.3.
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

// take reports whether parts of a type are taken.
func (ms modes) take(mediaType string) bool {
	kind, _, _ := strings.Cut(mediaType, "/")
	return len(ms) == 0 || slices.ContainsFunc(ms, func(m string) bool {
		return m == mediaType || m == "*/*" || m == kind+"/*"
	})
}

// filter leaves out the parts that are not taken. Data is given as text to who takes text only, and where nothing is left a text says what was left out.
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
		case ms.take(mediaType):
			left = append(left, p)
		case isData && ms.take(textType):
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
		left = append(left, a2a.NewTextPart(fmt.Sprintf("Left out, since acceptedOutputModes do not have it: %s.", strings.Join(slices.Compact(out), ", "))))
	}
	return left
}

// typeOf is the media type of a part.
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
