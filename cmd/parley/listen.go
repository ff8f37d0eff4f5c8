package main

import (
	"context"
	"net"
	"time"
)

// A peer whose machine or network is gone says nothing, and what is written to it lies in the system's buffers. Sockets are pinged (rpc); a stream of
// server-sent events, whose comments nobody answers, and a wait over HTTP have only TCP to tell. So a connection ends on which for deadAfter nothing was
// acknowledged of what was sent, or no answer came to keep-alives, which begin after aliveAfter of silence: with the 15 s between two comments that is within the
// 30 s that the protocol gives. A peer that is there but reads nothing acknowledges nothing either once its buffers are full; its writes end in 10 s.
const (
	deadAfter  = 12 * time.Second
	aliveAfter = 8 * time.Second
	aliveEvery = 4 * time.Second
	aliveCount = 3
)

// listenTCP listens for connections that end when their peer is gone.
func listenTCP(addr string) (net.Listener, error) {
	c := net.ListenConfig{
		Control:         endsUnacknowledged,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: aliveAfter, Interval: aliveEvery, Count: aliveCount},
	}
	return c.Listen(context.Background(), "tcp", addr)
}
