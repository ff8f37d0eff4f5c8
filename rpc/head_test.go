package rpc_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// TestHead: every path with GET has HEAD, with the same answer without the body, except for sockets
// and streams.
func TestHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		_, text := w.files("alice").put("conversationId=case", "", "file")
		if !strings.Contains(text, hashOf("file")) {
			t.Fatal(text)
		}
		w.helper()
		var note parley.SeqResult
		if err := json.Unmarshal(w.as("alice").must(methods.SendNote,
			`{"conversationId":"case","payload":{"schema":"x","data":1}}`), &note); err != nil {
			t.Fatal(err)
		}
		session := w.as("alice").begin(`{"agentName":"helper","prompt":"x","mode":"async_poll"}`).SessionID
		w.as("alice").create(`{"conversationId":"asking","participants":[{"id":"alice","kind":"agent"}]}`)
		approval := w.as("alice").asks("asking").ApprovalID
		targets := []string{"/rpc", "/livez", "/readyz", "/metrics", "/backup", "/openrpc.json", "/asyncapi.json"}
		for _, m := range methods.Table {
			if path, ok := strings.CutPrefix(m.Route, "GET "); ok {
				targets = append(targets, strings.NewReplacer("{conversationId}", "case", "{seq}", strconv.FormatInt(note.Seq, 10),
					"{sessionId}", session, "{approvalId}", approval, "{sha256}", hashOf("file")+"?conversationId=case", "/wait",
					"/wait?sinceSeq=0").Replace(path))
			}
		}
		for _, target := range targets {
			header := bearer(devToken)
			if target == "/rpc" || target == "/backup" || strings.HasSuffix(target, "/events") {
				if brew := w.plain(header, "BREW", target, ""); strings.Contains(brew.header.Get("Allow"), "HEAD") ||
					!strings.Contains(brew.header.Get("Allow"), "GET") {
					t.Errorf("%s takes %s", target, brew.header.Get("Allow"))
				}
				continue
			}
			head := w.plain(header, http.MethodHead, target, "")
			get := w.plain(header, http.MethodGet, target, "")
			if head.status != http.StatusOK || get.status != http.StatusOK || head.body != "" || get.body == "" {
				t.Errorf("HEAD %s: %v, GET: %v", target, head, get)
			}
			for _, name := range []string{"Content-Type", "ETag", "Cache-Control", "Content-Disposition"} {
				if head.header.Get(name) != get.header.Get(name) {
					t.Errorf("HEAD %s: %s is %q, with GET %q", target, name, head.header.Get(name), get.header.Get(name))
				}
			}
		}
	})
}
