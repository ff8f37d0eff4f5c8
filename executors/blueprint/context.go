package blueprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/parleyhub/parley"
)

// contextMember is the member of stdin that has the context.
const contextMember = "context"

// hasContext reports whether the parameters would take the place of the context.
func (s *session) hasContext() bool {
	var members map[string]json.RawMessage
	if s.job.Context == nil || s.file.ParamsVia != parley.ParamsStdin ||
		json.Unmarshal(s.job.Parameters, &members) != nil {
		return false
	}
	_, taken := members[contextMember]
	return taken
}

// withContext adds the context to what a command reads from stdin: one JSON object. The bytes of both stay as they are.
func withContext(stdin []byte, context json.RawMessage) []byte {
	if context == nil {
		return stdin
	}
	object := bytes.TrimRight(stdin, " \t\r\n")
	object = bytes.TrimRight(object[:len(object)-1], " \t\r\n") // without its brace
	with := append([]byte{}, object...)
	if len(object) > 1 {
		with = append(with, ',')
	}
	with = append(append(with, `"`+contextMember+`":`...), context...)
	return append(with, '}')
}

// contextFile writes the context where the command finds it, for the user of this process alone, until remove.
func contextFile(context json.RawMessage) (path string, remove func(), err error) {
	f, err := os.CreateTemp("", "parley-context-*.json")
	if err != nil {
		return "", nil, fmt.Errorf("keep the context for the command: %w", err)
	}
	remove = func() { _ = os.Remove(f.Name()) } // what is left is the system's to clean up
	_, err = f.Write(context)
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, fmt.Errorf("keep the context for the command: %w", err)
	}
	return f.Name(), remove, nil
}
