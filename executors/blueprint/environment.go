package blueprint

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/arguments"
)

// passedOn are the inherited variables, which commands need to find their tools and their language.
var passedOn = []string{"PATH", "HOME", "TZ", "LANG"}

// traceparent is the variable with the trace, and in lower case the member of the metadata of a
// conversation.
const traceparent = "TRACEPARENT"

// Arguments returns the argv, the parameter variables and the stdin of a command for the given
// parameters. It returns ErrParameters with the errors if a parameter cannot be passed on, and
// ErrValidationFailed if the parameters are not an object.
func Arguments(f *File, parameters json.RawMessage) (argv, env []string, stdin []byte, err error) {
	g, wrong, err := arguments.Convert(f.ParamsVia, f.Parameters.Properties(), parameters)
	if err == nil && len(wrong) > 0 {
		err = mismatch(f, wrong)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return append(append([]string{}, f.Argv...), g.Flags...), g.Env, g.Stdin, nil
}

func mismatch(f *File, wrong []parley.ValidationError) error {
	return &parley.Error{
		Err: parley.ErrParameters, Message: "The parameters do not match the agent's parameters_schema",
		Validation: &parley.ValidationFailure{AgentName: f.Name, ValidationErrors: wrong,
			ParametersSchema: f.Parameters.Raw()},
	}
}

// inherited returns the variables of a command from this process and its file.
func (f *File) inherited() []string {
	var env []string
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, v := range f.Env {
		if strings.Contains(v, "=") {
			env = append(env, v)
		} else if value, ok := os.LookupEnv(v); ok {
			env = append(env, v+"="+value)
		}
	}
	return env
}

// environment returns the variables of the command. Of duplicate names, the last one applies. In a
// session the token is derived from the claim; in a seat the hub creates one for the claim.
func (s *session) environment(ctx context.Context, parameters []string) ([]string, error) {
	env := append(s.file.inherited(), parameters...)
	where := "PARLEY_SESSION"
	if s.job.Session == nil {
		where = "PARLEY_CONVERSATION"
	}
	env = append(env, where+"="+s.turn.ConversationID, "PARLEY_AGENT="+s.turn.AgentID)
	if t := s.traceparent(ctx); t != "" {
		env = append(env, traceparent+"="+t)
	}
	if s.o.URL == "" || s.turn.ClaimID == "" { // the token belongs to the claim
		return env, nil
	}
	token := "plc_" + s.turn.ConversationID + "_" + s.turn.ClaimID
	if s.job.Session == nil {
		made, err := s.turn.Client.CreateToken(ctx, &parley.CreateTokenParams{
			AgentID: s.turn.AgentID, Claim: &parley.ClaimRef{ConversationID: s.turn.ConversationID, ClaimID: s.turn.ClaimID},
		})
		if err != nil {
			return nil, fmt.Errorf("create a token for the turn: %w", err)
		}
		token = made.Token
	}
	return append(env, "PARLEY_URL="+s.o.URL, "PARLEY_TOKEN="+token), nil
}

// traceOf returns the traceparent in the metadata of a conversation.
func traceOf(metadata json.RawMessage) string {
	var m map[string]json.RawMessage
	var trace string
	if json.Unmarshal(metadata, &m) != nil || json.Unmarshal(m[strings.ToLower(traceparent)], &trace) != nil {
		return ""
	}
	if !parley.ValidTraceparent(trace) {
		return ""
	}
	return trace
}
