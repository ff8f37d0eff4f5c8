package rpc_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// TestPendingSocketsAreBounded: only sockets without a token are counted.
func TestPendingSocketsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{MaxPending: 2})
		dial := func(header http.Header) (*wire.Stream, error) {
			return wire.DialStream(t.Context(), w.url(), &wire.DialOptions{HTTPClient: w.client(), Header: header})
		}
		shows, ends := w.dial("shows", nil), w.dial("ends", nil)
		synctest.Wait()
		if _, err := dial(nil); !errors.Is(err, parley.ErrUnavailable) {
			t.Errorf("one too many: %v", err)
		}
		resp, err := w.client().Get(w.url()) // no upgrade: it is counted only for a moment
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("one too many: HTTP %d", resp.StatusCode)
		}
		w.with(devToken).must(methods.Ping, `{}`)
		shows.must(methods.Authenticate, `{"token":"dev"}`)
		w.dial("next", nil)
		if _, err := dial(nil); err == nil {
			t.Error("one too many after another had shown its token")
		}
		ends.close()
		synctest.Wait()
		w.dial("next", nil)
		time.Sleep(5 * time.Second) // all that are left are closed
		synctest.Wait()
		for range 3 {
			resp, err := w.client().Get(w.url())
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUpgradeRequired {
				t.Errorf("no upgrade: HTTP %d", resp.StatusCode)
			}
		}
		w.dial("last", nil)
		w.dial("last", nil)
	})
}

// TestPostsAreBounded: requests under way are bounded. The end of one makes room.
func TestPostsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{MaxPosts: 1})
		w.as("alice").create(twoAgents)
		ctx, cancel := context.WithCancel(t.Context())
		body := `{"jsonrpc":"2.0","id":1,"method":"waitForChange","params":{"conversationId":"case","sinceSeq":1,` +
			`"timeoutMs":60000}}`
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = bearer(devToken)
		req.Header.Set("Content-Type", "application/json")
		given := make(chan struct{})
		go func() {
			defer close(given)
			if resp, err := w.client().Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		synctest.Wait()
		ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		if status, _, reply := w.post(bearer(devToken), strings.NewReader(ping)); status != http.StatusServiceUnavailable ||
			!strings.Contains(reply, `"unavailable","retryable":true,"retryAfterMs"`) {
			t.Errorf("one too many: %d %s", status, reply)
		}
		cancel()
		<-given
		synctest.Wait()
		if status, _, reply := w.post(bearer(devToken), strings.NewReader(ping)); status != http.StatusOK {
			t.Errorf("after the other had ended: %d %s", status, reply)
		}
	})
}
