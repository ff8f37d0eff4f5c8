package a2a

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
)

const (
	// callTimeout limits calls that need no waiting.
	callTimeout = 30 * time.Second
	// cardFor is how long a fetched card is used.
	cardFor = 5 * time.Minute
)

// Peer is one interface of a remote agent.
type Peer struct {
	Card      *a2a.AgentCard
	Interface *a2a.AgentInterface

	client *a2aclient.Client
}

// Dial returns the client of an interface of [Spoken]. It sends nothing.
func Dial(ctx context.Context, o *Options, card *a2a.AgentCard, i *a2a.AgentInterface) (*Peer, error) {
	rpc := i.ProtocolBinding == a2a.TransportProtocolJSONRPC
	c := httpClient(
		o, &wire{max: MaxResponseBytes, rpc: rpc, old: !rpc && strings.HasPrefix(string(i.ProtocolVersion), "0.")})
	client, err := a2aclient.NewFromEndpoints(ctx, []*a2a.AgentInterface{i},
		a2aclient.WithDefaultsDisabled(),
		a2aclient.WithJSONRPCTransport(c), a2aclient.WithRESTTransport(c),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{Client: c}),
		a2av0.WithRESTTransport(a2av0.RESTTransportConfig{Client: c}),
	)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoInterface, err)
	}
	return &Peer{Card: card, Interface: i, client: client}, nil
}

// streams reports whether the peer offers streaming.
func (p *Peer) streams() bool { return p.Card.Capabilities.Streaming }

// connect returns the peer with its best interface. It fetches the card again if it is old, and
// after the peer was unreachable.
func (a *Agent) connect(ctx context.Context) (*Peer, error) {
	a.mu.Lock()
	p, at := a.peer, a.at
	a.mu.Unlock()
	if p != nil && (a.opts.Card != nil || time.Since(at) < cardFor) {
		return p, nil
	}
	card, all, err := a.card(ctx)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the card has %s", ErrNoInterface, offered(card))
	}
	p, err = Dial(ctx, &a.opts, card, all[0])
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peer, a.at = p, time.Now()
	return p, nil
}

// card returns the card and its supported interfaces. Some peers list their 0.3 interfaces only if
// the request does not ask for 1.0.
func (a *Agent) card(ctx context.Context) (*a2a.AgentCard, []*a2a.AgentInterface, error) {
	if a.opts.Card != nil {
		return a.opts.Card, Spoken(a.opts.Card), nil
	}
	found, err := FetchCard(ctx, &a.opts, string(a2a.Version))
	if err == nil {
		if all := Spoken(found.Card); len(all) > 0 {
			return found.Card, all, nil
		}
	}
	old, oldErr := FetchCard(ctx, &a.opts, "")
	switch {
	case oldErr == nil:
		return old.Card, Spoken(old.Card), nil
	case err == nil:
		return found.Card, nil, nil
	}
	return nil, nil, fmt.Errorf("fetch the card: %w", err)
}

// forget discards the card.
func (a *Agent) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.peer = nil
}

func offered(c *a2a.AgentCard) string {
	var all []string
	for _, i := range c.SupportedInterfaces {
		all = append(all, fmt.Sprintf("%.40s %.20s", i.ProtocolBinding, i.ProtocolVersion))
	}
	return strings.Join(all, ", ")
}

// caught calls the library, which may panic on invalid data of the peer.
func caught[T any](call func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrGarbage, p)
		}
	}()
	result, err = call()
	return result, named(err)
}

// each calls take for the events of a stream, until it returns false or the stream ends.
func each(stream iter.Seq2[a2a.Event, error], take func(a2a.Event) (more bool, err error)) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrGarbage, p)
		}
	}()
	for e, err := range stream {
		if err != nil {
			return named(err)
		}
		more, err := take(e)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// get reads a task.
func (p *Peer) get(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	none := 0
	t, err := caught(func() (*a2a.Task, error) {
		return p.client.GetTask(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: &none})
	})
	switch {
	case err != nil:
		return nil, err
	case t == nil || t.ID != id:
		return nil, ErrForeignTask
	}
	return t, nil
}

// cancel cancels a task, if the peer permits that.
func (p *Peer) cancel(ctx context.Context, id a2a.TaskID) error {
	_, err := caught(func() (*a2a.Task, error) {
		return p.client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
	})
	return err
}

// safeID reports whether an id can be a segment of a path, as in REST.
func safeID(id a2a.TaskID) bool {
	return id != "" && len(id) <= 512 && !strings.ContainsAny(string(id), "/?#%\\ \r\n\t") && id != "." && id != ".."
}
