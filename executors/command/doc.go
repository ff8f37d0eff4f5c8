// Package command is the kind of agent that is a program in any language: it is started once for each turn, reads what it needs to know from stdin,
// and says what it has to say on stdout.
//
//	agent := &command.Agent{Argv: []string{"python3", "clinic.py"}}
//
// docs/guides/programs.md is the contract with the program, for who writes one. In short: one JSON document on stdin, JSON lines on stdout, any text on stderr,
// exit code 0.
//
// # Guarantees
//
//   - The program is started without a shell: its arguments arrive as they are.
//   - Its environment is made from nothing: see [Agent.Env]. It inherits no file but stdin, stdout and stderr.
//   - What ends the turn is said only when the program has ended with exit code 0 and everything that it wrote was understood. Whatever else happens makes the
//     attempt a failed one, and what was said before as progress is withdrawn.
//   - What it writes is bounded: [MaxLineBytes], [MaxLines], [MaxOutputBytes]. More than that ends it.
//   - When the context of the turn ends, it gets SIGTERM and, [StopWait] later, SIGKILL. When it has ended, in whatever way, nothing that it has started is
//     left, and neither is when the process that runs the agent is killed: on Linux, if main calls process.Supervise. Package process says what holds elsewhere, and what
//     no program of the same machine can be kept from.
//
// # Goroutines
//
// A turn is one goroutine, the caller's, which alone speaks to the hub, and those of the program in package process, which are awaited before HandleTurn returns.
package command
