package check

import (
	"strings"

	"github.com/parleyhub/parley"
)

// AdapterConversationID reports whether an adapter stores its own state in the conversation: its id is
// ~a2a. and 1 to 59 characters of A-Z, a-z, 0-9, _ and -. Only admins create, read and write such
// conversations, and they write notes only.
func AdapterConversationID(id string) bool {
	rest, ok := strings.CutPrefix(id, "~a2a.")
	return ok && len(id) <= 64 && parley.ValidConversationID(rest)
}
