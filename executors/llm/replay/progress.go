package replay

import (
	"slices"
	"sync"

	"github.com/parleyhub/parley/executors/llm/tool"
)

// progressLog keeps how far a tool says that it is, and passes it on.
type progressLog struct {
	pass func(tool.Progress)

	mu   sync.Mutex // guards the field below
	told []tool.Progress
}

func (l *progressLog) hear(p tool.Progress) {
	l.mu.Lock()
	l.told = append(l.told, p)
	l.mu.Unlock()
	l.pass(p)
}

func (l *progressLog) all() []tool.Progress {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.told)
}
