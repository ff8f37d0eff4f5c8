package timetable_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/timetable"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// world is a hub in a synctest bubble that begins at 2000-01-01T00:00:00Z, with a conversation of
// clock and bot.
type world struct {
	t            *testing.T
	client       parley.Client
	admin        parley.Client
	conversation string
}

func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		h, err := hub.Open(j, nil)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{t: t, client: h.Client(h.LocalPrincipal("clock")),
			admin: h.Client(h.LocalPrincipal("admin", parley.ScopeAdmin))}
		snap, err := w.admin.CreateConversation(w.t.Context(),
			&parley.CreateConversationParams{Participants: []parley.Participant{
				{ID: "clock", Kind: parley.KindPeer}, {ID: "bot", Kind: parley.KindAgent},
			}})
		if err != nil {
			t.Fatal(err)
		}
		w.conversation = snap.ConversationID
		test(w)
		_, _ = w.client.Close(), w.admin.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// entry returns a valid entry.
func (w *world) entry() timetable.Entry {
	return timetable.Entry{Name: "report", Cron: "30 * * * *", Conversation: w.conversation, Client: w.client,
		Schema: "due.v1", Tags: []string{"cron"}}
}

// runs runs a timetable for a duration.
func (w *world) runs(d time.Duration, entries ...timetable.Entry) {
	w.t.Helper()
	table, err := timetable.New(&timetable.Options{Entries: entries})
	if err != nil {
		w.t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), d)
	defer cancel()
	go func() { <-ctx.Done() }() // keeps the time running after every entry ended
	table.Run(ctx)
	<-ctx.Done()
}

// expect compares the keys and times of the notes with a list.
func (w *world) expect(what string, want ...string) {
	w.t.Helper()
	r, err := w.admin.Tail(w.t.Context(), &parley.TailParams{ConversationID: w.conversation, Limit: parley.MaxPage})
	if err != nil {
		w.t.Fatal(err)
	}
	var got []string
	for _, e := range r.Events {
		if s, err := e.System(); err == nil && s.Kind == parley.KindNote {
			got = append(got, e.ClientRequestID+" "+time.UnixMilli(int64(e.At)).UTC().Format("02T15:04"))
		}
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("%s: %s, expected %s", what, strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

// Each due time is posted once with the content of the entry.
func TestDueTimesArePosted(t *testing.T) {
	inWorld(t, func(w *world) {
		w.runs(3*time.Hour, w.entry())
		w.expect("three hours", "report@2000-01-01T00:30:00Z 01T00:30", "report@2000-01-01T01:30:00Z 01T01:30",
			"report@2000-01-01T02:30:00Z 01T02:30")
		r, err := w.admin.Tail(w.t.Context(), &parley.TailParams{ConversationID: w.conversation, SinceSeq: 1, Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		e := r.Events[0]
		if s, _ := e.System(); e.From != "clock" || s.Schema != "due.v1" || !slices.Equal(s.Tags, []string{"cron"}) ||
			string(s.Data) != `{"due":"2000-01-01T00:30:00Z"}` {
			t.Errorf("%+v from %s", s, e.From)
		}
	})
}

// Two concurrent timetables, and one after the other within a due minute, post no due time twice,
// also with another content.
func TestRestarts(t *testing.T) {
	inWorld(t, func(w *world) {
		e := w.entry()
		e.CatchUp = time.Hour
		go w.runs(90*time.Minute, e)
		w.runs(45*time.Minute, e)
		e.Data = json.RawMessage(`{"other":"words"}`)
		w.runs(20*time.Minute, e) // it catches up with posted times
		w.runs(60*time.Minute, e)
		w.expect("restarts", "report@1999-12-31T23:30:00Z 01T00:00", "report@2000-01-01T00:30:00Z 01T00:30",
			"report@2000-01-01T01:30:00Z 01T01:30")
	})
}

// Of missed due times, the last one is posted if the entry catches up, and none if it does not or
// that is too long ago.
func TestMissed(t *testing.T) {
	inWorld(t, func(w *world) {
		plain, near, far := w.entry(), w.entry(), w.entry()
		plain.Name, near.Name, far.Name = "plain", "near", "far"
		near.CatchUp, far.CatchUp = 10*time.Minute, 24*time.Hour
		time.Sleep(5*time.Hour + 50*time.Minute) // like a hub that was down
		w.runs(time.Minute, plain, near, far)
		w.expect("after five hours", "far@2000-01-01T05:30:00Z 01T05:50")
	})
}

// An entry follows the clock of its time zone, also in summer. In a repeated hour it is due once,
// unless it is hourly.
func TestClockOfAPlace(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	inWorld(t, func(w *world) {
		e := w.entry()
		e.Cron, e.Timezone = "0 9 26,27 3 *", "Europe/Berlin" // summer time begins on March 26th, 2000
		e.Name = "spring"
		autumn := w.entry()
		autumn.Name, autumn.Cron, autumn.Timezone = "autumn", "30 2 29 10 *", "Europe/Berlin" // 02:30 occurs twice
		hourly := autumn
		hourly.Name, hourly.Cron = "hourly", "15 * 29 10 *"
		w.runs(302*24*time.Hour, e, autumn)
		w.expect("until October 29th", "spring@2000-03-26T07:00:00Z 26T07:00", "spring@2000-03-27T07:00:00Z 27T07:00")
		w.runs(2*time.Hour, autumn, hourly)
		w.expect("when clocks are put back", "spring@2000-03-26T07:00:00Z 26T07:00", "spring@2000-03-27T07:00:00Z 27T07:00",
			"hourly@2000-10-29T00:15:00Z 29T00:15", "autumn@2000-10-29T00:30:00Z 29T00:30", "hourly@2000-10-29T01:15:00Z "+
				"29T01:15")
	})
}

// refusing is a client that fails until a time.
type refusing struct {
	parley.Client
	err   error
	until time.Time
	calls atomic.Int64
}

func (c *refusing) SendNote(ctx context.Context, p *parley.SendNoteParams) (*parley.SeqResult, error) {
	c.calls.Add(1)
	if time.Now().Before(c.until) {
		return nil, c.err
	}
	return c.Client.SendNote(ctx, p)
}

// A note is retried until the next one is due, which is then the only one.
func TestTriedAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		c := &refusing{Client: w.client, err: parley.Refuse(parley.ErrUnavailable, "", ""),
			until: time.Now().Add(2*time.Hour + 10*time.Minute)}
		e := w.entry()
		e.Client = c
		w.runs(3*time.Hour, e)
		w.expect("unavailable", "report@2000-01-01T01:30:00Z 01T02:10", "report@2000-01-01T02:30:00Z 01T02:30")
		if n := c.calls.Load(); n < 100 || n > 120 {
			t.Errorf("%d calls, expected one a minute", n)
		}
	})
}

// A permanent error is not retried, but the next due time is posted.
func TestRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		c := &refusing{Client: w.client, err: parley.Refuse(parley.ErrNotFound, "", ""), until: time.Now().Add(time.Hour)}
		e := w.entry()
		e.Client = c
		w.runs(2*time.Hour, e)
		w.expect("not found", "report@2000-01-01T01:30:00Z 01T01:30")
		if n := c.calls.Load(); n != 2 {
			t.Errorf("%d calls, expected 2", n)
		}
	})
}

