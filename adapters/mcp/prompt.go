package mcp

import (
	"context"
	_ "embed" // joinSteps
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// maxRoleChars limits the role that the user enters.
const maxRoleChars = 500

func (s *Server) addPrompt() {
	s.AddPrompt(&protocol.Prompt{
		Name: "join_conversation", Title: "Take part in a conversation", Description: "Take part in a conversation until " +
			"it is closed.",
		Arguments: []*protocol.PromptArgument{
			{Name: "conversation_id", Title: "Conversation", Description: "id of the conversation, from list_conversations",
				Required: true},
			{Name: "role", Title: "Role", Description: "your role in the conversation, in your words"},
		},
	}, s.joinConversation)
}

func (s *Server) joinConversation(ctx context.Context, req *protocol.GetPromptRequest) (*protocol.GetPromptResult,
	error) {
	id, role := req.Params.Arguments["conversation_id"], strings.TrimSpace(req.Params.Arguments["role"])
	switch {
	case id == "":
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "conversation_id is missing (expected: an id from list_conversations)"}
	case utf8.RuneCountInString(role) > maxRoleChars:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: fmt.Sprintf("role is too long: expected at most %d characters", maxRoleChars)}
	}
	client, release, err := s.opts.Connect(ctx, req.Extra)
	if err != nil {
		return nil, protocolError(err, hints{})
	}
	defer release()
	at, err := client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return nil, protocolError(err, hints{conversation: id})
	}
	return &protocol.GetPromptResult{
		Description: "Take part in " + id,
		Messages: []*protocol.PromptMessage{{Role: "user", Content: &protocol.TextContent{Text: joinPrompt(at,
			client.AgentID(), role)}}},
	}, nil
}

// joinSteps is a format with one argument, the conversation.
//
//go:embed join.txt
var joinSteps string

// joinPrompt returns the prompt that makes a model take part.
func joinPrompt(at *parley.Snapshot, you, role string) string {
	v := viewConversation(at, you)
	var b strings.Builder
	fmt.Fprintf(&b, "Take part in the Parley conversation %s as %s.", v.ConversationID, v.You)
	if role != "" {
		fmt.Fprintf(&b, " Your role: %s", role)
	}
	fmt.Fprintf(&b, joinSteps, v.ConversationID)
	v.SinceSeq = 0 // the model has read nothing yet
	b.WriteString(v.text())
	return b.String()
}
