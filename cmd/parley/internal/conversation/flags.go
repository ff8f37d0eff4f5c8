package conversation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
)

// createFlags are the flags of conversation create.
type createFlags struct {
	as, scenario, id, key             string
	title, policy, moderator, starter string
	workspace                         string
	participants, agents, executors   []string
	limits                            limitFlags
	// given reports whether a flag was set.
	given func(flag string) bool
}

func (f *createFlags) addTo(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.id, "id", "", "id of the conversation (default: made by the hub)")
	flags.StringVar(&f.key, "key", "", "idempotency key (clientRequestId)")
	flags.StringVar(&f.title, "title", "", "title")
	flags.StringArrayVar(&f.participants, "participant", nil, "ID[:KIND[:ROLE]], a participant; the default kind is "+
		"human (repeatable)")
	flags.StringArrayVar(&f.agents, "agent", nil,
		"ID:NAME, the agent for the participant ID (default: the agent called ID; repeatable)")
	flags.StringArrayVar(&f.executors, "executor", nil,
		"ID:PLACE, the place where the agent may run: any, internal (in the hub) or external (default: any; repeatable)")
	flags.StringVar(&f.policy, "policy", "",
		"turn policy: round_robin, open, addressed, moderator, triggers; rules need a file (default: round_robin)")
	flags.StringVar(&f.moderator, "moderator", "", "participant that names the next one; sets the policy to moderator")
	flags.StringVar(&f.starter, "starts-with", "", "participant that has turn 1")
	flags.StringVar(&f.workspace, "workspace", "", "workspace of the conversation, which the token must grant")
	f.limits.addTo(c)
}

// chooseIDs returns the ids of the conversation and of the call. Flags win over a file.
func (f *createFlags) chooseIDs(p *parley.CreateConversationParams) (conversation, request string) {
	return cmp.Or(f.id, p.ConversationID), cmp.Or(f.key, p.ClientRequestID)
}

// apply puts the flags that were given over what a file says.
func (f *createFlags) apply(s *scenario.Scenario) error {
	for _, text := range f.participants {
		if err := f.applyParticipant(s, text); err != nil {
			return err
		}
	}
	for _, text := range f.agents {
		if err := f.setOn(s, "--agent", text, "NAME",
			func(p *parley.Participant, name string) { p.Agent = name }); err != nil {
			return err
		}
	}
	for _, text := range f.executors {
		if err := f.applyExecutor(s, text); err != nil {
			return err
		}
	}
	if err := f.applyPolicy(s); err != nil {
		return err
	}
	if f.workspace != "" && !parley.ValidWorkspace(f.workspace) {
		return exit.Usagef("--workspace %s: expected %s", cli.Clean(f.workspace), cli.WorkspaceForm)
	}
	s.Title, s.StartsWith, s.Workspace = cmp.Or(f.title, s.Title), cmp.Or(f.starter, s.StartsWith),
		cmp.Or(f.workspace, s.Workspace)
	return f.limits.apply(s, f.given)
}

// applyParticipant adds a participant, or says more of one that the file has.
func (f *createFlags) applyParticipant(s *scenario.Scenario, text string) error {
	said, err := parseParticipant(text)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Participants, func(p parley.Participant) bool { return p.ID == said.ID })
	if i < 0 {
		said.Kind = cmp.Or(said.Kind, parley.KindHuman)
		s.Participants = append(s.Participants, said)
		return nil
	}
	p := &s.Participants[i]
	p.Kind, p.Role = cmp.Or(said.Kind, p.Kind), cmp.Or(said.Role, p.Role)
	return nil
}

// parseParticipant reads ID[:KIND[:ROLE]]. Missing parts are empty.
func parseParticipant(s string) (parley.Participant, error) {
	parts := strings.SplitN(s, ":", 3)
	p := parley.Participant{ID: parts[0]}
	if len(parts) > 1 {
		p.Kind = parley.ParticipantKind(parts[1])
	}
	if len(parts) > 2 {
		p.Role = parts[2]
	}
	if !parley.ValidParticipantID(p.ID) || len(parts) > 1 && !p.Kind.Valid() {
		return p, exit.Usagef("--participant %s: expected ID[:human|agent|tool|peer[:ROLE]]", s)
	}
	return p, nil
}

func (f *createFlags) applyExecutor(s *scenario.Scenario, text string) error {
	if _, place, _ := strings.Cut(text, ":"); place == "" || !parley.ExecutorPlace(place).Valid() {
		return exit.Usagef("--executor %s: expected ID:any, ID:internal or ID:external", text)
	}
	return f.setOn(s, "--executor", text, "PLACE",
		func(p *parley.Participant, place string) { p.Executor = parley.ExecutorPlace(place) })
}

// setOn sets something of a participant that is named before a colon.
func (f *createFlags) setOn(s *scenario.Scenario, flag, text, what string,
	set func(p *parley.Participant, value string)) error {
	id, value, _ := strings.Cut(text, ":")
	if id == "" || value == "" {
		return exit.Usagef("%s %s: expected ID:%s", flag, text, what)
	}
	for i := range s.Participants {
		if s.Participants[i].ID == id {
			set(&s.Participants[i], value)
			return nil
		}
	}
	return exit.Usagef("%s %s: there is no participant %s: name it with --participant", flag, text, id)
}

// applyPolicy keeps the rules and the moderator of a file only while the kind stays.
func (f *createFlags) applyPolicy(s *scenario.Scenario) error {
	kind := parley.PolicyKind(f.policy)
	if kind != "" && !slices.Contains(parley.Policies, kind) {
		return exit.Usagef("--policy %s: expected %s", kind, strings.Join(cli.Names(parley.Policies...), ", "))
	}
	if f.moderator != "" {
		if kind = cmp.Or(kind, parley.PolicyModerator); kind != parley.PolicyModerator {
			return exit.Usagef("--moderator goes with --policy moderator, not %s", kind)
		}
	}
	if kind == "" {
		return nil
	}
	if s.Policy == nil || s.Policy.Kind != kind {
		s.Policy = &parley.Policy{Kind: kind}
	}
	s.Policy.Moderator = cmp.Or(f.moderator, s.Policy.Moderator)
	return nil
}
