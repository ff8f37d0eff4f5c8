// Package process runs programs whole: without a shell, with exactly the arguments, the environment, the directory and the streams that are asked for,
// and so that nothing of a program is left when it has ended.
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
// # Guarantees, on Linux and where main calls [Supervise]
//
//   - Every process that a program has started, directly or not, is dead when [Process.Done] is closed: also one that has left the process group or the
//     session, a daemon, one that ignores signals, and one that forks faster than it is killed. They are stopped first (SIGSTOP), so that none can start another
//     meanwhile, and then killed.
//   - The same holds when the process that runs the programs ends by whatever means, SIGKILL included: it takes some milliseconds then.
//   - When ctx ends the program's process group gets SIGTERM. [Spec.StopWait] later all of it is killed.
//   - The output of a program that has ended is whole: it is read to its end after the last process that could write is dead.
//   - A program is started at most once for each Start. Whatever makes that doubtful is an error.
//   - A program inherits no file but stdin, stdout and stderr, and no terminal.
//
// What is not covered: processes of another user (a program that may use sudo), a program that kills both processes of its supervisor at once, what it asks
// others to run (a service manager, a container engine), and how much it takes of memory and processes, which only the system can bound. A program that kills one
// of the two has failed ([ErrSupervisor]) and is dead as a whole; one that stops them is woken when ctx ends. Processes that cannot be killed are told by
// [ErrLeft] after 3 s, such as have not died after 15 s too. What keeps such programs is a container around all of it.
//
// # Elsewhere
//
// Without Supervise and on other systems a program is held by its process group alone. What is in the group is killed when the program has ended; a process that has
// left it escapes, and may hold the output open, which is read 1 s longer then. On Linux the program itself is killed with the process that runs it. On
// Windows there are no groups: the program alone is killed, at once. [Enabled] tells which it is.
//
// # How
//
// A supervisor is this executable, started again in a session of its own, as two processes:
//
//	runner ──leash──▶ watcher ──child──▶ supervisor ──child──▶ program ──▶ ...
//	   └──────────────link────────────────────┘
//
// The supervisor takes orders and files over the link, a socket, starts the program and is the parent of whatever loses its parents below
// (PR_SET_CHILD_SUBREAPER). It has no children left when the program is gone, and then takes the next one: starting a supervisor costs some 20 ms and 8 MiB, starting
// a program through one that waits half as much again as a bare fork and exec. The watcher does nothing until the supervisor dies, or until the runner
// does, which ends the leash; then it kills what has come to it. Neither has anything of the runner's environment or a file of its, and no process of the same
// user but root's may look into them. They have the umask and the limits that the runner had when they were started.
//
// # Goroutines
//
// A program has one that follows it and one for each of its streams that is not nil, which are awaited before Done is closed; a reader or a writer of the caller's
// that does not return is left behind, with its stream. A supervisor has two, which [Pool.Close] waits for. Without supervisors a program has one
// more, and on Linux one, with a thread of its own, starts all programs and lasts as long as the process: the kernel kills a program when the thread
// that started it ends.
package process
