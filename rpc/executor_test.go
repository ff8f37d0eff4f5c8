package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// asked is a conversation in which it is an agent's turn: bot's.
const asked = `{"conversationId":%q,"participants":[{"id":"bot","kind":"agent"},{"id":"ann","kind":"human"}]}`

// notified waits for a notification and returns its params.
func (p *peer) notified(method string) string {
	p.t.Helper()
	head := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":`, method)
	frame := p.find("the notification "+method, func(f string) bool { return strings.HasPrefix(f, head) })
	return strings.TrimSuffix(strings.TrimPrefix(frame, head), "}")
}

// claimIn returns the claimId in a text.
func claimIn(t testing.TB, text string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, `"claimId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if !found {
		t.Fatalf("there is no claimId in %s", text)
	}
	return id
}

func (p *peer) register(executor, more string) string {
	p.t.Helper()
	return string(p.must(methods.RegisterExecutor,
		fmt.Sprintf(`{"executorId":%q,"agents":["bot"],"mode":"push"%s}`, executor, more)))
}

// TestLostExecutor: the claims of a lost socket stay active for their grace period. A socket of the
// same executor that registers in time keeps those that it names.
func TestLostExecutor(t *testing.T) {
	for _, back := range []bool{true, false} {
		t.Run(fmt.Sprintf("back %v", back), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				ann, bot := w.as("ann"), w.as("bot")
				bot.register("x", `,"graceMs":3000`)
				ann.create(fmt.Sprintf(asked, "case"))
				claim := claimIn(t, bot.notified(methods.NotifyRequestTurn))
				bot.must(methods.ClaimTurn, fmt.Sprintf(`{"conversationId":"case","claimId":%q}`, claim))
				bot.close()
				time.Sleep(2 * time.Second)
				synctest.Wait()
				again := w.as("bot")
				if back {
					if got := again.register("x", fmt.Sprintf(`,"holding":[%q,"clm_1_other"]`, claim)); got != fmt.Sprintf(
						`{"ok":true,"holding":[%q],"ended":0}`, claim) {
						t.Errorf("registered again: %s", got)
					}
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				last := fmt.Sprintf(`{"conversationId":"case","payload":{"text":"done"},"finality":"turn","claimId":%q}`, claim)
				want := map[bool]string{true: "", false: "claim_lost"}[back]
				if got := parseReply(t, again.call(methods.SendMessage, last)).reason(); got != want {
					t.Errorf("its words after 4 s: %q, want %q", got, want)
				}
				tail := string(ann.must(methods.Tail, `{"conversationId":"case","sinceSeq":1}`))
				if strings.Contains(tail, `"disconnected"`) == back {
					t.Errorf("the log is %s", tail)
				}
			})
		})
	}
}

// TestReplacedExecutor: a socket whose executor has registered on another one gets a notification,
// and a close code that forbids a reconnect.
func TestReplacedExecutor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		one, two := w.as("bot"), w.as("bot")
		one.register("x", "")
		two.register("x", "")
		const replaced = `{"reason":"another connection has registered as this executor"}`
		if got := one.notified(methods.NotifyClosing); got != replaced {
			t.Errorf("notified with %s", got)
		}
		<-one.done
		if code := one.closeCode(); code != 1000 || wire.CloseReplaced != 1000 {
			t.Errorf("closed with %d", code)
		}
		two.register("x", "") // once more on the same socket
		two.must(methods.Ping, `{}`)
		other := w.as("cat") // another caller's executor of that name is another
		other.must(methods.RegisterExecutor, `{"executorId":"x","agents":["cat"]}`)
		two.must(methods.Ping, `{}`)
	})
}

// TestExecutorThatReadsNothing: a socket is cut when its notifications exceed the limit. No socket
// stays open with a gap.
func TestExecutorThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{WriteTimeout: time.Hour})
		ann := w.as("ann")
		deaf := w.idle(bearer(devToken))
		registers := `{"jsonrpc":"2.0","id":1,"method":"registerExecutor","params":{"executorId":"x","agents":["bot"],` +
			`"mode":"push","capacity":10000}}`
		if err := deaf.WriteFrame([]byte(registers)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for n := range 1000 {
			ann.create(fmt.Sprintf(asked, fmt.Sprintf("case-%d", n)))
		}
		synctest.Wait()
		if rpc.CountSockets(w.server) != 2 {
			t.Fatal("the socket was cut though it was asked no more than it can be asked at once")
		}
		windows := 0
		for ; rpc.CountSockets(w.server) == 2 && windows < 10; windows++ {
			time.Sleep(limits.DefaultClaimWindowMs * time.Millisecond)
			synctest.Wait()
		}
		if windows >= 10 {
			t.Error("the socket of an executor that reads nothing was not cut")
		}
		ann.must(methods.Ping, `{}`)
	})
}

// TestMetricsOfClaims: metrics count offers, claims, their ends and their durations.
func TestMetricsOfClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		ann, bot := w.as("ann"), w.as("bot")
		bot.register("x", "")
		for n, end := range []string{
			`sendMessage {"conversationId":"case-0","payload":{"text":"done"},"finality":"turn","claimId":"CLAIM"}`,
			`getConversation {"conversationId":"case-1"}`,
			`releaseClaim {"conversationId":"case-2","outcome":"yield","claimId":"CLAIM"}`,
			`closeConversation {"conversationId":"case-3"}`,
			`releaseClaim {"conversationId":"case-4","outcome":"silent","claimId":"CLAIM"}`, // it is offered again after a rest
		} {
			ann.create(fmt.Sprintf(asked, fmt.Sprintf("case-%d", n)))
			claim := claimIn(t, bot.notified(methods.NotifyRequestTurn))
			time.Sleep(20 * time.Millisecond)
			bot.must(methods.ClaimTurn, fmt.Sprintf(`{"conversationId":"case-%d","claimId":%q}`, n, claim))
			time.Sleep(70 * time.Millisecond)
			method, params, _ := strings.Cut(strings.ReplaceAll(end, "CLAIM", claim), " ")
			by := bot
			if method == methods.CloseConversation {
				by = ann
			}
			by.must(method, params)
		}
		synctest.Wait()
		got := series(t, w.scrape())
		for name, want := range map[string]float64{
			"parley_offers_total": 5, "parley_claims_taken_total": 5, "parley_claims": 1, "parley_executors": 1,
			"parley_conversations_open":                 4,
			`parley_claims_ended_total{reason="final"}`: 1, `parley_claims_ended_total{reason="silent"}`: 1,
			`parley_claims_ended_total{reason="yielded"}`: 1,
			`parley_claims_ended_total{reason="closed"}`:  1, `parley_claims_ended_total{reason="expired"}`: 0,
			"parley_turn_duration_seconds_count": 1, `parley_turn_duration_seconds_bucket{le="0.05"}`: 0,
			`parley_turn_duration_seconds_bucket{le="0.1"}`: 1,
			"parley_claim_wait_seconds_count":               5, `parley_claim_wait_seconds_bucket{le="0.01"}`: 0,
			`parley_claim_wait_seconds_bucket{le="0.025"}`: 5,
		} {
			if got[name] != want {
				t.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
	})
}

// TestClaimsAreWrites: the rates bound claims as other writes.
func TestClaimsAreWrites(t *testing.T) {
	for method, params := range map[string]string{
		methods.RegisterExecutor: `{"executorId":"x","agents":["bot"]}`,
		methods.ClaimTurn:        `{"conversationId":"case","turn":1}`,
		methods.RenewClaim:       `{"conversationId":"case","claimId":"clm_1_x"}`,
		methods.ReleaseClaim:     `{"conversationId":"case","claimId":"clm_1_x","outcome":"yield"}`,
		methods.CancelTurn:       `{"conversationId":"case","turn":1}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, &rpc.Options{Rates: &rpc.Rates{WritesPerSecond: 1, WriteBurst: 2}})
			bot := w.as("bot")
			bot.create(fmt.Sprintf(asked, "case"))
			bot.call(method, params)
			if got := parseReply(t, bot.call(method, params)).reason(); got != "rate_limited" {
				t.Errorf("%s beyond the rate: %q", method, got)
			}
		})
	}
}
