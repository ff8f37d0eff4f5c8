package rpc_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// raw connects with the WebSocket library itself, for what a Stream does not do.
func (w *world) raw(header http.Header) *websocket.Conn {
	w.t.Helper()
	c, _, err := websocket.Dial(context.Background(), w.url(),
		&websocket.DialOptions{HTTPClient: w.client(), HTTPHeader: header})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.CloseNow() })
	return c
}

// idle is a socket of which nothing is read.
func (w *world) idle(header http.Header) *wire.Stream {
	w.t.Helper()
	s, err := wire.DialStream(context.Background(), w.url(),
		&wire.DialOptions{HTTPClient: w.client(), Header: header, WriteTimeout: time.Hour})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

// endOf reads to the end of a socket and returns its close code.
func endOf(c *websocket.Conn) int {
	for {
		if _, _, err := c.Read(context.Background()); err != nil {
			return int(websocket.CloseStatus(err))
		}
	}
}

func TestFramesThatEndTheSocket(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		run := func(t *testing.T, open func(testing.TB, *rpc.Options) *world) {
			w := open(t, nil)
			binaryFrame := w.raw(bearer(devToken))
			if err := binaryFrame.Write(t.Context(), websocket.MessageBinary,
				[]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
				t.Fatal(err)
			}
			if code := endOf(binaryFrame); code != wire.CloseUnsupported {
				t.Errorf("a binary frame: close code %d", code)
			}
			ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
			large := w.raw(bearer(devToken))
			fits := ping + strings.Repeat(" ", parley.MaxFrameBytes-len(ping))
			if err := large.Write(t.Context(), websocket.MessageText, []byte(fits)); err != nil {
				t.Fatal(err)
			}
			if _, reply, err := large.Read(t.Context()); err != nil || !strings.Contains(string(reply), "nowMs") {
				t.Errorf("a frame of exactly 1 MiB: %s %v", reply, err)
			}
			writing := make(chan struct{})
			go func() { // it may never get rid of all of it
				defer close(writing)
				_ = large.Write(context.Background(), websocket.MessageText, []byte(fits+strings.Repeat(" ", 1<<20)))
			}()
			if code := endOf(large); code != wire.CloseTooBig {
				t.Errorf("a frame of 2 MiB: close code %d", code)
			}
			large.CloseNow()
			<-writing
		}
		t.Run(fmt.Sprintf("tcp %v", tcp), func(t *testing.T) {
			if tcp {
				run(t, newLoopbackWorld)
			} else {
				synctest.Test(t, func(t *testing.T) { run(t, newWorld) })
			}
		})
	}
}

// TestHugeHeader: a frame that announces a GiB ends its socket after more than a MiB, and costs no
// more memory than that.
func TestHugeHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		conn, err := w.transport.DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer %s\r\n\r\n", devToken)
		r := bufio.NewReader(conn)
		for line := ""; line != "\r\n"; {
			if line, err = r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		header := binary.BigEndian.AppendUint64([]byte{0x81, 0x80 | 127}, 1<<30)
		header = append(header, 0, 0, 0, 0) // the mask
		go func() {
			_, _ = conn.Write(append(header, make([]byte, parley.MaxFrameBytes+1)...)) // the hub may go first
		}()
		var frame [4]byte
		if _, err := io.ReadFull(r, frame[:]); err != nil || frame[0] != 0x88 || binary.BigEndian.Uint16(frame[2:]) != 1009 {
			t.Errorf("got % x, %v; want a close frame with 1009", frame, err)
		}
	})
}

