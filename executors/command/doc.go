// Package command runs agents that are programs in any language. The program is started once per
// turn. It reads the conversation from stdin and writes its answer to stdout.
//
//	agent := &command.Agent{Argv: []string{"python3", "clinic.py"}}
//
// docs/guides/programs.md is the contract with the program: one JSON document on stdin, JSON lines on
// stdout, any text on stderr, and exit code 0.
//
// # Guarantees
//
//   - The program is started without a shell, so its arguments are passed on unchanged.
//   - Its environment is defined by [Agent.Env]. It inherits no file except stdin, stdout and
//     stderr.
//   - The message that ends the turn is posted only after the program ended with exit code 0 and
//     all its output was valid. Anything else fails the attempt, and progress messages are
//     withdrawn.
//   - Its output is limited by [MaxLineBytes], [MaxLines] and [MaxOutputBytes]. More output stops
//     the program.
//   - When the context of the turn ends, the program gets SIGTERM and, after [StopWait], SIGKILL.
//     No process of the program is left after it ends, or after the process that runs the agent is
//     killed. This holds on Linux if main calls process.Supervise. Package process describes other
//     systems and the exceptions.
//
// # Goroutines
//
// A turn uses the goroutine of the caller, which alone calls the hub, and those of package process,
// which end before HandleTurn returns.
package command
