package main

import (
	"testing"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/hub/journal/memory"
)

// startMemory gives a server on a log in memory that is closed at the end of the test.
func startMemory(t *testing.T) *server {
	t.Helper()
	s, err := startServer(serverOptions{journal: memory.New(), addr: "127.0.0.1:0", log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
