package rpc_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// TestNumbersAtTheirEdges: a number that is too small, too large or invalid is refused with the
// same name over each transport, and never read as another number.
func TestNumbersAtTheirEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"human"}],"policy":{"kind":"open"}}`)
		const ok, params, value, ahead = "", "invalid_params", "validation_failed", "cursor_ahead"
		for _, c := range []struct {
			number              string
			since, limit, timed string // the reasons
		}{
			{"0", ok, value, ok}, {"1", ok, ok, ok}, {"2", ahead, ok, ok}, {"-1", value, value, value}, {"-0", ok, value, ok},
			{"1000000000", ahead, value, ok}, {"9007199254740991", ahead, value, ok},
			{"9007199254740992", params, params, params},
			{"9223372036854775807", params, params, params}, {"9223372036854775808", params, params, params},
			{"18446744073709551617", params, params, params},
			{"1e3", params, params, params}, {"1e999", params, params, params}, {"1.0", params, params, params},
			{"0.5", params, params, params},
			{`"1"`, params, params, params}, {"true", params, params, params}, {"[1]", params, params, params},
			{"{}", params, params, params},
			// these are not JSON
			{"01", "", "", ""}, {"+1", "", "", ""}, {"0x1", "", "", ""}, {"NaN", "", "", ""}, {"Infinity", "", "", ""},
			{"1_0", "", "", ""},
		} {
			isJSON := c.since != "" || c.limit != "" || c.number == "1"
			for name, want := range map[string]string{"sinceSeq": c.since, "limit": c.limit, "timeoutMs": c.timed} {
				method, more := methods.GetUpdates, ""
				if name == "timeoutMs" {
					method, more = methods.WaitForChange, `"sinceSeq":0,`
				}
				body := fmt.Sprintf(`{"conversationId":"case",%s%q:%s}`, more, name, c.number)
				call := fmt.Sprintf(`{"jsonrpc":"2.0","id":"n","method":%q,"params":%s}`, method, body)
				alice.send(call)
				overSocket := alice.find("a reply", func(f string) bool {
					return strings.Contains(f, `"id":"n"`) ||
						strings.Contains(f, `"id":null`)
				})
				_, _, posted := w.post(speaks("alice"), strings.NewReader(call))
				if !isJSON {
					want = "parse_error"
				}
				for door, frame := range map[string]string{"socket": overSocket, "POST": posted} {
					if got := parseReply(t, frame).reason(); got != want {
						t.Errorf("%s %s (%s): %q, want %q: %s", name, c.number, door, got, want, frame)
					}
				}
				path := map[string]string{"timeoutMs": "/wait?sinceSeq=0&timeoutMs=", "limit": "/updates?limit=",
					"sinceSeq": "/updates?sinceSeq="}[name]
				if !isJSON {
					want = params
				}
				got := w.plain(speaks("alice"), "GET", "/conversations/case"+path+url.QueryEscape(c.number), "")
				if reason := got.reason(); reason != want || (want == "") != (got.status == http.StatusOK) {
					t.Errorf("%s %s (plain): %v, want %q", name, c.number, got, want)
				}
			}
		}
		for _, timeout := range []string{"60001", "9007199254740991"} { // is taken as a minute
			began := time.Now()
			got := w.plain(speaks("alice"), "GET", "/conversations/case/wait?sinceSeq=1&timeoutMs="+timeout, "")
			if took := time.Since(began); took != time.Minute || got.status != http.StatusOK {
				t.Errorf("a wait of %s ms takes %v: %v", timeout, took, got)
			}
		}
	})
}

// TestCallsUnderWay: a socket may have 64 calls under way, each with another id. A refused call
// does not affect the others.
func TestCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"human"}],"policy":{"kind":"open"}}`)
		wait := func(id string) {
			alice.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"waitForChange","params":{"conversationId":"case",`+
				`"sinceSeq":1,"timeoutMs":60000}}`, id))
		}
		for i := range limits.MaxInFlight {
			wait(fmt.Sprint(i))
		}
		synctest.Wait()
		wait(`"one more"`)
		if got := parseReply(t, alice.reply(`"one more"`)).reason(); got != "rate_limited" {
			t.Errorf("one more: %q", got)
		}
		if frames := alice.take(); len(frames) != 0 {
			t.Fatalf("a wait was answered before its time: %q", frames)
		}
		w.plain(speaks("alice"), "POST", messages, `{"payload":{"text":"x"},"finality":"none"}`)
		for i := range limits.MaxInFlight {
			if r := parseReply(t, alice.reply(fmt.Sprint(i))); r.Error != nil {
				t.Errorf("wait %d: %s", i, r.reason())
			}
		}
		alice.send(`{"jsonrpc":"2.0","id":"twice","method":"waitForChange","params":{"conversationId":"case","sinceSeq":2,` +
			`"timeoutMs":60000}}`)
		synctest.Wait()
		alice.send(`{"jsonrpc":"2.0","id":"twice","method":"ping"}`)
		if got := parseReply(t, alice.reply(`"twice"`)).reason(); got != "invalid_request" {
			t.Errorf("an id that is under way: %q", got)
		}
		for _, id := range []string{`"` + strings.Repeat("a", 127) + `"`, `"` + strings.Repeat("a", 900_000) + `"`, `null`,
			`1.5`, `[1]`, `{}`, `true`} {
			alice.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
			if got := parseReply(t, alice.reply("null")).reason(); got != "invalid_request" {
				t.Errorf("the id %.20s: %q", id, got)
			}
		}
		alice.must(methods.Ping, `{}`) // the socket is as it was
	})
}
