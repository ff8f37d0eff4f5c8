package main

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// forked says where a fork leaves the other.
func (v *view) forked(s parley.System) string {
	text := "forked by " + clean(s.CreatedBy)
	if r := s.Fork; r != nil {
		text = fmt.Sprintf("%s from %s at #%d: what stands above was said there", text, clean(r.ConversationID), r.Seq)
	}
	if s.Title != "" {
		text = v.to.paint(styleBold, clean(s.Title)) + "\n" + v.indent() + text
	}
	return text
}

// forkText says of what a conversation is a fork; empty for others.
func forkText(r *parley.ForkRecord) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%s at #%d", clean(r.ConversationID), r.Seq)
}
