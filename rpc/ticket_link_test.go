package rpc_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// TestTicketOfALink: it is valid for longer than a ticket of createTicket, and once. It does not
// delay the end of other tickets.
func TestTicketOfALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		root, err := w.hub.Authenticate(context.Background(), devToken, "")
		if err != nil {
			t.Fatal(err)
		}
		long, err := w.server.Ticket(root, 15*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		over, err := w.server.Ticket(root, 15*time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		short := w.as("admin").ticket(`{}`)
		time.Sleep(time.Minute)
		if _, err := w.upgrade("?ticket="+short, nil); err == nil {
			t.Error("a ticket made after the link's lasts as long as that")
		}
		time.Sleep(13 * time.Minute)
		p, err := w.upgrade("?ticket="+long, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.must(methods.Ping, `{}`)
		if _, err := w.upgrade("?ticket="+long, nil); err == nil {
			t.Error("it opened a second one")
		}
		time.Sleep(time.Minute)
		if _, err := w.upgrade("?ticket="+over, nil); err == nil {
			t.Error("it is good when its time is over")
		}
	})
}

// TestPagesMayEndInASlash: a page at such a path is served. Other paths that are not clean are
// still unknown.
func TestPagesMayEndInASlash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		w := newWorld(t, &rpc.Options{Pages: map[string]http.Handler{"/page": page, "/page/": page}})
		for path, want := range map[string]int{
			"/page": http.StatusTeapot, "/page/": http.StatusTeapot, "/page/a/b": http.StatusTeapot,
			"/page//": http.StatusNotFound, "/page/./a": http.StatusNotFound, "/livez/": http.StatusNotFound,
			"//page": http.StatusNotFound, "/page/../page": http.StatusNotFound,
		} {
			if a := w.plain(http.Header{}, http.MethodGet, path, ""); a.status != want {
				t.Errorf("%s: %d, want %d", path, a.status, want)
			}
		}
	})
}
