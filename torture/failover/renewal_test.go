package failover

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
)

// TestRenewal renews one hub after the other under load: clients continue, and nothing is lost.
func TestRenewal(t *testing.T) {
	w := newWorld(t)
	p := w.newParty("r", nil)
	p.works(3)
	slowest := time.Duration(0)
	for _, place := range w.places {
		slowest = max(slowest, w.renew(place, program))
		p.works(2)
	}
	p.end()
	v := p.judge()
	figure := fmt.Sprintf("a hub that is renewed takes calls after %.1f s", slowest.Seconds())
	t.Log(figure)
	v.kept(t, hubs, figure)
}

// What a hub says that does not know the format of a message.
const (
	newerTold   = "the log has records of a newer version that this hub cannot read"
	newerLogged = "unknown format version"
)

// TestNewerFormat renews hubs with a build that writes a newer format. Those that do not know it
// stop reading where it begins, and say so: one that is at rest continues to serve what it has; one
// that is writing may end. Their clients continue at the new one, and so do they, when they are
// renewed.
func TestNewerFormat(t *testing.T) {
	if !*newer {
		t.Skip("-failover.newer=false: the renewal with a newer format is part of make torture")
	}
	next := hubproc.BuildPatched(t, "newer-format")
	w := newWorld(t)
	first, busy, idle := w.places[0], w.places[1], w.places[2]
	w.known = w.places[:2]
	p := w.newParty("n", busy)
	p.works(2)
	w.renew(first, next)
	p.works(2)
	p.leave(busy)
	begun := time.Now()
	host := w.dial(first, "host")
	w.create(t.Context(), host, &parley.CreateConversationParams{ConversationID: "newer",
		Participants: []parley.Participant{{ID: "host", Kind: parley.KindHuman}}})

	who, took := p.slowest(begun)
	t.Logf("slowest of %d clients speaks again after %.1f s at the hub that knows the format (%s)", len(p.clients),
		took.Seconds(), who)
	if text := idle.until(t, http.StatusServiceUnavailable); !strings.Contains(text, newerTold) {
		t.Errorf("/readyz of %s says %s", idle.name, text)
	}
	kept := make(map[string][]parley.Event)
	for _, id := range p.conversations {
		kept[id] = w.tail(idle, id)
	}
	p.works(2)

	ended := idle.hub
	w.renew(idle, next)
	if !bytes.Contains(ended.Stderr(), []byte(newerLogged)) {
		t.Errorf("%s has not logged that it does not know the format:\n%s", idle.name, ended.Stderr())
	}
	busy.hub.Terminate(t) // if it has not ended
	busy.hub.Ended(t, stopWithin)
	if !bytes.Contains(busy.hub.Stderr(), []byte(newerLogged)) {
		t.Errorf("%s has not logged that it does not know the format:\n%s", busy.name, busy.hub.Stderr())
	}
	w.start(busy, next)
	for _, at := range []*place{idle, busy} {
		at.until(t, http.StatusOK)
		w.known = []*place{at}
		w.create(t.Context(), w.dial(at, "host"), &parley.CreateConversationParams{ConversationID: "by-" + at.name,
			Participants: []parley.Participant{{ID: "host", Kind: parley.KindHuman}}})
	}
	p.works(2)
	p.end()
	p.served(idle.name, kept)
	v := p.judge()
	v.kept(t, 2, "")
}

// renew stops a hub as a service manager does, and starts a build instead. It returns the duration
// of the start.
func (w *world) renew(p *place, build hubproc.Program) time.Duration {
	t := w.t
	t.Helper()
	p.hub.Terminate(t)
	if code := p.hub.Ended(t, stopWithin); code != 0 {
		t.Errorf("%s ended with code %d\n%s", p.name, code, p.hub.Stderr())
	}
	took := w.start(p, build)
	if *ready > 0 && took > *ready {
		t.Errorf("%s took %s to start, expected %s at most", p.name, took, *ready)
	}
	p.until(t, http.StatusOK)
	return took
}

// tail asks one hub, over plain HTTP, for the first page of a conversation.
func (w *world) tail(p *place, id string) []parley.Event {
	t := w.t
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tail","params":{"conversationId":%q,"sinceSeq":0,"limit":1000}}`, id)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.hub.HTTP()+"/rpc", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var f hubproc.Frame[struct{}]
	var r parley.TailResult
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		t.Fatal(err)
	}
	if err := f.Into(1, &r); err != nil {
		t.Fatalf("what %s has of %s: %v", p.name, id, err)
	}
	return r.Events
}

// served holds what a hub gave that had stopped reading against the log: the beginning of it, and
// nothing else.
func (p *party) served(by string, kept map[string][]parley.Event) {
	t := p.w.t
	t.Helper()
	host := p.w.dial(nil, "host")
	behind := 0
	for id, events := range kept {
		log := p.logOf(host, id)
		behind += len(log) - len(events)
		if len(events) == 0 || len(events) > len(log) {
			t.Errorf("%s gave %d of %d events of %s", by, len(events), len(log), id)
			continue
		}
		for i := range events {
			if !bytes.Equal(events[i].Raw(), log[i].Raw()) {
				t.Errorf("%s gave another event %d of %s", by, i+1, id)
			}
		}
	}
	if behind <= 0 {
		t.Errorf("%s was not behind: this shows nothing", by)
	}
}
