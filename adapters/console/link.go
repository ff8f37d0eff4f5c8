package console

import (
	"net/url"
	"strings"
)

// SignIn is what a link to the page says of who follows it. It stands behind the #, which browsers send to nobody, and the page takes it out of the address at once.
type SignIn struct {
	// Ticket opens one socket of the hub, by which the page makes a token that lasts.
	Ticket string
	// AgentID and the others are what the page asks for in that token. They are a wish: the hub gives nothing that the token of the ticket has not. Agents are further ids.
	AgentID                   string
	Agents, Scopes            []string
	Workspaces, Conversations []string
	// To is the page's place to begin at, such as /c/ID; empty: the list of conversations.
	To string
}

// Link gives the address of the page at an address, for who follows it.
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
