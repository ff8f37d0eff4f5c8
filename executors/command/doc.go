// Package command is the kind of agent that is a program in any language: it is started once for each turn, reads what it needs to know from stdin,
// and says what it has to say on stdout.
//
//	agent := &command.Agent{Argv: []string{"python3", "clinic.py"}}
//
// docs/commands.md is the contract with the program, for who writes one. In short: one JSON document on stdin, JSON lines on stdout, any text on stderr,
// exit code 0.
//
// # Guarantees
//
//   - The program is started without a shell: its arguments arrive as they are.
//   - Its environment is made from nothing: see [Agent.Env]. It inherits no file but stdin, stdout and stderr.
//   - What ends the turn is said only when the program has ended with exit code 0 and everything that it wrote was understood. Whatever else happens makes the
//     attempt a failed one, and what was said before as progress is withdrawn.
//   - What it writes is bounded: [MaxLineBytes], [MaxLines], [MaxOutputBytes]. More than that ends it.
//   - When the context of the turn ends, it gets SIGTERM and, [StopWait] later, SIGKILL. Whatever it has started in its process group is killed when it has
//     ended, in whatever way. A process that has left the group, as with setsid, escapes: that takes a container or a cgroup around the runner.
//   - On Linux the program itself is killed with the process that runs the agent, even when that is killed by SIGKILL.
//
// On Windows only the program itself can be killed, at once and without a warning.
//
// # Goroutines
//
// A turn is one goroutine, the caller's, which alone speaks to the hub. Those that carry stdin, stdout and stderr, and one that waits for the end of the
// program, are awaited before HandleTurn returns. On Linux one more, with a thread of its own, starts all programs and lasts as long as the process: the
// kernel kills a program when the thread that started it ends.
package command
