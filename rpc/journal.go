package rpc

import (
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

const (
	// journalLostAfter is how long the journal must be out of reach before the sockets are notified. A
	// new leader of the journal is elected sooner.
	journalLostAfter = 3 * time.Second
	// journalPeriod is the time between two checks.
	journalPeriod = 500 * time.Millisecond
)

// journalLostReason is why a client with other hubs should change to one of them.
const journalLostReason = "the hub does not reach the log that it shares"

// watchJournal notifies all sockets once for each time that the hub loses a journal that it shares
// with other hubs. A client that only listens would not notice it. There are no new sockets
// meanwhile, because admit refuses them.
func (s *Server) watchJournal() {
	ticker := time.NewTicker(journalPeriod)
	defer ticker.Stop()
	var since time.Time // of the first check that failed
	notified := false
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		err := s.hub.Apart()
		switch {
		case err == nil:
			since, notified = time.Time{}, false
		case since.IsZero():
			since = time.Now()
		case !notified && time.Since(since) >= journalLostAfter:
			notified = true
			s.notifyJournalLost(err)
		}
	}
}

func (s *Server) notifyJournalLost(why error) {
	sockets := s.listSockets()
	s.log.Warn("the log is out of reach; clients are sent to other hubs", "sockets", len(sockets), "error", why)
	n := parley.ClosingNotification{Reason: journalLostReason, Stays: true}
	frame := calls.AppendNotification(nil, methods.NotifyClosing, n)
	for _, k := range sockets {
		k.out.addFrame(frame)
	}
}
