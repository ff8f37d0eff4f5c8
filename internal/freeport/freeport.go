// Package freeport finds ports for servers that come back to them.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports from which Low draws: below those that Linux (32768 on) and others (49152 on) give to
// clients, and to listeners that ask for any.
const low, high = 10_240, 32_000

// Low gives n addresses, HOST:PORT on loopback, where nobody listens now. The system gives their
// ports to nobody who has not asked for them by number: a server may give one up and have it again.
// It fails with what net.Listen says when a hundred tries for each were in vain.
func Low(n int) (addresses []string, err error) {
	for tries := 0; len(addresses) < n; tries++ {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(low+rand.IntN(high-low))))
		if err != nil && tries > 100*n {
			return nil, err
		}
		if err == nil {
			defer l.Close() // it cannot be drawn again before all are there
			addresses = append(addresses, l.Addr().String())
		}
	}
	return addresses, nil
}
