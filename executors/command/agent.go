package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
)

// The limits of a program.
const (
	// MaxLineBytes limits a line of stdout without its line break.
	MaxLineBytes = parley.MaxEventBytes
	// MaxOutputBytes limits stdout in one turn.
	MaxOutputBytes = 8 << 20
	// MaxLines limits the lines of stdout in one turn.
	MaxLines = 10_000
	// MaxFileBytes limits the sum of the files of one message.
	MaxFileBytes = parley.MaxAttachmentBytes
	// StopWait is the time between SIGTERM and SIGKILL. The Grace of executors.Options should be
	// longer.
	StopWait = process.StopWait
)

// Agent runs a program for each turn. It keeps no state between turns, so one value serves any
// number of conversations concurrently.
type Agent struct {
	// Argv is the program and its arguments. A name without a separator is searched in PATH. A
	// relative path is relative to Dir.
	Argv []string
	// Dir is the working directory. If it is empty, it is the current directory of this process.
	Dir string
	// Env are additional variables, each NAME=VALUE. The program also gets PATH, HOME, TZ, LANG and
	// TMPDIR of this process, PARLEY_AGENT, PARLEY_CONVERSATION, PARLEY_TURN, TRACEPARENT if the
	// turn is traced, and those of URL. It gets no other variables.
	Env []string
	// URL is the address of the hub, for programs that call it. The program gets it as PARLEY_URL,
	// with a token for this turn in PARLEY_TOKEN. The client of the turn creates the token. If URL
	// is empty, the program gets neither.
	URL string
	// Processes runs the programs. The default is a shared pool.
	Processes *process.Pool
}

var _ parley.Agent = (*Agent)(nil)

// HandleTurn runs the program and posts its output. Any failure of the program is an error, which
// fails the attempt.
func (a *Agent) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	document, err := encodeDocument(ctx, turn)
	if err != nil {
		return "", err
	}
	ctx, span := startSpan(ctx, a.Argv)
	defer span.End()
	env, err := a.environment(ctx, turn)
	if err != nil {
		span.Fail(parley.ErrorKind(err))
		return "", err
	}
	p, err := start(ctx, a, env, document)
	if err != nil {
		span.Fail(parley.ErrorKind(err))
		return "", err
	}
	s := &delivery{turn: turn, program: p, dir: a.Dir}
	outcome, err := s.deliver(ctx)
	if err != nil {
		p.Stop(err)
	}
	setSpanResult(span, p.Exit(), err)
	return outcome, err
}

// environment returns the variables of the program.
func (a *Agent) environment(ctx context.Context, turn *parley.Turn) ([]string, error) {
	env := append(inherited(), a.Env...)
	env = append(env,
		"PARLEY_AGENT="+turn.AgentID,
		"PARLEY_CONVERSATION="+turn.ConversationID,
		fmt.Sprintf("PARLEY_TURN=%d", turn.Number),
	)
	if t := parley.TraceparentOf(ctx); t != "" {
		env = append(env, traceparent+"="+t)
	}
	if a.URL == "" || turn.ClaimID == "" { // the token belongs to the claim
		return env, nil
	}
	token, err := turn.Client.CreateToken(ctx, &parley.CreateTokenParams{
		AgentID: turn.AgentID,
		Claim:   &parley.ClaimRef{ConversationID: turn.ConversationID, ClaimID: turn.ClaimID},
	})
	if err != nil {
		return nil, fmt.Errorf("create a token for the turn: %w", err)
	}
	return append(env, "PARLEY_URL="+a.URL, "PARLEY_TOKEN="+token.Token), nil
}

// Check reports errors of the agent before a turn: an unknown program, a missing directory, or an
// invalid variable.
func (a *Agent) Check() error {
	for _, v := range a.Env {
		if err := CheckVariable(v); err != nil {
			return err
		}
	}
	if err := checkDir(a.Dir); err != nil {
		return err
	}
	if len(a.Argv) == 0 {
		return errors.New("missing program: expected its name or path")
	}
	_, err := process.Find(a.Dir, a.Argv[0])
	return err
}

// CheckVariable checks that a variable is NAME=VALUE, and that this package does not set the name.
func CheckVariable(v string) error {
	name, _, ok := strings.Cut(v, "=")
	switch {
	case !ok || name == "":
		return fmt.Errorf("environment %q: expected NAME=VALUE", name)
	case strings.ContainsRune(v, 0):
		return fmt.Errorf("environment %q: expected no NUL in it", name)
	case isReserved(name):
		return fmt.Errorf("environment %s: reserved name, which is set for each turn", name)
	}
	return nil
}
