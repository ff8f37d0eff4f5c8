package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// received has the events of a peer in order.
type received chan string

func (c received) options() wire.PeerOptions {
	return wire.PeerOptions{
		Notify: func(method string, params json.RawMessage) error {
			c <- method + " " + string(params)
			if method == "bad" {
				return errors.New("bad")
			}
			return nil
		},
		Ended: func(int) { close(c) },
	}
}

// Bytes are unchanged in both directions, and events keep their order.
func TestPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, server, _ := pair(t, nil)
		c := make(received, 10)
		peer := wire.NewPeer(stream, c.options())
		const params, result, event = `{"text":"<b>&\u003c","z":1.0,"a":12345678901234567890}`, `{"z":"<>",` +
			`"a":1e2}`, `{"text":"<b>\u0026","n":1.0}`
		answer, err := peer.Start(t.Context(), "ask", []byte(params), func(r json.RawMessage) {
			c <- "answered " +
				string(r)
		})
		if err != nil {
			t.Fatal(err)
		}
		frame, err := server.Read()
		if want := `{"jsonrpc":"2.0","id":1,"method":"ask","params":` + params + `}`; err != nil || string(frame) != want {
			t.Fatalf("the hub got %s, %v", frame, err)
		}
		var b []byte
		for _, f := range []string{
			`{"jsonrpc":"2.0","method":"event","params":` + event + `}`,
			`{"jsonrpc":"2.0","id":1,"result":` + result + `}`,
			`{"jsonrpc":"2.0","method":"event","params":{}}`,
			`{"jsonrpc":"2.0","id":99,"result":{}}`, // no such request: ignored
		} {
			b = addFrame(b, []byte(f))
		}
		if err := write(server, b); err != nil {
			t.Fatal(err)
		}
		raw, err := answer.Wait(t.Context())
		if err != nil || string(raw) != result {
			t.Errorf("the result is %s, %v", raw, err)
		}
		for _, want := range []string{"event " + event, "answered " + result, "event {}"} {
			if got := <-c; got != want {
				t.Errorf("received %s, expected %s", got, want)
			}
		}
		peer.Close()
		if got, more := <-c; more {
			t.Errorf("received %s, expected the end", got)
		}
		peer.Close()
	})
}

// A refusal is the error of the hub, a wait can be canceled and repeated, and everything ends with
// the connection.
func TestPeerErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, server, _ := pair(t, nil)
		c := make(received, 10)
		peer := wire.NewPeer(stream, c.options())
		start := func() wire.Answer {
			a, err := peer.Start(t.Context(), "ask", []byte(`{}`), func(json.RawMessage) { t.Error("answered") })
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		refused, lost := start(), start()
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := refused.Wait(gone); !errors.Is(err, context.Canceled) {
			t.Errorf("given up: %v", err)
		}
		frame := []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":4090,"message":"wait","data":{"reason":"not_your_turn",` +
			`"retryable":false,"expected":"patience"}}}`)
		if err := server.Send(frame); err != nil {
			t.Fatal(err)
		}
		var e *parley.Error
		if _, err := refused.Wait(t.Context()); !errors.Is(err, parley.ErrNotYourTurn) || !errors.As(err, &e) ||
			e.Expected != "patience" {
			t.Errorf("refused: %v", err)
		}
		frame = []byte(`{"jsonrpc":"2.0","method":"bad","params":{}}`)
		if err := server.Send(frame); err != nil {
			t.Fatal(err)
		}
		if _, err := lost.Wait(t.Context()); !errors.Is(err, wire.ErrBroken) {
			t.Errorf("after the end: %v", err)
		}
		if got := <-c; got != "bad {}" {
			t.Errorf("received %q", got)
		}
		if got, more := <-c; more {
			t.Errorf("received %s, expected the end", got)
		}
		if _, err := peer.Start(t.Context(), "ask", []byte(`{}`), nil); !errors.Is(err, wire.ErrBroken) {
			t.Errorf("a call after the end: %v", err)
		}
	})
}
