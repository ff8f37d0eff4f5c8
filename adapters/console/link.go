package console

import (
	"net/url"
	"strings"
)

// SignIn is the sign-in data in a link to the page. It follows the #, which browsers do not send,
// and the page removes it from the address at once.
type SignIn struct {
	// Ticket opens one WebSocket of the hub, over which the page creates a lasting token.
	Ticket string
	// AgentID and the fields below are what the page requests for that token. The hub never grants
	// more than the token of the ticket has. Agents are further participant ids.
	AgentID                   string
	Agents, Scopes            []string
	Workspaces, Conversations []string
	// To is the first location in the page, such as /c/ID. The default is the list of conversations.
	To string
}

// Link returns the address of a page with sign-in data.
func Link(page string, s *SignIn) string {
	var b strings.Builder
	b.WriteString(page + "#ticket=" + url.QueryEscape(s.Ticket))
	for _, p := range []struct{ name, value string }{
		{"agent", s.AgentID}, {"agents", strings.Join(s.Agents, ",")}, {"scopes", strings.Join(s.Scopes, ",")},
		{"workspaces", strings.Join(s.Workspaces, ",")}, {"conversations", strings.Join(s.Conversations, ",")}, {"to", s.To},
	} {
		if p.value != "" {
			b.WriteString("&" + p.name + "=" + strings.NewReplacer("%2C", ",", "%2F", "/").Replace(url.QueryEscape(p.value)))
		}
	}
	return b.String()
}
