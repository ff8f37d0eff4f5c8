package network

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// The kinds of slow sockets, as many of each.
const (
	crawlHeaders = iota // a request whose headers come a byte a second
	crawlBody           // one with a token, whose body does
	crawlSilent         // a WebSocket that says nothing
	crawlFrame          // one with a token, whose message comes in fragments of a byte
	crawlKinds
)

// crawlConfig is the input of the process of slow sockets. It prints a crawlState when all sockets
// are open, and one for each later input line.
type crawlConfig struct {
	URL   string `json:"url"`
	Token string `json:"token"`
	N     int    `json:"n"`
}

// crawlState is how many of each kind the hub ended, those that say nothing for want of a token.
type crawlState struct {
	Ended [crawlKinds]int `json:"ended"`
}

// crawlPace is the time from one byte to the next, and from one socket to the next at least.
const crawlPace = time.Second

// crawlers keeps slow sockets open.
type crawlers struct {
	addr, token string

	mu    sync.Mutex // guards the field below
	state crawlState
}

func runCrawlers(config []byte, told *bufio.Scanner, say *json.Encoder) error {
	var c crawlConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	all := &crawlers{addr: strings.TrimPrefix(c.URL, "http://"), token: c.Token}
	opened := make(chan error, c.N)
	for i := range c.N {
		go all.crawl(i%crawlKinds, opened)
		if i%64 == 63 { // no more at once than a listener keeps
			for range 64 {
				if err := <-opened; err != nil {
					return err
				}
			}
		}
	}
	for range c.N % 64 {
		if err := <-opened; err != nil {
			return err
		}
	}
	for more := true; more; more = told.Scan() { // to the end of stdin, and this process ends with all of them
		if err := say.Encode(all.now()); err != nil {
			return err
		}
	}
	return nil
}

func (c *crawlers) now() crawlState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

func (c *crawlers) count(kind int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Ended[kind]++
}

// crawl keeps one socket of a kind open until the process ends. opened receives the result of the
// first attempt.
func (c *crawlers) crawl(kind int, opened chan<- error) {
	first := true
	for pace := time.NewTicker(crawlPace); ; <-pace.C { // at once, where the last one has lasted
		conn, err := net.Dial("tcp", c.addr)
		if first {
			first = false
			opened <- err
		}
		if err != nil {
			continue
		}
		said := c.drip(conn, kind)
		conn.Close()
		if kind != crawlSilent || bytes.Contains(said, []byte(noTokenShown)) { // and not because it answers no ping
			c.count(kind)
		}
	}
}

// noTokenShown is what the hub says to a socket that it ends because it has shown no token.
const noTokenShown = "no token was shown in time"

// drip says little until the hub ends the connection, and returns what the hub said.
func (c *crawlers) drip(conn net.Conn, kind int) []byte {
	ended := make(chan []byte, 1)
	go func() {
		said, _ := io.ReadAll(conn) // to its end, whatever that is
		ended <- said
	}()
	begin, drop := c.words(kind)
	tick := time.NewTicker(crawlPace)
	defer tick.Stop()
	_, err := io.WriteString(conn, begin)
	for err == nil {
		select {
		case said := <-ended:
			return said
		case <-tick.C:
			_, err = io.WriteString(conn, drop)
		}
	}
	return <-ended
}

// words are what a socket of a kind says first, and then each second.
func (c *crawlers) words(kind int) (begin, drop string) {
	upgrade := "GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
	bearer := fmt.Sprintf("Authorization: Bearer %s\r\n", c.token)
	switch kind {
	case crawlHeaders:
		return "GET /rpc HTTP/1.1\r\nHost: localhost\r\nX-Long: ", "x"
	case crawlBody:
		return "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + bearer +
			"Content-Length: 100000\r\n\r\n", " "
	case crawlSilent:
		return upgrade + "\r\n", ""
	}
	// Frames of text and of what continues it, of one byte, masked with zeros, none of which is the
	// last.
	return upgrade + bearer + "\r\n\x01\x81\x00\x00\x00\x00{", "\x00\x81\x00\x00\x00\x00 "
}
