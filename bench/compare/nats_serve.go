package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	nats "github.com/nats-io/nats-server/v2/server"
)

// serveNATS is the first argument of this program as the child that is the NATS server. It is followed by the port, the directory and whether
// each write is synced.
const serveNATS = "serve-nats"

// runNATS serves until SIGTERM.
func runNATS(args []string) error {
	if len(args) != 3 {
		return errors.New(serveNATS + ": expected a port, a directory, and true or false")
	}
	port, err1 := strconv.Atoi(args[0])
	always, err2 := strconv.ParseBool(args[2])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := nats.NewServer(&nats.Options{
		Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: args[1], SyncAlways: always,
		NoSigs: true, NoLog: true,
		MaxPending:   1 << 30,   // no subscriber is cut for being behind
		PingInterval: time.Hour, // lines at rest need not answer
	})
	if err != nil {
		return err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(startTimeout) {
		return errors.New("NATS takes no connections")
	}
	c := s.JetStreamConfig()
	if c == nil || c.SyncAlways != always {
		return fmt.Errorf("JetStream is set %+v: expected SyncAlways %v", c, always)
	}
	<-ctx.Done()
	return nil
}
