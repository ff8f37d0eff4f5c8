package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
)

// What a program is held to.
const (
	// MaxLineBytes bounds one line of stdout, its end not counted.
	MaxLineBytes = parley.MaxEventBytes
	// MaxOutputBytes bounds all of stdout in one turn.
	MaxOutputBytes = 8 << 20
	// MaxLines bounds the lines of stdout in one turn.
	MaxLines = 10_000
	// MaxFileBytes bounds the files that go with one message, together.
	MaxFileBytes = parley.MaxAttachmentBytes
	// StopWait is how long a program has between SIGTERM and SIGKILL. An executor should let its agents go on for longer than that: see Grace of
	// executors.Options.
	StopWait = process.StopWait
)

// Agent runs a program for each turn. It keeps nothing between turns, so one value serves any number of conversations at once.
type Agent struct {
	// Argv is the program and its arguments. A name without a separator is looked for in PATH; a relative path begins at Dir.
	Argv []string
	// Dir is where the program runs; empty, where this process does.
	Dir string
	// Env are further variables, each NAME=VALUE. The program gets these, PATH, HOME, TZ, LANG and TMPDIR of this process, PARLEY_AGENT,
	// PARLEY_CONVERSATION, PARLEY_TURN, TRACEPARENT where the turn is a part of a trace, and what URL brings, and no others.
	Env []string
	// URL is where the hub is, for a program that wants to do more than answer. It comes as PARLEY_URL, with PARLEY_TOKEN: a token for
	// this turn alone, made with the client of the turn. Empty: the program gets neither.
	URL string
	// Processes run the programs; nil, those that all agents of this process share.
	Processes *process.Pool
}

var _ parley.Agent = (*Agent)(nil)

// HandleTurn starts the program and passes on what it says. Everything that is wrong with the program is an error: the attempt has failed.
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
	s := &speech{turn: turn, program: p, dir: a.Dir}
	outcome, err := s.deliver(ctx)
	if err != nil {
		p.Stop(err)
	}
	tellSpan(span, p.Exit(), err)
	return outcome, err
}

// environment gives all variables of the program.
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
	if a.URL == "" || turn.ClaimID == "" { // a token for a turn is one for its claim
		return env, nil
	}
	token, err := turn.Client.CreateToken(ctx, &parley.CreateTokenParams{
		AgentID: turn.AgentID,
		Claim:   &parley.ClaimRef{ConversationID: turn.ConversationID, ClaimID: turn.ClaimID},
	})
	if err != nil {
		return nil, fmt.Errorf("make a token for the turn: %w", err)
	}
	return append(env, "PARLEY_URL="+a.URL, "PARLEY_TOKEN="+token.Token), nil
}

// Check tells what is wrong with the agent before a turn is: no such program, no such directory, a variable that cannot be.
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
		return errors.New("no program is named: expected its name or path")
	}
	_, err := process.Find(a.Dir, a.Argv[0])
	return err
}

// CheckVariable refuses what is no NAME=VALUE, and names that only this package may set.
func CheckVariable(v string) error {
	name, _, ok := strings.Cut(v, "=")
	switch {
	case !ok || name == "":
		return fmt.Errorf("environment %q: expected NAME=VALUE", name)
	case strings.ContainsRune(v, 0):
		return fmt.Errorf("environment %q: expected no NUL in it", name)
	case isReserved(name):
		return fmt.Errorf("environment %s: expected another name: this one is set for each turn", name)
	}
	return nil
}
