package parley

import (
	"regexp"
	"strings"
)

var (
	conversationID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	participantID  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
)

// ValidConversationID reports whether a caller may use id for a conversation: 1 to 64 characters of
// A-Z, a-z, 0-9, _ and -. The ids of the conversations of the hub itself begin with ~ and are not
// valid.
func ValidConversationID(id string) bool { return conversationID.MatchString(id) }

// ValidWorkspace reports whether name is valid for a workspace: 1 to 64 characters of A-Z, a-z,
// 0-9, ., _ and -, of which the first is a letter or a digit.
func ValidWorkspace(name string) bool { return participantID.MatchString(name) }

// ValidAgentName reports whether name is valid for an agent: a participant id, or a participant id,
// @ and the id of a runner.
func ValidAgentName(name string) bool {
	plain, runner, at := strings.Cut(name, "@")
	return ValidParticipantID(plain) && (!at || ValidParticipantID(runner))
}

// ValidParticipantID reports whether id is valid for a participant: 1 to 64 characters of A-Z, a-z,
// 0-9, ., _ and -, of which the first is a letter or a digit. [HubID] is not valid.
func ValidParticipantID(id string) bool { return id != HubID && participantID.MatchString(id) }
