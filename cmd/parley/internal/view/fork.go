package view

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// forkedText says where a fork leaves the other.
func (v *Printer) forkedText(s parley.System) string {
	text := "forked by " + cli.Clean(s.CreatedBy)
	if r := s.Fork; r != nil {
		text = fmt.Sprintf("%s from %s at #%d: everything above was said there", text, cli.Clean(r.ConversationID), r.Seq)
	}
	if s.Title != "" {
		text = v.to.Paint(cli.StyleBold, cli.Clean(s.Title)) + "\n" + v.Indent() + text
	}
	return text
}

// ForkText says of what a conversation is a fork; empty for others.
func ForkText(r *parley.ForkRecord) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s at #%d", cli.Clean(r.ConversationID), r.Seq)
}
