package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

type createFlags struct {
	as, id, title, policy, startsWith, key string
	participants                           []string
}

func (a *app) conversationCreateCommand() *cobra.Command {
	var f createFlags
	c := &cobra.Command{
		Use:   "create [FILE|-]",
		Short: "create a conversation and print its id",
		Long: `create makes a conversation from the params of createConversation in a JSON file, from flags, or both: flags win.

  parley conversation create --participant ann:human --participant bot:agent:assistant --title "first words"`,
		Args: cobra.MaximumNArgs(1),
	}
	asFlag(c, &f.as)
	c.Flags().StringVar(&f.id, "id", "", "id of the conversation (default: made by the hub)")
	c.Flags().StringVar(&f.title, "title", "", "title")
	c.Flags().StringVar(&f.policy, "policy", "", "round_robin or open")
	c.Flags().StringVar(&f.startsWith, "starts-with", "", "who has turn 1")
	c.Flags().StringVar(&f.key, "key", "", "idempotency key (clientRequestId)")
	c.Flags().StringArrayVar(&f.participants, "participant", nil, "ID[:KIND[:ROLE]], kind human unless given (repeatable)")
	return a.does(c, func(ctx context.Context, args []string) error { return a.createConversation(ctx, f, args) })
}

func (a *app) createConversation(ctx context.Context, f createFlags, args []string) error {
	var p parley.CreateConversationParams
	if len(args) == 1 {
		if err := a.readParams(args[0], &p); err != nil {
			return err
		}
	}
	if err := f.apply(&p); err != nil {
		return err
	}
	if len(p.Participants) == 0 {
		return usagef("a conversation needs participants: a FILE or --participant")
	}
	client, err := a.dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	snap, err := call(ctx, a, client.CreateConversation, &p)
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		return a.out.json(snap)
	}
	a.out.line(clean(snap.ConversationID))
	return nil
}

// apply puts the flags that were given over the params.
func (f createFlags) apply(p *parley.CreateConversationParams) error {
	for _, s := range f.participants {
		seat, err := parseParticipant(s)
		if err != nil {
			return err
		}
		p.Participants = append(p.Participants, seat)
	}
	if f.policy != "" {
		p.Policy = &parley.Policy{Kind: parley.PolicyKind(f.policy)}
	}
	p.ConversationID = cmp.Or(f.id, p.ConversationID)
	p.Title = cmp.Or(f.title, p.Title)
	p.StartsWith = cmp.Or(f.startsWith, p.StartsWith)
	p.ClientRequestID = cmp.Or(f.key, p.ClientRequestID)
	return nil
}

func parseParticipant(s string) (parley.Participant, error) {
	parts := strings.SplitN(s, ":", 3)
	p := parley.Participant{ID: parts[0], Kind: parley.KindHuman}
	if len(parts) > 1 {
		p.Kind = parley.ParticipantKind(parts[1])
	}
	if len(parts) > 2 {
		p.Role = parts[2]
	}
	if !parley.ValidParticipantID(p.ID) || !p.Kind.Valid() {
		return p, usagef("--participant %s: expected ID[:human|agent|tool|peer[:ROLE]]", s)
	}
	return p, nil
}

// readParams reads one JSON object from a file or, for "-", from stdin.
func (a *app) readParams(name string, into any) error {
	data, err := a.readFile(name)
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

func (a *app) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(a.in)
	}
	return os.ReadFile(name)
}
