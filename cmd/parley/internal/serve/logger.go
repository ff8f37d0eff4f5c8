package serve

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

// NewLogger writes to stderr: for eyes on a terminal, else one JSON object a line.
func NewLogger(a *cli.App) zerolog.Logger {
	if a.Err.Terminal && a.Format != cli.FormatJSON {
		w := zerolog.ConsoleWriter{Out: a.Err, NoColor: !a.Err.Color, TimeFormat: time.TimeOnly}
		return zerolog.New(w).With().Timestamp().Logger().Level(zerolog.InfoLevel)
	}
	return zerolog.New(a.Err).With().Timestamp().Logger().Level(zerolog.InfoLevel)
}

// hubLogger is logger in the form and of the level that are set.
func hubLogger(a *cli.App, c *config.Loaded) zerolog.Logger {
	level, err := zerolog.ParseLevel(c.LogLevel)
	if err != nil {
		level = zerolog.InfoLevel // which no setting is
	}
	text := c.LogFormat == config.FormatText || c.LogFormat == config.FormatAuto && a.Err.Terminal &&
		a.Format != cli.FormatJSON
	if !text {
		return zerolog.New(a.Err).With().Timestamp().Logger().Level(level)
	}
	w := zerolog.ConsoleWriter{Out: a.Err, NoColor: !a.Err.Color, TimeFormat: time.TimeOnly}
	return zerolog.New(w).With().Timestamp().Logger().Level(level)
}

// randomToken makes the admin token of a hub that lives no longer than its process.
func randomToken() string {
	var b [24]byte
	rand.Read(b[:]) // never fails
	return "plt_dev_" + hex.EncodeToString(b[:])
}
