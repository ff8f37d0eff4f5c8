package serve

import (
	"context"
	"log/slog"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/internal/telemetry"
)

// hubTelemetry is that of a hub.
func hubTelemetry(ctx context.Context, c *config.Loaded, log *slog.Logger) (*telemetry.Telemetry, error) {
	return cli.OpenTelemetry(ctx, &telemetry.Options{Endpoint: c.OTLPEndpoint, Content: c.OTLPContent, Logger: log})
}
