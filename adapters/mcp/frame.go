package mcp

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// frame has the members of a JSON-RPC message that are examined before the library reads it.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
}

// RefuseID returns the answer to a request whose id the library would return changed: a fraction, or an
// integer beyond 2^53-1. It returns nil for every other message.
func RefuseID(message []byte) []byte {
	var f frame
	if json.Unmarshal(message, &f) != nil || f.Method == nil || isExactID(f.ID) {
		return nil
	}
	text := "invalid id " + string(f.ID[:min(len(f.ID), maxQuotedID)]) + ": expected a string, or an integer of at most 9007199254740991"
	return encodeError(f.ID, jsonrpc.CodeInvalidRequest, text)
}

// maxQuotedID bounds an id in the text of an error, in bytes.
const maxQuotedID = 64

// isExactID reports whether the library returns an id unchanged, or refuses it.
func isExactID(id json.RawMessage) bool {
	n, err := strconv.ParseFloat(string(id), 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return true // a string, null, or of a type that is no id
	}
	return n == math.Trunc(n) && math.Abs(n) < 1<<53
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

// answerUnknownMethods wraps w for a request with an id, whose body is raw.
func answerUnknownMethods(w http.ResponseWriter, raw []byte) http.ResponseWriter {
	var f frame
	if json.Unmarshal(raw, &f) != nil || len(f.ID) == 0 || string(f.ID) == "null" {
		return w
	}
	return &methodNotFoundWriter{ResponseWriter: w, id: f.ID}
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
