package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

// backup begins a backup with a token. The answer's body is the caller's to close.
func (w *world) backup(token string) *http.Response {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+w.addr+"/backup", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header = bearer(token)
	}
	resp, err := w.client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// talkMuch fills the hub with more than a connection takes in without a reader.
func (w *world) talkMuch() {
	w.t.Helper()
	p := w.as("clinic")
	p.create(`{"conversationId":"case","participants":[{"id":"clinic","kind":"peer"}],"policy":{"kind":"open"}}`)
	for i := range 12 {
		p.must(methods.SendMessage, fmt.Sprintf(`{"conversationId":"case","finality":"turn","payload":{"text":"%d %s"}}`,
			i, strings.Repeat("x", 800_000)))
	}
	p.close()
}

func TestBackup(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	w := newLoopbackWorld(t, nil)
	w.talkMuch()
	resp := w.backup(devToken)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/x-ndjson" ||
		resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	r, err := archive.Check(resp.Body, nil)
	if err != nil || r.Backup == nil || r.Events != 13 {
		t.Errorf("%+v, %v", r, err)
	}
	var again bytes.Buffer
	if _, err := w.hub.Backup(t.Context(), w.hub.LocalPrincipal("me", parley.ScopeAdmin), &again); err != nil {
		t.Error(err)
	}
}

// TestBackupIsForAdmins: a restricted caller gets an error and no data.
func TestBackupIsForAdmins(t *testing.T) {
	w := newLoopbackWorld(t, nil)
	admin := w.as("admin")
	for name, c := range map[string]struct {
		token, reason string
		status        int
	}{
		"no token":      {"", "unauthenticated", 401},
		"a bad token":   {"plt_a_b", "unauthenticated", 401},
		"a participant": {admin.token(`{"agentId":"clinic"}`), "forbidden", 403},
		"all but admin": {admin.token(`{"agentId":"clinic","scopes":["read","write","create","claim","approve","trace"]}`),
			"forbidden", 403},
		"a narrow admin": {admin.token(`{"agentId":"admin","scopes":["admin"],"conversations":["case"]}`), "forbidden", 403},
		"an admin":       {admin.token(`{"agentId":"admin","scopes":["admin"]}`), "", 200},
	} {
		t.Run(name, func(t *testing.T) {
			resp := w.backup(c.token)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.reason) || c.status != 200 &&
				strings.Contains(string(body), "parleyBackup") {
				t.Errorf("%d %s, %v", resp.StatusCode, body, err)
			}
		})
	}
	if status, body := w.get("/backup?ticket=x", nil); status != http.StatusUnauthorized {
		t.Errorf("a ticket: %d %s", status, body)
	}
	resp, err := w.client().Post("http://"+w.addr+"/backup", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") == "" {
		t.Errorf("POST: %d", resp.StatusCode)
	}
}

// cutOff reads the rest of a backup, which must not be whole.
func cutOff(t *testing.T, resp *http.Response) {
	t.Helper()
	defer resp.Body.Close()
	_, err := archive.Check(resp.Body, nil)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the backup ended with %v", err)
	}
}

// TestBackupThatIsNotTaken: a backup whose peer reads nothing for the timeout is cut off. It delays
// no other caller. There is one backup at a time.
func TestBackupThatIsNotTaken(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{WriteTimeout: 10 * time.Second})
		w.talkMuch()
		stalled := w.backup(devToken)
		p := w.as("clinic")
		p.must(methods.SendMessage, `{"conversationId":"case","finality":"turn","payload":{"text":"meanwhile"}}`)
		second := w.backup(devToken)
		body, _ := io.ReadAll(second.Body)
		second.Body.Close()
		if second.StatusCode != http.StatusTooManyRequests || second.Header.Get("Retry-After") != "1" ||
			!strings.Contains(string(body), "rate_limited") {
			t.Errorf("a second one: %d %s", second.StatusCode, body)
		}
		time.Sleep(9 * time.Second)
		third := w.backup(devToken)
		third.Body.Close()
		if third.StatusCode != http.StatusTooManyRequests {
			t.Errorf("after 9 s: %d", third.StatusCode)
		}
		time.Sleep(2 * time.Second)
		cutOff(t, stalled)
		resp := w.backup(devToken)
		defer resp.Body.Close()
		if r, err := archive.Check(resp.Body, nil); err != nil || r.Events != 14 {
			t.Errorf("the next one: %+v, %v", r, err)
		}
	})
}

// TestBackupEndsWithTheHub: a hub that stops does not wait for the reader of a backup.
func TestBackupEndsWithTheHub(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.talkMuch()
		stalled := w.backup(devToken)
		synctest.Wait()
		begun := time.Now()
		if err := w.server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the hub waited %s for the reader of a backup", took)
		}
		cutOff(t, stalled)
	})
}

// TestBackupEndsWithItsToken: a backup under way ends when its token is revoked.
func TestBackupEndsWithItsToken(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.talkMuch()
		admin := w.as("admin")
		for _, c := range []struct {
			lastsMs int
			end     func(tokenID string)
		}{
			{60_000, func(id string) { admin.must(methods.RevokeToken, fmt.Sprintf(`{"tokenId":%q}`, id)) }},
			{1000, func(string) { time.Sleep(2 * time.Second) }},
		} {
			token := admin.token(fmt.Sprintf(`{"agentId":"admin","scopes":["admin"],"expiresInMs":%d}`, c.lastsMs))
			id, _, _ := strings.Cut(strings.TrimPrefix(token, "plt_"), "_")
			resp := w.backup(token)
			synctest.Wait()
			c.end(id)
			cutOff(t, resp)
		}
	})
}
