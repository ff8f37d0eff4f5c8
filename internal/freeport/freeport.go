// Package freeport finds ports for servers that stop and start again on the same port.
package freeport

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// Low draws ports below the ephemeral range, which starts at 32768 on Linux and at 49152 elsewhere.
const low, high = 10_240, 32_000

// Low returns n addresses, HOST:PORT on loopback, without a listener. The system assigns these
// ports only to programs that request them by number, so a server can release its port and listen
// on it again. If a hundred attempts for a port fail, Low returns the error of net.Listen.
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