// TestSlowReader: a subscriber that reads nothing is closed within 10 s and costs bounded memory.
// The others get everything at once.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		writer, reader := w.as("alice"), w.as("bob")
		writer.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"},{"id":"bob","kind":"peer"}]}`)
		slow := w.idle(bearer(devToken))
		subscribe := `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"conversationId":"case"}}`
		if err := slow.WriteFrame([]byte(subscribe)); err != nil {
			t.Fatal(err)
		}
		reader.must(methods.Subscribe, `{"conversationId":"case"}`)
		begin := time.Now()
		const messages = 40
		text := strings.Repeat("a", 100<<10)
		for range messages {
			writer.must(methods.SendMessage, fmt.Sprintf(
				`{"conversationId":"case","payload":{"text":%q},"finality":"none"}`, text))
		}
		for i := range messages {
			reader.find("an event", func(f string) bool { return strings.Contains(f, fmt.Sprintf(`"event":{"seq":%d,`, i+2)) })
		}
		if waited := time.Since(begin); waited != 0 {
			t.Errorf("the other reader waited %v", waited)
		}
		time.Sleep(10*time.Second + time.Millisecond)
		synctest.Wait()
		if n := rpc.CountSockets(w.server); n != 2 {
			t.Errorf("%d sockets after 10 s; the slow one should be gone", n)
		}
		writer.must(methods.Ping, `{}`)
	})
}

// TestDeafPeer: the hub stops reading from a peer that sends and never reads, so such a peer costs
// bounded memory.
func TestDeafPeer(t *testing.T) {
	for name, frame := range map[string]string{
		"garbage": "x", "calls": `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		"writes": `{"jsonrpc":"2.0","id":1,"method":"sendNote","params":{"conversationId":"none","payload":{"schema":"s",` +
			`"data":1}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				deaf := w.idle(bearer(devToken))
				sent := make(chan int, 1)
				go func() {
					n := 0
					for deaf.WriteFrame([]byte(frame)) == nil {
						n++
					}
					sent <- n
				}()
				synctest.Wait()
				time.Sleep(10*time.Second + time.Millisecond)
				synctest.Wait()
				select {
				case n := <-sent:
					if replies := n * 120; replies > 2<<20 {
						t.Errorf("the hub took %d frames of which it could not answer one", n)
					}
				default:
					t.Error("the peer is still there after 10 s")
				}
			})
		})
	}
}

// TestDeadPeer: a peer that answers no ping is disconnected within 30 s; one that does stays.
func TestDeadPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.idle(bearer(devToken)) // no goroutine reads it, so it sends no pong
		alive := w.as("alice")
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if n := rpc.CountSockets(w.server); n != 2 {
			t.Errorf("%d sockets after 15 s, want 2", n)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if n := rpc.CountSockets(w.server); n != 1 {
			t.Errorf("%d sockets after 30 s, want 1", n)
		}
		time.Sleep(time.Hour)
		alive.must(methods.Ping, `{}`)
	})
}

// TestTokenEnds: a socket ends with its token, unless it has shown a new one.
func TestTokenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		admin := w.as("admin")
		short, long := admin.token(`{"agentId":"alice","expiresInMs":60000}`),
			admin.token(`{"agentId":"alice","expiresInMs":120000}`)
		ends, refreshed := w.with(short), w.with(short)
		waiting := ends.start(methods.Ping, `{}`)
		ends.reply(waiting)
		time.Sleep(59 * time.Second)
		refreshed.must(methods.Authenticate, fmt.Sprintf(`{"token":%q}`, long))
		ends.must(methods.Ping, `{}`)
		time.Sleep(time.Second)
		synctest.Wait()
		<-ends.done
		if ends.closeCode() != wire.CloseUnauthenticated {
			t.Errorf("close code %d at the end of the token", ends.closeCode())
		}
		refreshed.must(methods.Ping, `{}`)
		if got := parseReply(t, refreshed.call(methods.Authenticate,
			fmt.Sprintf(`{"token":%q,"agentId":"bob"}`, devToken))); got.reason() != "forbidden" {
			t.Errorf("another id on the same socket: %q", got.reason())
		}
		time.Sleep(time.Minute)
		<-refreshed.done
		if refreshed.closeCode() != wire.CloseUnauthenticated {
			t.Errorf("close code %d at the end of the fresh token", refreshed.closeCode())
		}
	})
}

