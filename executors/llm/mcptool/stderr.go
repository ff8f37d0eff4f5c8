package mcptool

import (
	"bytes"
	"log/slog"
	"strings"
)

const (
	maxLine   = 1 << 10   // bytes of a line of stderr that is logged
	maxStderr = 256 << 10 // bytes of stderr of one connection that are logged
)

// lines logs the stderr of a command line by line. It has one writing goroutine.
type lines struct {
	log  *slog.Logger
	hide secrets
	part []byte
	took int
}

// Write never fails.
func (l *lines) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 && l.took <= maxStderr {
		line, rest, whole := bytes.Cut(b, []byte{'\n'})
		l.took += len(b) - len(rest)
		l.part = append(l.part, line[:min(len(line), maxLine-len(l.part))]...)
		b = rest
		if whole {
			l.flush()
		}
	}
	return n, nil
}

func (l *lines) flush() {
	if text := strings.ToValidUTF8(strings.TrimRight(string(l.part), "\r"), "\uFFFD"); text != "" {
		l.log.Info("stderr of an MCP server", "line", l.hide.text(text))
	}
	l.part = l.part[:0]
	if l.took > maxStderr {
		l.log.Warn("reached the limit of stderr of an MCP server; further lines are not logged")
	}
}
