package replay

import (
	"slices"
	"sync"

	"github.com/parleyhub/parley/executors/llm/tool"
)

// progressLog records the progress of a tool and forwards it.
type progressLog struct {
	forward func(tool.Progress)

	mu     sync.Mutex // guards the field below
	events []tool.Progress
}

func (l *progressLog) add(p tool.Progress) {
	l.mu.Lock()
	l.events = append(l.events, p)
	l.mu.Unlock()
	l.forward(p)
}

func (l *progressLog) all() []tool.Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}
