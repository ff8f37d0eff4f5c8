package serve

import (
	"cmp"
	"fmt"

	protocol "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley/adapters/a2a"
	"github.com/parleyhub/parley/cmd/parley/internal/cards"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// loadAgents returns the agents that A2A serves: the named agents, and then those of a file.
func loadAgents(names []string, file string) ([]a2a.Agent, error) {
	var agents []a2a.Agent
	for _, name := range names {
		agents = append(agents, a2a.Agent{Name: name, Speaks: name})
	}
	if file == "" {
		return agents, nil
	}
	f, err := cards.Load(file)
	if err != nil {
		return nil, err
	}
	for i := range f.Cards {
		c := &f.Cards[i]
		if hasAgent(agents, c.Name) {
			return nil, exit.Usagef("%s: cards[%d].name: %s is named by itself already", file, i, c.Name)
		}
		agents = append(agents, newAgent(c))
	}
	return agents, nil
}

func newAgent(c *cards.Card) a2a.Agent {
	agent := a2a.Agent{
		Name: c.Name, Title: c.Title, Description: c.Description, Version: c.Version, InputModes: c.InputModes,
		OutputModes: c.OutputModes, Room: c.Room, Speaks: c.Agent,
	}
	for _, s := range c.Skills {
		agent.Skills = append(agent.Skills,
			protocol.AgentSkill{ID: s.ID, Name: cmp.Or(s.Name, s.ID), Description: cmp.Or(s.Description, s.Name, s.ID),
				Tags: s.Tags, Examples: s.Examples})
	}
	if c.Begins != nil {
		agent.Scenario = &a2a.Scenario{Params: *c.Begins.Params(), Seat: c.Seat}
	}
	return agent
}

// checkCards returns the faults of cards that cannot be served.
func checkCards(c *config.Loaded) config.Faults {
	if !c.A2A {
		return nil
	}
	if _, err := loadAgents(c.A2AAgents, c.A2ACards); err != nil {
		return config.Faults{c.Fault("a2aCards", fmt.Sprint(err))}
	}
	return nil
}
