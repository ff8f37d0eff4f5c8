// Package process runs programs without a shell, with exactly the given arguments, environment,
// directory and streams. No process of a program is left after it ends.
//
//	func main() {
//		process.Supervise() // before anything else
//		...
//	}
//
//	var pool process.Pool
//	p, err := pool.Start(ctx, &process.Spec{Argv: []string{"python3", "profile.py"}, Stdout: &out})
//	...
//	err = p.Wait()
//
// # Guarantees on Linux if main calls [Supervise]
//
//   - Every process that a program started, directly or indirectly, is dead when [Process.Done] is
//     closed. This includes processes that left the process group or the session, daemons,
//     processes that ignore signals, and processes that fork faster than they are killed. All are
//     stopped with SIGSTOP first, so that none can start another one, and then killed.
//   - The same holds if the process that runs the programs ends, even by SIGKILL. It then takes
//     some milliseconds.
//   - When ctx ends, the process group gets SIGTERM. After [Spec.StopWait] everything is killed.
//   - The output of a program is complete: it is read to its end after the last process that could
//     write is dead.
//   - A program is started at most once for each Start. If that is in doubt, Start returns an
//     error.
//   - A program inherits no file except stdin, stdout and stderr, and no terminal.
//
// Some processes are out of reach: processes of another user (a program that may use sudo), a
// program that kills both processes of its supervisor at once, and work that others do for it (a
// service manager, a container engine). Memory and the number of processes are not limited; only
// the system can do that. A program that kills one of the two supervisor processes fails with
// [ErrSupervisor] and is killed completely. A program that stops them is continued when ctx ends. A
// process that cannot be killed is reported by [ErrLeft], after 3 s if killing it is not permitted,
// otherwise after 15 s. Run such programs in a container.
//
// # Without supervisors
//
// Without Supervise and on other systems, a program is controlled by its process group alone. The
// rest of the group is killed when the program ends. A process that left the group escapes, and may
// keep the output open, which is then read for 1 s longer. On Linux the program itself is killed
// together with the process that runs it. Windows has no groups, so only the program is killed, at
// once. [Enabled] reports whether supervisors are used.
//
// # Implementation
//
// A supervisor is this executable, started again in a separate session, as two processes:
//
//	runner ──leash──▶ watcher ──child──▶ supervisor ──child──▶ program ──▶ ...
//	   └──────────────link────────────────────┘
//
// The supervisor receives orders and files over the link, which is a socket. It starts the program
// and is the parent of all orphans below it (PR_SET_CHILD_SUBREAPER). After the program is gone, it
// has no children left and accepts the next program. Starting a supervisor takes some 20 ms and 8
// MiB. Starting a program with an idle supervisor takes 1.5 times as long as a bare fork and exec.
// The watcher waits until the supervisor dies, or until the runner dies, which closes the leash. It
// then kills all processes that became its children. Both have neither the environment nor any file
// of the runner, and only root can inspect them. They have the umask and the limits of the runner
// at their start.
//
// # Goroutines
//
// A program has one goroutine that follows it, and one for each stream that is not nil. They end
// before Done is closed, except a stream whose reader or writer does not return. A supervisor has
// two goroutines, for which [Pool.Close] waits. Without supervisors, a program has one more. On
// Linux, one goroutine with its own thread then starts all programs and never ends, because the
// kernel kills a program when the thread that started it ends.
package process
