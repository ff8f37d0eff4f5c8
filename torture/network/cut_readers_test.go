package network

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/ssetest"
	"github.com/parleyhub/parley/sdk"
)

// reader reads one conversation through the proxy, over any number of connections.
type reader struct {
	name, addr, conversation string
	history                  *history
	waits                    atomic.Int64 // that were answered, for the kinds that wait
}

func (r *reader) url() string { return "ws://" + r.addr + "/rpc" }

// readerKinds are the ways to read. Each reads until ctx ends.
var readerKinds = []struct {
	name string
	read func(ctx context.Context, r *reader) error
}{
	{"sdk", readBySDK},
	{"socket", readBySocket},
	{"stream", readByStream},
	{"wait", readByWaiting},
}

// readBySDK leaves all reconnects to the sdk.
func readBySDK(ctx context.Context, r *reader) error {
	c, err := dialPatiently(ctx, r.url(), "reader")
	if err != nil {
		return err
	}
	defer c.Close()
	for e, err := range c.Events(ctx, r.conversation, 0) {
		if err != nil {
			return err
		}
		r.history.add(e.Seq, e.Raw())
	}
	return fmt.Errorf("the events have ended, and the conversation has not")
}

// dialPatiently waits for a hub that is not there.
func dialPatiently(ctx context.Context, url, as string) (*sdk.Client, error) {
	for {
		c, err := sdk.Dial(ctx, url, &sdk.Options{Token: hubproc.Token, AgentID: as, HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
		if err == nil || !passes(err) || ctx.Err() != nil {
			return c, err
		}
		if err := pause(ctx, retryPause); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// overConnections lets f read on one socket after another. An error of f that a cut does not bring
// ends it.
func overConnections(ctx context.Context, r *reader, f func(p *peer) error) error {
	for ctx.Err() == nil {
		p, err := dial(r.url(), "reader", nil)
		if err == nil {
			stop := context.AfterFunc(ctx, p.Close)
			err = f(p)
			stop()
			p.Close()
		}
		if !passes(err) {
			return err
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readBySocket subscribes on a bare socket: nothing hides an event that comes twice.
func readBySocket(ctx context.Context, r *reader) error {
	return overConnections(ctx, r, func(p *peer) error {
		if _, err := p.subscribe(r.conversation, r.history); err != nil {
			return err
		}
		for {
			n, err := p.next()
			if err != nil {
				return err
			}
			if n.Method == methods.NotifyEvent {
				if err := r.history.take(n.Params.Event); err != nil {
					return err
				}
			}
		}
	})
}

// readByWaiting waits for a change, a minute long if need be, and reads what there is then.
func readByWaiting(ctx context.Context, r *reader) error {
	return overConnections(ctx, r, func(p *peer) error {
		for {
			if err := r.waitAndRead(p); err != nil {
				return err
			}
		}
	})
}

func (r *reader) waitAndRead(p *peer) error {
	since := r.history.last()
	var woken parley.WaitForChangeResult
	err := p.Call(methods.WaitForChange, parley.WaitForChangeParams{ConversationID: r.conversation, SinceSeq: since,
		TimeoutMs: parley.MaxWaitMs}, &woken)
	if err != nil {
		return err
	}
	if woken.TimedOut != (woken.LatestSeq == since) {
		return fmt.Errorf("a wait for more than seq %d: %+v", since, woken)
	}
	r.waits.Add(1)
	for r.history.last() < woken.LatestSeq {
		var page parley.TailResult
		if err := p.Call(methods.Tail, parley.TailParams{ConversationID: r.conversation, SinceSeq: r.history.last()},
			&page); err != nil {
			return err
		}
		if len(page.Events) == 0 {
			return fmt.Errorf("tail after %d: no events, though a wait has told of %d", r.history.last(), woken.LatestSeq)
		}
		for _, e := range page.Events {
			r.history.add(e.Seq, e.Raw())
		}
	}
	return nil
}

// mostOfMessage bounds one message of a stream.
const mostOfMessage = parley.MaxFrameBytes

// readByStream reads server-sent events, and comes back as a browser does: with the id of the last
// event that it had whole.
func readByStream(ctx context.Context, r *reader) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		if err := r.stream(ctx, &client); err != nil {
			return err
		}
		if err := pause(ctx, retryPause); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// stream reads one stream to its end. An error is one that no cut brings.
func (r *reader) stream(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+r.addr+"/conversations/"+r.conversation+"/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+hubproc.Token)
	req.Header.Set("Last-Event-ID", strconv.FormatInt(r.history.last(), 10))
	resp, err := client.Do(req)
	if err != nil {
		return nil // cut, or the hub is down
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusServiceUnavailable:
		return nil
	default:
		return fmt.Errorf("a stream was answered %s", resp.Status)
	}
	events := ssetest.NewReader(resp.Body, mostOfMessage)
	for {
		m, err := events.Next()
		if err != nil {
			return nil
		}
		if m.Name != "" {
			continue
		}
		if err := r.history.take(m.Data); err != nil {
			return err
		}
		if last := strconv.FormatInt(r.history.last(), 10); m.ID != last || !bytes.HasPrefix(m.Data, []byte("{")) {
			return fmt.Errorf("a message with id %q holds seq %s", m.ID, last)
		}
	}
}
