package rpc

import (
	"time"

	"github.com/parleyhub/parley"
)

const (
	// apartAfter is how long the hub must have lost its journal before its sockets are told: another server of it leads after less.
	apartAfter = 3 * time.Second
	// apartLook is how often it is looked whether it has.
	apartLook = 500 * time.Millisecond
)

// apartReason is why a client that knows another hub is better there.
const apartReason = "the hub does not reach the log that it shares"

// watchJournal tells the sockets of a hub that has lost the journal that it shares with others: whoever only listens there would hear nothing new, and not know it. They are told once
// for each time that it is lost; none can come meanwhile, since admit refuses them.
func (s *Server) watchJournal() {
	ticker := time.NewTicker(apartLook)
	defer ticker.Stop()
	var since time.Time // when it was first found to be lost
	told := false
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		err := s.hub.Apart()
		switch {
		case err == nil:
			since, told = time.Time{}, false
		case since.IsZero():
			since = time.Now()
		case !told && time.Since(since) >= apartAfter:
			told = true
			s.tellApart(err)
		}
	}
}

// tellApart tells all sockets that others serve them better.
func (s *Server) tellApart(why error) {
	sockets := s.all()
	s.log.Warn("the log is out of reach; clients are told to go to other hubs", "sockets", len(sockets), "error", why)
	frame := appendNotification(nil, parley.NotifyClosing, parley.ClosingNotification{Reason: apartReason, Stays: true})
	for _, k := range sockets {
		k.out.add(frame)
	}
}
