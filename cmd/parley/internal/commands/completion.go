package commands

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/conversation"
	"github.com/parleyhub/parley/cmd/parley/internal/share"
)

// completionTimeout is how long a shell waits for ids of a hub: a person waits for the Tab key.
const completionTimeout = time.Second

var shells = map[string]func(c *cobra.Command, a *cli.App) error{
	"bash":       func(c *cobra.Command, a *cli.App) error { return c.GenBashCompletionV2(a.Out, true) },
	"zsh":        func(c *cobra.Command, a *cli.App) error { return c.GenZshCompletion(a.Out) },
	"fish":       func(c *cobra.Command, a *cli.App) error { return c.GenFishCompletion(a.Out, true) },
	"powershell": func(c *cobra.Command, a *cli.App) error { return c.GenPowerShellCompletionWithDesc(a.Out) },
}

func completionCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "print a script for shell completion",
		Long: `completion prints a script for a shell. Ids are asked of the hub that PARLEY_URL and
PARLEY_TOKEN name, if it answers within a second.

  bash:        source <(parley completion bash)   in ~/.bashrc; needs the package bash-completion
  zsh:         parley completion zsh > "${fpath[1]}/_parley"
  fish:        parley completion fish > ~/.config/fish/completions/parley.fish
  powershell:  parley completion powershell | Out-String | Invoke-Expression`,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
	}
	return a.SetRun(c, func(_ context.Context, args []string) error { return shells[args[0]](c.Root(), a) })
}

// flagValues are what flags take: those of a name in whatever command, or in those of a name, or in
// one; nil is any file.
var flagValues = map[string][]string{
	"output":        {cli.FormatText, cli.FormatJSON},
	"finality":      cli.Names(parley.FinalityNone, parley.FinalityTurn, parley.FinalityConversation),
	"status":        cli.Names(parley.OutcomeCompleted, parley.OutcomeFailed, parley.OutcomeCanceled),
	"list --status": cli.Names(parley.StatusActive, parley.StatusClosed),
	"policy":        cli.Names(parley.Policies...),
	"types":         cli.Names(parley.TypeMessage, parley.TypeTrace, parley.TypeSystem),
	"scopes":        cli.Names(parley.Scopes...),

	"approvals --status":      cli.Names(parley.ApprovalStatuses...),
	"approvals list --status": cli.Names(parley.ApprovalStatuses...),

	"mode":            cli.Names(parley.ModeSync, parley.ModeAsyncPoll, parley.ModeAsyncCallback),
	"on-turn-timeout": cli.Names(parley.TurnReoffer, parley.TurnSkip, parley.TurnClose),

	"share --output":      nil, // a file
	"share --attachments": {share.NoFiles, share.SmallFiles, share.AllFiles},
}

// idsBelow are what arguments called ID are below a command; elsewhere they are conversations.
var idsBelow = map[string]func(context.Context, parley.Client) ([]string, error){"token": tokenIDs,
	"session": sessionIDs, "approvals": approvalIDs}

// addCompletion lets a shell complete the arguments and flags of c and of the commands below it.
func addCompletion(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		below := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
		values, ok := flagValues[below+" --"+f.Name]
		if !ok {
			values, ok = flagValues[c.Name()+" --"+f.Name]
		}
		if !ok {
			values, ok = flagValues[f.Name]
		}
		if ok && values != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, completeList(values)) // fails for a flag that is not there, and this one is
		}
	})
	if c.Flags().Lookup("parent") != nil {
		_ = c.RegisterFlagCompletionFunc("parent", completeIDs(conversationIDs, math.MaxInt)) // it is there
	}
	ids := conversationIDs
	if c.HasParent() && idsBelow[c.Parent().Name()] != nil {
		ids = idsBelow[c.Parent().Name()]
	}
	switch _, args, _ := strings.Cut(c.Use, " "); {
	case args == "AGENT":
		c.ValidArgsFunction = completeIDs(agentNames, 1)
	case args == "ID", args == "[ID]", strings.HasPrefix(args, "ID "):
		c.ValidArgsFunction = completeIDs(ids, 1)
	case args == "[ID...]":
		c.ValidArgsFunction = completeIDs(ids, math.MaxInt)
	}
	for _, sub := range c.Commands() {
		addCompletion(sub)
	}
}

// completeList offers values for a flag, after the last comma of what was typed.
func completeList(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		begin := typed[:strings.LastIndexByte(typed, ',')+1]
		given := strings.Split(begin, ",")
		var offers []string
		for _, v := range values {
			if !slices.Contains(given, v) {
				offers = append(offers, begin+v)
			}
		}
		return offers, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeIDs offers ids for that many arguments. A hub that cannot be asked is nothing to complain
// of in the middle of a line.
func completeIDs(ids func(context.Context, parley.Client) ([]string, error), most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a := &cli.App{Timeout: completionTimeout}
		ctx, cancel := a.WithTimeout(c.Context())
		defer cancel()
		client, err := a.Dial(ctx, "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer client.Close()
		found, _ := ids(ctx, client) // what came in time
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// conversationIDs returns the conversations that the caller sees, the latest first, with their
// titles.
func conversationIDs(ctx context.Context, client parley.Client) (ids []string, err error) {
	p := &parley.ListConversationsParams{Limit: 100}
	for {
		page, err := client.ListConversations(ctx, p)
		if err != nil {
			return ids, err
		}
		for _, c := range page.Conversations {
			about := string(c.Status)
			if c.Title != "" {
				about += ": " + cli.Clean(c.Title)
			}
			ids = append(ids, cobra.CompletionWithDesc(c.ConversationID, about))
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			slices.Reverse(ids)
			return ids, nil
		}
	}
}

// sessionIDs returns the conversations that are sessions.
func sessionIDs(ctx context.Context, client parley.Client) ([]string, error) {
	ids, err := conversationIDs(ctx, client)
	return slices.DeleteFunc(ids, func(id string) bool { return !strings.HasPrefix(id, conversation.SessionPrefix) }), err
}

// approvalIDs returns the pending approvals.
func approvalIDs(ctx context.Context, client parley.Client) (ids []string, err error) {
	p := &parley.ListApprovalsParams{Limit: 1000}
	for {
		page, err := client.ListApprovals(ctx, p)
		if err != nil {
			return ids, err
		}
		for _, a := range page.Approvals {
			ids = append(ids, cobra.CompletionWithDesc(a.ApprovalID, cli.Clean(a.AgentID+" asks: "+a.Title)))
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			return ids, nil
		}
	}
}

// agentNames returns the agents that can be started, with their descriptions.
func agentNames(ctx context.Context, client parley.Client) (ids []string, err error) {
	r, err := client.ListAgents(ctx, &parley.ListAgentsParams{})
	if err != nil {
		return nil, err
	}
	for _, info := range r.Agents {
		about, _, _ := strings.Cut(strings.TrimSpace(info.Description), "\n")
		ids = append(ids, cobra.CompletionWithDesc(info.Name, cli.Clean(about)))
	}
	return ids, nil
}

// tokenIDs returns the tokens that the caller may revoke.
func tokenIDs(ctx context.Context, client parley.Client) (ids []string, err error) {
	p := &parley.ListTokensParams{Limit: 1000}
	for {
		page, err := client.ListTokens(ctx, p)
		if err != nil {
			return ids, err
		}
		for _, t := range page.Tokens {
			ids = append(ids, cobra.CompletionWithDesc(t.TokenID, "speaks as "+cli.Clean(strings.Join(t.Agents, ", "))))
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			return ids, nil
		}
	}
}
