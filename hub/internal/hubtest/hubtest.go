// Package hubtest has the set-up that tests of packages below package hub share: an engine of
// conversations without callers to check. Connect the services under test and start the engine:
//
//	e := hubtest.NewEngine(t, memory.New())
//	e.Connect(hubtest.Parts(service))
//	e.Start()
package hubtest

import (
	"log/slog"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/journal"
)

// NewEngine returns an engine on a journal. It closes the engine, and not the journal, when the test ends.
func NewEngine(t testing.TB, j journal.Journal) *conv.Engine {
	t.Helper()
	e := conv.New(conv.Options{
		Journal: j, Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		MaxLoaded: 10, MaxLoadedBytes: 1 << 20, IdleEvict: time.Minute,
	})
	t.Cleanup(e.Close)
	return e
}

// Parts returns the parts of a hub that allows every request and has no peers.
func Parts(observers ...conv.Observer) conv.Parts {
	return conv.Parts{
		Authorizer: allowAll{}, Observers: observers,
		Guide: func(s *fold.State, id string) parley.Guidance { return s.Guidance(id, false) },
	}
}

type allowAll struct{}

func (allowAll) Authorize(*conv.Request, *fold.State) *conv.Refusal { return nil }
