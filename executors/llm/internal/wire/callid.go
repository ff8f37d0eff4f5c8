package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
)

// CallIDs are the ids of tool calls that a model accepts: those that match Valid. Others become a
// text of at most Most characters that ends in a digest, so that different ids stay different.
type CallIDs struct {
	Valid *regexp.Regexp
	Most  int
}

// Rename returns messages with ids that the model accepts. Ids of another vendor may have other
// characters or be longer. A nil CallIDs accepts all ids.
func (ids *CallIDs) Rename(messages []llm.Message) []llm.Message {
	if ids == nil {
		return messages
	}
	renamed := slices.Clone(messages)
	for i := range renamed {
		m := &renamed[i]
		m.ToolCalls, m.Results = slices.Clone(m.ToolCalls), slices.Clone(m.Results)
		for j := range m.ToolCalls {
			m.ToolCalls[j].ID = ids.rename(m.ToolCalls[j].ID)
		}
		for j := range m.Results {
			m.Results[j].CallID = ids.rename(m.Results[j].CallID)
		}
	}
	return renamed
}

var otherThanID = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

func (ids *CallIDs) rename(id string) string {
	if ids.Valid.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	digest := hex.EncodeToString(sum[:8])
	if ids.Most <= len(digest) {
		return digest[:ids.Most]
	}
	start := strings.Trim(otherThanID.ReplaceAllString(id, "_"), "_")
	return start[:min(len(start), ids.Most-len(digest)-1)] + "_" + digest
}
