package mcp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// membersOf returns the members of a JSON-RPC message; nil if it is not an object. The names of members are
// compared as the library does, with their case.
func membersOf(message []byte) (members map[string]json.RawMessage) {
	if json.Unmarshal(message, &members) != nil {
		return nil
	}
	return members
}

// RefuseID returns the answer to a request whose id the library would return changed: a number that is not
// an integer in plain digits, or beyond 2^53-1. It returns nil for every other message.
func RefuseID(message []byte) []byte { return refuseID(membersOf(message)) }

func refuseID(members map[string]json.RawMessage) []byte {
	id := members["id"]
	if members["method"] == nil || isExactID(id) {
		return nil
	}
	text := "invalid id " + string(id[:min(len(id), maxQuotedID)]) +
		": expected a string, or an integer of at most 9007199254740991"
	return encodeError(id, jsonrpc.CodeInvalidRequest, text)
}

// maxQuotedID bounds an id in the text of an error, in bytes.
const maxQuotedID = 64

// isExactID reports whether the library returns an id unchanged, or refuses it.
func isExactID(id json.RawMessage) bool {
	if len(id) == 0 || id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return true // a string, null, or of a type that is no id
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == string(id) && -1<<53 < n && n < 1<<53
}

// encodeError returns a JSON-RPC error.
func encodeError(id json.RawMessage, code int64, message string) []byte {
	return []byte(jsonText(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}}))
}

// writeError answers a request with a JSON-RPC error.
func writeError(w http.ResponseWriter, status int, answer []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(answer) // a peer that is gone needs no answer
}

// libraryUnknownMethod begins the text with which the library refuses an unknown method of a session.
const libraryUnknownMethod = "JSON RPC not handled"

// methodNotFoundWriter answers an unknown method of a session with a JSON-RPC error. The library answers
// with HTTP 400 and plain text, for which clients wait forever or end the session.
type methodNotFoundWriter struct {
	http.ResponseWriter
	id      json.RawMessage // of the request
	refused bool            // with HTTP 400, which is not written yet
}

// answerUnknownMethods wraps w for a request with an id. A notification has none.
func answerUnknownMethods(w http.ResponseWriter, id json.RawMessage) http.ResponseWriter {
	if len(id) == 0 || string(id) == "null" {
		return w
	}
	return &methodNotFoundWriter{ResponseWriter: w, id: id}
}

// Unwrap is for http.ResponseController.
func (w *methodNotFoundWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements http.Flusher.
func (w *methodNotFoundWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() }

// WriteHeader implements http.ResponseWriter.
func (w *methodNotFoundWriter) WriteHeader(status int) {
	if status == http.StatusBadRequest {
		w.refused = true
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *methodNotFoundWriter) Write(text []byte) (int, error) {
	if !w.refused {
		return w.ResponseWriter.Write(text)
	}
	w.refused = false
	if strings.HasPrefix(string(text), libraryUnknownMethod) {
		writeError(w.ResponseWriter, http.StatusOK, encodeError(w.id, jsonrpc.CodeMethodNotFound, "method not found"))
		return len(text), nil
	}
	w.ResponseWriter.WriteHeader(http.StatusBadRequest)
	return w.ResponseWriter.Write(text)
}
