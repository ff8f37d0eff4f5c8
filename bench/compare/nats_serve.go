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

// serveNATS is the first argument of this program as the child that is a NATS server. It is
// followed by the port, the directory and whether each write is synced; or by a file of settings,
// in which each write is.
const serveNATS = "serve-nats"

// runNATS serves until SIGTERM.
func runNATS(args []string) error {
	o, always, err := natsOptions(args)
	if err != nil {
		return err
	}
	o.NoSigs, o.NoLog = true, true
	o.MaxPending = 1 << 30     // no subscriber is cut for being behind
	o.PingInterval = time.Hour // lines at rest need not answer
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := nats.NewServer(o)
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

// natsOptions parses the arguments, and reports whether each write is synced.
func natsOptions(args []string) (o *nats.Options, always bool, err error) {
	switch len(args) {
	case 1:
		o, err := nats.ProcessConfigFile(args[0])
		return o, true, err
	case 3:
		port, err1 := strconv.Atoi(args[0])
		always, err2 := strconv.ParseBool(args[2])
		return &nats.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: args[1], SyncAlways: always}, always,
			errors.Join(err1, err2)
	}
	return nil, false, errors.New(serveNATS + ": expected a file, or a port, a directory, and true or false")
}