// An entry ends when its conversation is closed, and the others continue.
func TestClosed(t *testing.T) {
	inWorld(t, func(w *world) {
		if _, err := w.admin.CloseConversation(w.t.Context(),
			&parley.CloseConversationParams{ConversationID: w.conversation}); err != nil {
			t.Fatal(err)
		}
		c := &refusing{Client: w.client}
		e := w.entry()
		e.Client = c
		w.runs(24*time.Hour, e)
		if n := c.calls.Load(); n != 1 {
			t.Errorf("%d calls, expected 1", n)
		}
	})
}

// New refuses invalid entries.
func TestEntriesThatAreNone(t *testing.T) {
	good := timetable.Entry{Name: "a", Cron: "@daily", Client: &refusing{}}
	with := func(change func(*timetable.Entry)) []timetable.Entry {
		e := good
		change(&e)
		return []timetable.Entry{e}
	}
	for want, entries := range map[string][]timetable.Entry{
		"":                      {good, {Name: "b", Cron: "30 7 * * mon-fri", Timezone: "Asia/Tokyo", Client: &refusing{}}},
		"invalid name":          with(func(e *timetable.Entry) { e.Name = "" }),
		"expected minute, hour": with(func(e *timetable.Entry) { e.Cron = "61 * * * *" }),
		"such as":               with(func(e *timetable.Entry) { e.Cron = "* * * * * *" }),
		"@daily":                with(func(e *timetable.Entry) { e.Cron = "@every 1h" }),
		"@weekly":               with(func(e *timetable.Entry) { e.Cron = "CRON_TZ=Asia/Tokyo 0 0 * * *" }),
		"@hourly":               with(func(e *timetable.Entry) { e.Cron = "@reboot" }),
		"time zone":             with(func(e *timetable.Entry) { e.Timezone = "Europe/Nowhere" }),
		"Europe/Berlin":         with(func(e *timetable.Entry) { e.Timezone = "Local" }),
		"missing client":        with(func(e *timetable.Entry) { e.Client = nil }),
		"it catches up":         with(func(e *timetable.Entry) { e.CatchUp = -1 }),
		"another has the name":  {good, good},
	} {
		_, err := timetable.New(&timetable.Options{Entries: entries})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, expected it to say %q", err, want)
		}
	}
	for line, good := range map[string]bool{"0 0 29 2 *": true, "0 0 30 2 *": false, "": false, "@yearly": true} {
		if err := timetable.CheckCron(line); (err == nil) != good {
			t.Errorf("%q: %v", line, err)
		}
	}
}
