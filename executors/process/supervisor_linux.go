package process

import (
	"encoding/gob"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// killWait is how long a supervisor may take to kill a program. It is then killed itself, so
	// that its watcher kills the program.
	killWait = sweepTime + 5*time.Second
	// watcherWait is how long a watcher may take to kill the rest.
	watcherWait = sweepTime + 5*time.Second
)

// supervisor is a supervisor process from the view of its runner.
type supervisor struct {
	watcher *exec.Cmd
	// leash is closed when the watcher ends, and closing it ends the watcher. A byte makes the
	// watcher continue the supervisor, which may be stopped.
	leash *net.UnixConn
	out   *orders
	link  *net.UnixConn
	// reports is closed after supervisor and watcher ended.
	reports chan report
	letGo   sync.Once

	// idle ends a supervisor that is unused for long. It is guarded by supervisors.mu.
	idle *time.Timer
}

// newSupervisor starts a supervisor. The caller must call listen.
func newSupervisor() (*supervisor, error) {
	keepFiles()
	link, theirLink, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirLink.Close()
	leash, theirLeash, err := socketPair()
	if err != nil {
		link.Close()
		return nil, err
	}
	defer theirLeash.Close()
	s := &supervisor{link: link, leash: leash, out: newOrders(link), reports: make(chan report, 1)}
	s.watcher = &exec.Cmd{
		Path: self, Args: []string{os.Args[0], watcherRole}, Env: ownEnv, Dir: "/",
		Stdin: theirLeash, ExtraFiles: []*os.File{theirLink},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := s.watcher.Start(); err != nil {
		link.Close()
		leash.Close()
		return nil, err
	}
	return s, nil
}

// listen forwards reports until both processes ended.
func (s *supervisor) listen() {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.awaitWatcher()
	}()
	in := gob.NewDecoder(s.link)
	for {
		var r report
		if in.Decode(&r) != nil {
			break // the supervisor ended
		}
		s.reports <- r
	}
	s.abandon()
	<-watched
	s.link.Close()
	close(s.reports)
}

// awaitWatcher waits for the end of the watcher. It then closes the link for writing, so that a
// supervisor that still lives kills its program.
func (s *supervisor) awaitWatcher() {
	_, _ = s.leash.Read(make([]byte, 1)) // returns at the end of the watcher, or at the deadline
	_ = s.watcher.Process.Kill()         // fails if the watcher ended, which is the normal case
	_ = s.watcher.Wait()                 // the state is checked later
	s.leash.Close()
	_ = s.link.CloseWrite()
	_ = s.link.SetReadDeadline(time.Now().Add(killWait))
}

// abandon makes both processes end, together with their program.
func (s *supervisor) abandon() {
	s.letGo.Do(func() {
		_ = s.watcher.Process.Signal(syscall.SIGCONT) // it may be stopped
		_ = s.leash.CloseWrite()
		_ = s.leash.SetReadDeadline(time.Now().Add(watcherWait))
	})
}

// end abandons the supervisor, and waits for its end.
func (s *supervisor) end() {
	s.abandon()
	for range s.reports { // discard further reports
	}
}

// wake continues a supervisor that was stopped.
func (s *supervisor) wake() {
	_ = s.watcher.Process.Signal(syscall.SIGCONT)
	_, _ = s.leash.Write([]byte{0}) // fails if the watcher ended
}
