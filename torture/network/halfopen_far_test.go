package network

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// farConfig is the input of a process of peers that disappear. It prints a farReport when all its
// peers are connected, and then reads until it is killed.
type farConfig struct {
	URL   string `json:"url"`
	HTTP  string `json:"http"`
	Token string `json:"token"`
	N     int    `json:"n"`
	// Silent: its peers have sockets on which nothing goes to and fro; else they are of every kind,
	// and there is an executor.
	Silent bool `json:"silent"`
}

// farReport says how many there are, the executor not counted.
type farReport struct {
	Peers int `json:"peers"`
}

// farKinds are the ways in which a peer may have a connection when its link goes down.
var farKinds = []func(c *farConfig) error{
	func(c *farConfig) error { return farSubscriber(c, deadQuiet) },
	func(c *farConfig) error { return farSubscriber(c, deadBusy) },
	func(c *farConfig) error { return farGet(c, "/conversations/"+deadQuiet+"/events") },
	func(c *farConfig) error { return farGet(c, "/conversations/"+deadBusy+"/events") },
	farWaiter,
	farWaitOverHTTP,
	farSilent,
	func(c *farConfig) error { return farGet(c, "/livez") },
}

func runFarSide(config []byte, told *bufio.Scanner, say *json.Encoder) error {
	var c farConfig
	if err := json.Unmarshal(config, &c); err != nil {
		return err
	}
	token = c.Token
	if err := c.connect(); err != nil {
		return err
	}
	if err := say.Encode(farReport{Peers: c.N}); err != nil {
		return err
	}
	for told.Scan() { // to the end of stdin
	}
	return nil
}

func (c *farConfig) connect() error {
	for i := range c.N {
		kind := farKinds[i%len(farKinds)]
		if c.Silent {
			kind = farSilent
		}
		if err := kind(c); err != nil {
			return fmt.Errorf("peer %d of kind %d: %w", i, i%len(farKinds), err)
		}
	}
	if c.Silent {
		return nil
	}
	if err := farExecutor(c); err != nil {
		return fmt.Errorf("executor: %w", err)
	}
	return nil
}

// drain reads a socket for ever.
func drain(p *peer) {
	for {
		if _, err := p.next(); err != nil {
			return
		}
	}
}

// farSubscriber subscribes and has caught up.
func farSubscriber(c *farConfig, conversation string) error {
	p, err := dial(c.URL, "reader", nil)
	if err != nil {
		return err
	}
	if _, err := p.subscribe(conversation, newHistory(conversation)); err != nil {
		return err
	}
	for {
		n, err := p.next()
		if err != nil {
			return err
		}
		if n.Method == methods.NotifyCaughtUp {
			go drain(p)
			return nil
		}
	}
}

// farSilent has shown its token and nothing else.
func farSilent(c *farConfig) error {
	p, err := dial(c.URL, "reader", nil)
	if err == nil {
		go drain(p)
	}
	return err
}

// farWaiter waits for a change that does not come.
func farWaiter(c *farConfig) error {
	p, err := dial(c.URL, "reader", nil)
	if err != nil {
		return err
	}
	err = p.Ask(methods.WaitForChange, parley.WaitForChangeParams{ConversationID: deadQuiet, SinceSeq: 1, TimeoutMs: parley.MaxWaitMs})
	go drain(p)
	return err
}

// farGet makes an HTTP request on a separate connection. It reads an endless response, and
// otherwise keeps the connection.
func farGet(c *farConfig, path string) error {
	client := http.Client{Transport: &http.Transport{}}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.HTTP+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	if !strings.Contains(path, "/events") {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return err
	}
	body := bufio.NewReader(resp.Body)
	if _, err := body.ReadString('\n'); err != nil { // the stream began
		return err
	}
	go io.Copy(io.Discard, body)
	return nil
}

// farWaitOverHTTP waits over HTTP for a change that does not come. That it does is seen by the
// hub's count of requests.
func farWaitOverHTTP(c *farConfig) error {
	began := make(chan error, 1)
	go func() {
		began <- farGet(c, fmt.Sprintf("/conversations/%s/wait?sinceSeq=1&timeoutMs=%d", deadQuiet, parley.MaxWaitMs))
	}()
	select {
	case err := <-began:
		return fmt.Errorf("a wait over HTTP has ended: %v", err)
	case <-time.After(time.Second): // no event signals its start
		return nil
	}
}

// farExecutor registers, is offered the turn, and takes it.
func farExecutor(c *farConfig) error {
	p, err := dial(c.URL, deadAgent, nil)
	if err != nil {
		return err
	}
	if err := takeTurn(p, "far"); err != nil {
		return err
	}
	go drain(p)
	return nil
}

// takeTurn registers an executor and claims the first turn that it is offered.
func takeTurn(p *peer, id string) error {
	err := p.Call(methods.RegisterExecutor, parley.RegisterExecutorParams{
		ExecutorID: id, Agents: []string{deadAgent}, Mode: parley.ModePush, Capacity: 1, GraceMs: deadGraceMs,
	}, nil)
	if err != nil {
		return err
	}
	for {
		n, err := p.next()
		if err != nil {
			return err
		}
		if n.Method == methods.NotifyRequestTurn {
			return p.Call(methods.ClaimTurn, parley.ClaimTurnParams{ConversationID: deadTurns, ClaimID: n.Params.ClaimID}, nil)
		}
	}
}
