package serve

import (
	"fmt"
	"os"
	"sync"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/cmd/parley/internal/files"
)

// auditFile is a file that lines are added to. One that was moved away is left with what it has
// when it is reopened.
type auditFile struct {
	name string
	log  zerolog.Logger

	mu     sync.Mutex // guards the fields below
	file   *os.File
	failed bool // the last line was not written
}

func openAudit(name string, log zerolog.Logger) (*auditFile, error) {
	f, err := appendTo(name)
	if err != nil {
		return nil, err
	}
	return &auditFile{name: name, log: log, file: f}, nil
}

// appendTo opens a regular file, which it creates for its owner alone if it is missing.
func appendTo(name string) (*os.File, error) {
	if files.IsIrregular(name) { // opening a pipe would wait
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	return os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// Write adds a line. After a failure the log has one message until a write succeeds again. The hub
// continues.
func (a *auditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.file.Write(line)
	if err != nil && !a.failed {
		a.log.Error().Err(err).Msg("the audit log cannot be written; lines are lost")
	}
	a.failed = err != nil
	return n, err
}

// reopen continues in the file that has the name now. If it cannot be opened, the old one stays.
func (a *auditFile) reopen() error {
	f, err := appendTo(a.name)
	if err != nil {
		return fmt.Errorf("open the audit log: %w", err)
	}
	a.mu.Lock()
	old := a.file
	a.file = f
	a.mu.Unlock()
	return old.Close()
}

func (a *auditFile) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.file.Close(); err != nil {
		a.log.Error().Err(err).Msg("the audit log did not end well")
	}
}
