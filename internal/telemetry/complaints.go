package telemetry

import (
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// everyComplaint is how often a collector that does not listen is complained of.
	everyComplaint = time.Minute
	// maxComplaint bounds what is quoted of its answer.
	maxComplaint = 300
)

// complaints logs what could not be told, not more often than everyComplaint, and that it can be told again.
type complaints struct {
	log     *slog.Logger
	secrets []string // that a collector may have in its answer, and the log may not

	mu   sync.Mutex // guards the fields below
	last time.Time  // of the last line
	held int        // failures since then
	bad  bool       // the last line was of a failure
}

// Handle is told of errors by the otel library.
func (c *complaints) Handle(err error) { c.failed(nil, err) }

// failed is told that something could not be sent to a place; nil: of a failure that has none.
func (c *complaints) failed(to *url.URL, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last.IsZero() && time.Since(c.last) < everyComplaint {
		c.held++
		return
	}
	args := []any{"error", c.quote(to, err)}
	if to != nil {
		args = append(args, "to", hostOf(to))
	}
	if c.held > 0 {
		args = append(args, "failuresSince", c.held)
	}
	c.log.Warn("OpenTelemetry cannot be told; what was to be told is lost, and all else goes on", args...)
	c.last, c.held, c.bad = time.Now(), 0, true
}

// worked is told that something was sent.
func (c *complaints) worked(to *url.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.bad {
		return
	}
	c.log.Info("OpenTelemetry can be told again", "to", hostOf(to), "failuresSince", c.held)
	c.held, c.bad = 0, false
}

// quote gives the text of an error without the path of the place and without secrets, and not too much of it.
func (c *complaints) quote(to *url.URL, err error) string {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	text := strings.ToValidUTF8(err.Error(), "\uFFFD")
	if to != nil {
		text = strings.ReplaceAll(text, to.String(), hostOf(to))
	}
	for _, s := range c.secrets {
		text = strings.ReplaceAll(text, s, "(hidden)")
	}
	if runes := []rune(text); len(runes) > maxComplaint {
		text = string(runes[:maxComplaint]) + "…"
	}
	return text
}
