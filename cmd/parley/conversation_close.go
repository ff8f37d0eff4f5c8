package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

func (a *app) conversationCloseCommand() *cobra.Command {
	var as, status, reason string
	c := &cobra.Command{
		Use:   "close ID",
		Short: "close a conversation (its creator, its people, admins)",
		Args:  cobra.ExactArgs(1),
	}
	asFlag(c, &as)
	c.Flags().StringVar(&status, "status", "", "completed, failed or canceled (default: completed)")
	c.Flags().StringVar(&reason, "reason", "", "why, in a few words")
	return a.does(c, func(ctx context.Context, args []string) error {
		outcome, err := parseOutcome(status, reason)
		if err != nil {
			return err
		}
		client, err := a.dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		p := &parley.CloseConversationParams{ConversationID: args[0], Outcome: outcome}
		r, err := call(ctx, a, client.CloseConversation, p)
		if err != nil && strings.HasPrefix(args[0], sessionPrefix) {
			return withHint(err, "a session is ended by 'parley session stop ID'")
		}
		if err != nil {
			return err
		}
		if a.format == formatJSON {
			return a.out.json(r)
		}
		a.out.linef("seq %d", r.Seq)
		return nil
	})
}

// parseOutcome is nil when neither is given: then the hub says that it was closed.
func parseOutcome(status, reason string) (*parley.Outcome, error) {
	if status == "" && reason == "" {
		return nil, nil
	}
	o := &parley.Outcome{Status: parley.OutcomeStatus(status), Reason: reason}
	if status == "" {
		o.Status = parley.OutcomeCompleted
	}
	if !o.Status.Valid() {
		return nil, usagef("--status %s: expected completed, failed or canceled", status)
	}
	return o, nil
}
