package sdk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/sdk"
)

// scripted is a hub that lets a test answer each request, with the connection that it came on.
func scripted(
	t *testing.T,
	answer func(conn *wire.Conn, method string, params json.RawMessage) (result string),
) string {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := wire.Accept(w, r, time.Second)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		for {
			frame, err := conn.Read()
			if err != nil {
				return
			}
			var q struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			if err := json.Unmarshal(frame, &q); err != nil {
				t.Error(err)
				return
			}
			if result := answer(conn, q.Method, q.Params); result != "" {
				reply := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)
				if conn.Send(reply) != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// TestClaimUnderWayIsHeld: a claim whose answer was lost with the connection is named by the
// registration that is made again; else the hub would end it.
func TestClaimUnderWayIsHeld(t *testing.T) {
	t.Parallel()
	held := make(chan []string, 8)
	var again atomic.Bool
	url := scripted(t, func(conn *wire.Conn, method string, params json.RawMessage) string {
		switch method {
		case methods.Authenticate:
			return `{"ok":true,"agentId":"a"}`
		case methods.RegisterExecutor:
			var p parley.RegisterExecutorParams
			if err := json.Unmarshal(params, &p); err != nil {
				t.Error(err)
			}
			held <- p.Holding
			return `{"ok":true,"holding":[],"ended":0}`
		case methods.ClaimTurn:
			if !again.Swap(true) {
				conn.Cut()
			}
		}
		return "" // claimTurn stays under way
	})
	c, err := sdk.Dial(t.Context(), url, eager("plt_x_y"))
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{T: t}
	told := s.register(c, asX(), nil)
	told.next()
	if got := <-held; len(got) != 0 {
		t.Errorf("at first it holds %v", got)
	}
	claimed := make(chan struct{})
	go func() {
		defer close(claimed)
		_, _ = c.ClaimTurn(
			t.Context(),
			&parley.ClaimTurnParams{ConversationID: "case", ClaimID: "clm_1_x"},
		) // ends with the client
	}()
	if got := <-held; len(got) != 1 || got[0] != "clm_1_x" {
		t.Errorf("again it holds %v", got)
	}
	told.end()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-claimed
}
