package cli

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/internal/telemetry"
)

const (
	envOTLPEndpoint = "PARLEY_OTLP_ENDPOINT"
	envOTLPContent  = "PARLEY_OTLP_CONTENT"
	// EnvTraceparent names the span that a command is run in, as scripts and CI systems set it.
	EnvTraceparent = "TRACEPARENT"
)

// TelemetryFlags are the flags of programs other than a hub that export traces and metrics.
type TelemetryFlags struct {
	endpoint string
	content  bool
	given    func(flag string) bool // nil: there are no flags
}

func (f *TelemetryFlags) AddTo(c *cobra.Command) {
	f.given = c.Flags().Changed
	c.Flags().StringVar(&f.endpoint, "otlp-endpoint", "", "OpenTelemetry collector for traces and metrics (default: $"+
		envOTLPEndpoint+", else $OTEL_EXPORTER_OTLP_ENDPOINT)")
	c.Flags().BoolVar(&f.content, "otlp-content", false, "export the content of prompts, answers, tool calls and tool "+
		"results to the OpenTelemetry collector too (default: $"+envOTLPContent+")")
}

// Open returns the telemetry of a service and a context whose spans it exports. It returns nil if
// no collector is set.
func (f *TelemetryFlags) Open(ctx context.Context, service string, log *slog.Logger) (context.Context,
	*telemetry.Telemetry, error) {
	content := f.content
	if text := os.Getenv(envOTLPContent); text != "" && (f.given == nil || !f.given("otlp-content")) {
		on, err := strconv.ParseBool(text)
		if err != nil {
			return ctx, nil, exit.Usagef("%s: expected true or false", envOTLPContent)
		}
		content = on
	}
	o := &telemetry.Options{Endpoint: cmp.Or(f.endpoint, os.Getenv(envOTLPEndpoint)), Content: content,
		ServiceName: service, Logger: log}
	t, err := OpenTelemetry(ctx, o)
	return t.Trace(ctx), t, err
}

// OpenTelemetry connects to a collector. It returns nil if none is set.
func OpenTelemetry(ctx context.Context, o *telemetry.Options) (*telemetry.Telemetry, error) {
	o.Version = Version()
	t, err := telemetry.Open(ctx, o)
	if err != nil {
		return nil, exit.WithHint(exit.Usage(err), "docs/guides/telemetry.md says what can be set")
	}
	if where := t.Where(); len(where) > 0 {
		o.Logger.Info("traces and metrics are exported by OTLP", "to", strings.Join(where, ", "))
	}
	return t, nil
}

// InSpan makes a call a part of the trace that the environment names.
func InSpan(ctx context.Context) context.Context {
	return parley.WithTraceparent(ctx, os.Getenv(EnvTraceparent))
}
