package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// answerFlags are what goes with an answer.
type answerFlags struct {
	as, comment, answer, key string
}

// answerWords are the command of a decision and what it does.
var answerWords = map[parley.ApprovalDecision][2]string{
	parley.DecisionApproved: {"approve ID", "approve an action that an agent requested"},
	parley.DecisionRejected: {"reject ID", "reject an action that an agent requested"},
}

func newAnswerCommand(a *cli.App, decision parley.ApprovalDecision) *cobra.Command {
	var f answerFlags
	words := answerWords[decision]
	c := &cobra.Command{
		Use:   words[0],
		Short: words[1],
		Long: words[1] + `. An approval can be decided once. Exit code 5 means that it is already
decided, that it timed out, or that its turn is over. The agent and all participants can read the
comment. Repeating the command with the same --key and the same arguments is safe.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVar(&f.comment, "comment", "", "comment that all participants can read")
	c.Flags().StringVar(&f.key, "key", "", "idempotency key (clientRequestId)")
	if decision == parley.DecisionApproved {
		c.Flags().StringVar(&f.answer, "answer", "",
			"JSON for the agent, such as edited arguments: the text, @FILE, or @- for stdin")
	}
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		p := &parley.ResolveApprovalParams{ApprovalID: args[0], Decision: decision, Comment: f.comment,
			ClientRequestID: f.key}
		if c.Flags().Changed("answer") {
			var err error
			if p.Answer, err = readAnswer(a, f.answer); err != nil {
				return err
			}
		}
		client, err := a.Dial(ctx, f.as)
		if err != nil {
			return err
		}
		defer client.Close()
		r, err := cli.Call(ctx, a, client.ResolveApproval, p)
		if err != nil {
			return explainError(err)
		}
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(r)
		}
		a.Out.Linef("%s %s", cli.Clean(r.ApprovalID), cli.Clean(string(r.Status)))
		return nil
	})
}

// readAnswer reads the JSON of --answer.
func readAnswer(a *cli.App, given string) (json.RawMessage, error) {
	text := []byte(given)
	if file, from := strings.CutPrefix(given, "@"); from {
		var err error
		if text, err = a.ReadBounded(file); err != nil {
			return nil, exit.Usagef("--answer: %w", err)
		}
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	switch {
	case !utf8.Valid(text):
		return nil, exit.Usagef("--answer: the text is not UTF-8")
	case !json.Valid(text):
		return nil, exit.Usagef(`--answer: expected JSON, such as '{"eur":100}'`)
	}
	return text, nil
}
