package network

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// dialTimeout bounds a handshake, and authenticate.
const dialTimeout = 2 * time.Minute

// token is what peers of this process show.
var token = hubproc.Token

// peer is one socket, read by one goroutine: as little as can be, for there are many.
type peer struct {
	*hubproc.Caller[told]
	// early are notifications that came while an answer was waited for.
	early []*note
}

// note is a notification.
type note = hubproc.Frame[told]

// told has the checked members of its params.
type told struct {
	SubscriptionID string          `json:"subscriptionId"`
	Seq            int64           `json:"seq"`
	Event          json.RawMessage `json:"event"`
	ClaimID        string          `json:"claimId"`
}

// dial connects and authenticates as someone.
func dial(url, as string, o *wire.DialOptions) (*peer, error) {
	p := &peer{}
	c, err := hubproc.Dial(url, as, p.keep, hubproc.CallerOptions{Token: token, Handshake: o, DialTimeout: dialTimeout})
	if err != nil {
		return nil, err
	}
	p.Caller = c
	return p, nil
}

func (p *peer) keep(n *note) { p.early = append(p.early, n) }

// next returns the next notification.
func (p *peer) next() (*note, error) {
	if len(p.early) > 0 {
		n := p.early[0]
		p.early = p.early[1:]
		return n, nil
	}
	for {
		n, err := p.Read()
		if err != nil || n.Method != "" {
			return n, err
		}
	}
}

// subscribe subscribes from the cursor of h.
func (p *peer) subscribe(conversation string, h *history) (id string, err error) {
	var r parley.SubscribeResult
	err = p.Call(methods.Subscribe, parley.SubscribeParams{ConversationID: conversation, SinceSeq: h.last()}, &r)
	return r.SubscriptionID, err
}

// passes reports whether an error is one that a restart of the hub or a cut brings: the caller
// tries again.
func passes(err error) bool {
	return errors.Is(err, hubproc.ErrGone) || errors.Is(err, parley.ErrUnavailable) ||
		errors.Is(err, parley.ErrOutcomeUnknown) ||
		errors.Is(err, parley.ErrRateLimited) || errors.Is(err, context.DeadlineExceeded)
}
