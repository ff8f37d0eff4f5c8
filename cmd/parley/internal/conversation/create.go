package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
)

func newCreateCommand(a *cli.App) *cobra.Command {
	var f createFlags
	c := &cobra.Command{
		Use:   "create [FILE|-]",
		Short: "create a conversation and print its id",
		Long: `create makes a conversation from flags, from a file, or both. Flags win, and can add to a
--participant of the file. The file is a scenario (--scenario), in YAML, or the params of
createConversation, in JSON.

  parley conversation create --participant ann:human --participant bot:agent:assistant --title "first words"
  parley conversation create --scenario triage.yaml --key case-17

The author of the opening message of a scenario has turn 1, and the token must be allowed to speak
as that participant. Repeating a create with the same --key and the same arguments is safe: the
conversation is created once, and its opening sent once.`,
		Args: cobra.MaximumNArgs(1),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVar(&f.scenario, "scenario", "", "FILE of a scenario, or - for stdin")
	f.addTo(c)
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		f.given = c.Flags().Changed
		return createConversation(ctx, a, &f, args)
	})
}

func createConversation(ctx context.Context, a *cli.App, f *createFlags, args []string) error {
	s, p, err := readCreation(a, f, args)
	if err != nil {
		return err
	}
	client, err := a.Dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	author, err := dialAuthor(ctx, a, client, s)
	if err != nil {
		return err
	}
	defer author.Close()
	snap, err := cli.Call(ctx, a, client.CreateConversation, p)
	if err != nil {
		return err
	}
	if err := sendOpening(ctx, a, author, s, snap.ConversationID); err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(snap)
	}
	a.Out.Line(cli.Clean(snap.ConversationID))
	return nil
}

// readCreation merges the file and the flags. Without a scenario the first result has no opening.
func readCreation(a *cli.App, f *createFlags, args []string) (*scenario.Scenario, *parley.CreateConversationParams,
	error) {
	var s scenario.Scenario
	var p parley.CreateConversationParams
	switch {
	case f.given("scenario") && len(args) == 1:
		return nil, nil, exit.Usagef("one file is enough: --scenario, or FILE of params")
	case f.given("scenario"):
		read, err := loadScenario(a, f.scenario)
		if err != nil {
			return nil, nil, ScenarioError(a, err)
		}
		s = *read
	case len(args) == 1:
		if err := readParams(a, args[0], &p); err != nil {
			return nil, nil, err
		}
		s = scenario.Scenario{
			Title: p.Title, Participants: p.Participants, Policy: p.Policy, StartsWith: p.StartsWith, Limits: p.Limits,
			Metadata: p.Metadata, Workspace: p.Workspace,
		}
	}
	if err := f.apply(&s); err != nil {
		return nil, nil, err
	}
	if len(s.Participants) == 0 {
		return nil, nil, exit.Usagef("a conversation needs participants: --participant, --scenario or a FILE")
	}
	if s.Opening != nil { // otherwise the hub reports conflicts, and nothing is half done
		if err := s.Check(); err != nil {
			return nil, nil, exit.Usagef("with these flags the scenario is wrong: %w", err)
		}
	}
	ids := p
	p = *s.Params()
	p.ConversationID, p.ClientRequestID = f.chooseIDs(&ids)
	return &s, &p, nil
}

// dialAuthor returns a client that speaks as the author of the opening. It is called before
// anything is created, so that a token without this right is found first.
func dialAuthor(ctx context.Context, a *cli.App, creator parley.Client, s *scenario.Scenario) (parley.Client, error) {
	if s.Opening == nil || s.Author() == creator.AgentID() {
		return creator, nil
	}
	author, err := a.Dial(ctx, s.Author())
	if err != nil {
		return nil, fmt.Errorf("nothing was created: the opening is to be said as %s: %w", s.Author(), err)
	}
	return author, nil
}

// sendOpening says the opening, if there is one.
func sendOpening(ctx context.Context, a *cli.App, author parley.Client, s *scenario.Scenario, id string) error {
	if s.Opening == nil {
		return nil
	}
	p, err := s.Message(id)
	if err != nil {
		return err
	}
	if _, err = cli.Call(ctx, a, author.SendMessage, p); err != nil {
		err = fmt.Errorf("%s was created, and its opening was not said: %w", id, err)
		return exit.WithHint(err, "say it with 'parley send', or repeat the create if it had a --key")
	}
	return nil
}

// readParams reads one JSON object from a file or, for "-", from stdin.
func readParams(a *cli.App, name string, into any) error {
	data, err := a.ReadFile(name)
	if err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("read %s: expected one JSON object and nothing after it", name)
	}
	return nil
}
