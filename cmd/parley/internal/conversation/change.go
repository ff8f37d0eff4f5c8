package conversation

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

func newCloseCommand(a *cli.App) *cobra.Command {
	var as, status, reason string
	c := &cobra.Command{
		Use:   "close ID",
		Short: "close a conversation (creator, people, admins)",
		Args:  cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	c.Flags().StringVar(&status, "status", "", "completed, failed or canceled (default: completed)")
	c.Flags().StringVar(&reason, "reason", "", "short reason")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		outcome, err := ParseOutcome(status, reason)
		if err != nil {
			return err
		}
		client, err := a.Dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		p := &parley.CloseConversationParams{ConversationID: args[0], Outcome: outcome}
		r, err := cli.Call(ctx, a, client.CloseConversation, p)
		if err != nil && strings.HasPrefix(args[0], SessionPrefix) {
			return exit.WithHint(err, "a session is ended by 'parley session stop ID'")
		}
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(r)
		}
		a.Out.Linef("seq %d", r.Seq)
		return nil
	})
}

// ParseOutcome is nil when neither is given: then the hub says that it was closed.
func ParseOutcome(status, reason string) (*parley.Outcome, error) {
	if status == "" && reason == "" {
		return nil, nil
	}
	o := &parley.Outcome{Status: parley.OutcomeStatus(status), Reason: reason}
	if status == "" {
		o.Status = parley.OutcomeCompleted
	}
	if !o.Status.Valid() {
		return nil, exit.Usagef("--status %s: expected completed, failed or canceled", status)
	}
	return o, nil
}

func newForkCommand(a *cli.App) *cobra.Command {
	var as string
	var p parley.ForkConversationParams
	c := &cobra.Command{
		Use:   "fork ID --seq N",
		Short: "copy a conversation up to an event into a new one, and print its id (creator, people, admins)",
		Long: `fork makes a conversation that has the events of another up to one, unchanged, and continues
separately. The other one does not change, and may be closed.

  parley conversation fork cnv_abc --seq 12 --title "what if the answer was no"

A claimed turn is offered again in the fork. Running sessions and pending approvals stay with the
other conversation. Repeating a fork with the same --key and the same arguments is safe: it is made
once.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &as)
	c.Flags().Int64Var(&p.Seq, "seq", 0, "seq of the last event to copy")
	c.Flags().StringVar(&p.ForkID, "id", "", "id of the fork (default: the hub chooses)")
	c.Flags().StringVar(&p.Title, "title", "", "title of the fork (default: that of the original)")
	c.Flags().StringVar(&p.ClientRequestID, "key", "", "idempotency key: repeating a call with it has no second effect")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if !c.Flags().Changed("seq") {
			return exit.Usagef("which event is the last that both have? --seq N")
		}
		p.ConversationID = args[0]
		client, err := a.Dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		fork, err := cli.Call(ctx, a, client.ForkConversation, &p)
		if errors.Is(err, parley.ErrCursorAhead) {
			return exit.WithHint(err, "'parley tail "+cli.Clean(args[0])+"' shows the events with their numbers")
		}
		if errors.Is(err, parley.ErrForbidden) {
			return exit.WithHint(err,
				"its creator, the people in it and admins fork a conversation, with the scope create; a session cannot be forked")
		}
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(fork)
		}
		a.Out.Line(cli.Clean(fork.ConversationID))
		return nil
	})
}

// NewTurnCommand returns the command turn.
func NewTurnCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{Use: "turn", Short: "cancel turns"}, newTurnCancelCommand(a))
}

func newTurnCancelCommand(a *cli.App) *cobra.Command {
	var as, reason string
	c := &cobra.Command{
		Use:   "cancel ID TURN",
		Short: "end a turn without a final message (people, previous speaker, admins)",
		Long: `cancel ends an unfinished turn: the open one, or the next one if it belongs to one participant. An
agent that works on it is stopped, its messages stay in the log, and the next turn begins. 'parley
conversation show ID' prints TURN.`,
		Args: cobra.ExactArgs(2),
	}
	cli.AddAsFlag(c, &as)
	c.Flags().StringVar(&reason, "reason", "", "short reason that all participants can read")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		turn, err := strconv.ParseInt(args[1], 10, 64)
		if err != nil || turn < 1 {
			return exit.Usagef("TURN %s: expected a number from 1", args[1])
		}
		client, err := a.Dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		p := &parley.CancelTurnParams{ConversationID: args[0], Turn: turn, Reason: reason}
		r, err := cli.Call(ctx, a, client.CancelTurn, p)
		if err != nil {
			return err
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(r)
		}
		a.Out.Linef("seq %d", r.Seq)
		return nil
	})
}
