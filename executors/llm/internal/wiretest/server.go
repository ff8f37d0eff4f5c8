// Package wiretest has the common tests of the providers of vendors, with servers that send answers
// byte by byte. The fake vendors are in package llmtest.
package wiretest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/llmtest"
)

func say(w http.ResponseWriter, text string) {
	io.WriteString(w, text)
	http.NewResponseController(w).Flush()
}

// Event returns one event of a stream. The name may be empty.
func Event(name string, data any) string { return llmtest.Event{Name: name, Data: data}.String() }

// Object is a JSON object.
type Object = llmtest.Object

// Objects returns the objects of a list. It returns nil for any other value.
func Objects(v any) (all []Object) {
	items, _ := v.([]any)
	for _, item := range items {
		all = append(all, item.(Object))
	}
	return all
}

// Raw starts a server with a handler, and returns its URL.
func Raw(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return server.URL
}

// Pieces returns a handler that sends a stream in the given pieces, one at a time.
func Pieces(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			say(w, p)
		}
	}
}

// Collect returns a sink that appends to a list.
func Collect(all *[]llm.Chunk) func(llm.Chunk) error {
	return func(c llm.Chunk) error {
		*all = append(*all, c)
		return nil
	}
}

// Text returns the joined texts of chunks.
func Text(all []llm.Chunk) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Ways returns different splits of the same stream: whole, in bytes, with other line ends, and with
// comments and unknown events in between.
func Ways(stream string) map[string][]string {
	bytes := make([]string, 0, len(stream))
	for i := range len(stream) {
		bytes = append(bytes, stream[i:i+1])
	}
	lines := strings.SplitAfter(stream, "\n")
	crlf := strings.ReplaceAll(stream, "\n", "\r\n")
	noise := ": keep-alive\n\nretry: 3000\nid: 7\n\nevent: vendor.news\ndata: " +
		"{\"type\":\"vendor.news\",\"delta\":{\"deep\":[1]}}\n\n"
	return map[string][]string{
		"whole": {stream}, "byte by byte": bytes, "line by line": lines, "CRLF": {crlf},
		"CRLF, cut within":         {crlf[:len(crlf)/2], crlf[len(crlf)/2:]},
		"noise between":            {noise + strings.ReplaceAll(stream, "\n\n", "\n\n"+noise)},
		"no space after the colon": {strings.ReplaceAll(stream, "data: ", "data:")},
	}
}
