package agent

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// hashes identify the configs of the agent and of its children. See parley.AgentConfigHash.
type hashes struct{ own, children string }

// hashConfigs computes the hashes of the configs, as registered at the hub.
func (a *Agent) hashConfigs() (err error) {
	if a.hashes.own, err = parley.AgentConfigHash(a.blueprint.AgentConfig); err != nil || !a.config.Spawns() {
		return err
	}
	a.hashes.children, err = parley.AgentConfigHash(a.childBlueprint().AgentConfig)
	return err
}

// configHash identifies the config of this run.
func (r *run) configHash() string {
	if r.child != nil {
		return r.hashes.children
	}
	return r.hashes.own
}

// attributes returns the span attributes of model calls.
func (r *run) attributes() []parley.Attribute {
	return []parley.Attribute{
		{Key: spannames.AttrGenAIAgentName, Value: r.turn.Agent},
		{Key: spannames.AttrGenAIConversationID, Value: r.turn.ConversationID},
		{Key: spannames.AttrAgentConfigHash, Value: r.configHash()},
	}
}
