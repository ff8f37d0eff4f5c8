package sessions

import (
	"encoding/json"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Agent is an agent from which sessions are started.
type Agent struct {
	Name       string
	Type       parley.AgentType
	Parameters *paramschema.Schema
	Runner     *parley.RunnerRef // nil for an agent of executors, and if no runner meets the demands
	TimeoutMs  int64             // of a command
	MaxClaimMs int64             // of an agent that is no command; 0: the usual one
	Idempotent bool              // a command may run more than once
	Hosted     bool              // an agent of a runner that is no command
	// CheckArguments returns the parameters that cannot be passed to a command; nil for other agents.
	CheckArguments func(parameters json.RawMessage) ([]parley.ValidationError, error)
}

// accept returns the parameters with the defaults of the schema, or a refusal with all faults.
func (a *Agent) accept(parameters json.RawMessage) (json.RawMessage, error) {
	full, err := a.Parameters.Fill(parameters)
	if err != nil {
		return nil, err
	}
	faults, err := a.validate(full)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, &parley.Error{
			Err: parley.ErrParameters, Message: "Parameters do not match agent's parameters_schema",
			Validation: &parley.ValidationFailure{
				AgentName: a.Name, ValidationErrors: faults, ParametersSchema: a.Parameters.Raw(),
			},
		}
	}
	return full, nil
}

func (a *Agent) validate(parameters json.RawMessage) ([]parley.ValidationError, error) {
	faults, err := a.Parameters.Validate(parameters)
	if err != nil || len(faults) > 0 || a.CheckArguments == nil {
		return faults, err
	}
	return a.CheckArguments(parameters)
}

// seat returns the participant as which the agent takes part in a session of caller: its plain name,
// unless caller has that id. Then it also returns the plain name, as the agent of the seat.
func (a *Agent) seat(caller string) (id, agent string) {
	plain := plainName(a.Name)
	if plain == caller {
		return policy.Cut(plain, 58) + ".agent", plain
	}
	return plain, ""
}

// plainName is the name of an agent without its runner.
func plainName(name string) string {
	plain, _, _ := strings.Cut(name, "@")
	return plain
}
