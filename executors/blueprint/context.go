package blueprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/parleyhub/parley"
)

// contextMember is the member of stdin with the context.
const contextMember = "context"

// hasContext reports whether a parameter has the name of the context member.
func (s *session) hasContext() bool {
	var members map[string]json.RawMessage
	if s.job.Context == nil || s.file.ParamsVia != parley.ParamsStdin ||
		json.Unmarshal(s.job.Parameters, &members) != nil {
		return false
	}
	_, taken := members[contextMember]
	return taken
}

// withContext adds the context to the JSON object on stdin. The bytes of both stay the same.
func withContext(stdin []byte, context json.RawMessage) []byte {
	if context == nil {
		return stdin
	}
	object := bytes.TrimRight(stdin, " \t\r\n")
	object = bytes.TrimRight(object[:len(object)-1], " \t\r\n") // without the closing brace
	with := append([]byte{}, object...)
	if len(object) > 1 {
		with = append(with, ',')
	}
	with = append(append(with, `"`+contextMember+`":`...), context...)
	return append(with, '}')
}

// contextFile writes the context to a file that only the user of this process can read. remove
// deletes it.
func contextFile(context json.RawMessage) (path string, remove func(), err error) {
	f, err := os.CreateTemp("", "parley-context-*.json")
	if err != nil {
		return "", nil, fmt.Errorf("write the context for the command: %w", err)
	}
	remove = func() { _ = os.Remove(f.Name()) } // a failure leaves the file to the system
	_, err = f.Write(context)
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, fmt.Errorf("write the context for the command: %w", err)
	}
	return f.Name(), remove, nil
}
