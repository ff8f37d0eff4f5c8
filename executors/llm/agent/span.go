package agent

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// hashes name the configs with which an agent asks its models: see parley.AgentConfigHash.
type hashes struct{ own, children string }

// hashConfigs makes the hashes of the agent's config and of that of its children, as the hub is told of them.
func (a *Agent) hashConfigs() (err error) {
	if a.hashes.own, err = parley.AgentConfigHash(a.blueprint.AgentConfig); err != nil || !a.config.Spawns() {
		return err
	}
	a.hashes.children, err = parley.AgentConfigHash(a.childBlueprint().AgentConfig)
	return err
}

// configHash names the config of this run.
func (r *run) configHash() string {
	if r.child != nil {
		return r.hashes.children
	}
	return r.hashes.own
}

// attributes are told of the spans of the calls of models.
func (r *run) attributes() []parley.Attribute {
	return []parley.Attribute{
		{Key: spannames.AttrGenAIAgentName, Value: r.turn.Agent},
		{Key: spannames.AttrGenAIConversationID, Value: r.turn.ConversationID},
		{Key: spannames.AttrAgentConfigHash, Value: r.configHash()},
	}
}
