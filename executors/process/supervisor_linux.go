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
	// killWait is how long a supervisor may take to kill a program before it is killed itself, so that its watcher does that.
	killWait = sweepTime + 5*time.Second
	// watcherWait is how long a watcher may take to kill what is left.
	watcherWait = sweepTime + 5*time.Second
)

// supervisor is one, as its runner knows it.
type supervisor struct {
	watcher *exec.Cmd
	// leash ends when the watcher does, and the watcher does soon when it is closed. A byte has it wake the supervisor, which may have been stopped.
	leash *net.UnixConn
	out   *orders
	link  *net.UnixConn
	// reports is closed when supervisor and watcher have ended.
	reports chan report
	letGo   sync.Once

	// idle ends it when it was not used for long. It is guarded by the supervisors that it is one of.
	idle *time.Timer
}

// newSupervisor starts a supervisor. Somebody must call listen then.
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

// listen passes reports on until both processes have ended.
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
			break // it has ended
		}
		s.reports <- r
	}
	s.abandon()
	<-watched
	s.link.Close()
	close(s.reports)
}

// awaitWatcher waits for the end of the watcher. The supervisor, if it lives, is told by the end of its orders then, and kills what it holds.
func (s *supervisor) awaitWatcher() {
	_, _ = s.leash.Read(make([]byte, 1)) // nothing is ever written: it is the end, or it takes too long
	_ = s.watcher.Process.Kill()         // it fails when it has ended, as it should have
	_ = s.watcher.Wait()                 // how is looked at later
	s.leash.Close()
	_ = s.link.CloseWrite()
	_ = s.link.SetReadDeadline(time.Now().Add(killWait))
}

// abandon has both processes end, and all that they hold.
func (s *supervisor) abandon() {
	s.letGo.Do(func() {
		_ = s.watcher.Process.Signal(syscall.SIGCONT) // it may have been stopped
		_ = s.leash.CloseWrite()
		_ = s.leash.SetReadDeadline(time.Now().Add(watcherWait))
	})
}

// end abandons it, and waits until it has ended.
func (s *supervisor) end() {
	s.abandon()
	for range s.reports { // of what is told now there is no use
	}
}

// wake has a supervisor go on that was stopped.
func (s *supervisor) wake() {
	_ = s.watcher.Process.Signal(syscall.SIGCONT)
	_, _ = s.leash.Write([]byte{0}) // it fails when it has ended
}