// TestGoodbyeIsHeard: frames that are still written to a closing socket do not cut off the close
// frame.
func TestGoodbyeIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		writer := w.as("alice")
		token := writer.token(`{"agentId":"bob","expiresInMs":10000}`)
		writer.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"},{"id":"bob","kind":"peer"}]}`)
		late := w.idle(bearer(token)) // reads, and so says goodbye too, later than the next event
		if err := late.WriteFrame([]byte(
			`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"conversationId":"case"}}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		writer.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"a"},"finality":"none"}`)
		synctest.Wait()
		if n := rpc.CountSockets(w.server); n != 2 {
			t.Errorf("%d sockets; one is to wait for the peer's goodbye", n)
		}
		for {
			if _, err := late.ReadFrame(nil); err != nil {
				if code := wire.CloseCode(err); code != wire.CloseUnauthenticated {
					t.Errorf("close code %d: %v", code, err)
				}
				return
			}
		}
	})
}

// TestAuthTimeout: a socket without a token is closed after 5 s, for any other frames.
func TestAuthTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := w.dial("nobody", nil)
		begin := time.Now()
		for range 4 {
			time.Sleep(time.Second)
			p.call(methods.Ping, `{}`)
		}
		<-p.done
		if waited := time.Since(begin); waited != 5*time.Second || p.closeCode() != wire.CloseUnauthenticated {
			t.Errorf("closed with %d after %v", p.closeCode(), waited)
		}
	})
}

// TestPanic: a call whose handler panics is answered, and the socket stays open.
func TestPanic(t *testing.T) {
	for _, method := range []string{methods.Ping, methods.Tail} { // on the reading goroutine, and on its own
		t.Run(method, func(t *testing.T) {
			defer rpc.ReplaceMethod(method, func() { panic("a bug") })()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				p := w.as("alice")
				if got := parseReply(t, p.call(method, `{}`)); got.reason() != "internal" ||
					strings.Contains(got.Error.Message, "bug") {
					t.Errorf("the reply is %+v", got.Error)
				}
				p.must(methods.ListConversations, `{}`)
				if status, _, reply := w.post(bearer(devToken),
					strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)); status != 500 {
					t.Errorf("over HTTP: %d %s", status, reply)
				}
			})
		})
	}
}

// TestManySubscriptions: a socket has at most 1000. The end of one makes room.
func TestManySubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		p := w.as("alice")
		p.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"}]}`)
		for range limits.MaxSubscriptions {
			p.must(methods.Subscribe, `{"conversationId":"case","sinceSeq":1}`)
		}
		if got := parseReply(t, p.call(methods.Subscribe, `{"conversationId":"case"}`)); got.reason() != "rate_limited" {
			t.Errorf("one too many: %+v", got.Error)
		}
		p.must(methods.Unsubscribe, `{"subscriptionId":"sub_500"}`)
		p.must(methods.Subscribe, `{"conversationId":"case","sinceSeq":1}`)
	})
}

// TestSecretsAreNotLogged: for any frames, no token is in the log.
func TestSecretsAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		w := newWorld(t, &rpc.Options{Logger: slog.New(slog.NewTextHandler(&log,
			&slog.HandlerOptions{Level: slog.LevelDebug}))})
		token := w.as("admin").token(`{"agentId":"alice"}`)
		p := w.dial("alice", nil)
		p.call(methods.Authenticate, fmt.Sprintf(`{"token":"%sx"}`, token))
		p.call(methods.Authenticate, fmt.Sprintf(`{"token":%q,"agentId":"bob"}`, token))
		p.call(methods.Authenticate, fmt.Sprintf(`{"token":%q,"clientName":"a\nb"}`, token))
		w.post(bearer(token+"x"), strings.NewReader(`{}`))
		p.close()
		synctest.Wait()
		w.server.Shutdown(t.Context())
		if strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "authenticated") {
			t.Errorf("the log:\n%s", log.String())
		}
		if strings.Contains(log.String(), "client=a\n") {
			t.Error("a client's name breaks a line of the log")
		}
	})
}

// TestShutdownCutsWhatDoesNotEnd: a peer that answers nothing delays the end no longer than ctx
// allows.
func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		stuck := w.idle(bearer(devToken))
		if err := stuck.WriteFrame([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := w.server.Shutdown(ctx); err == nil || time.Since(begin) != time.Second {
			t.Errorf("shut down after %v: %v", time.Since(begin), err)
		}
		if _, err := wire.DialStream(t.Context(), w.url(), &wire.DialOptions{HTTPClient: w.client()}); err == nil {
			t.Error("a socket was opened after the end")
		}
	})
}
