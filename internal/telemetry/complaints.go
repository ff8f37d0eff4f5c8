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
	// everyComplaint is the minimum interval between log lines about a failing collector.
	everyComplaint = time.Minute
	// maxComplaint limits the quoted part of its response.
	maxComplaint = 300
)

// complaints logs export failures, at most one per everyComplaint, and the first success after
// them.
type complaints struct {
	log     *slog.Logger
	secrets []string // that a response of the collector may contain, and the log must not

	mu   sync.Mutex // guards the fields below
	last time.Time  // of the last line
	held int        // failures since then
	bad  bool       // the last line reported a failure
}

// Handle receives errors of the otel library.
func (c *complaints) Handle(err error) { c.failed(nil, err) }

// failed records a failed export to an endpoint. A nil endpoint means that it is unknown.
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
	c.log.Warn("the export to OpenTelemetry failed; its data is lost, and everything else continues", args...)
	c.last, c.held, c.bad = time.Now(), 0, true
}

// worked records a successful export.
func (c *complaints) worked(to *url.URL) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.bad {
		return
	}
	c.log.Info("the export to OpenTelemetry works again", "to", hostOf(to), "failuresSince", c.held)
	c.held, c.bad = 0, false
}

// quote returns the shortened text of an error without the path of the endpoint and without
// secrets.
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
