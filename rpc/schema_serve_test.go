package rpc_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/schema"
	"github.com/parleyhub/parley/rpc"
)

// TestDocumentsAreServed: anyone may read the documents, at one path each, with an allowed Host and
// Origin.
func TestDocumentsAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{AllowOrigins: []string{"https://page.example"}})
		ask := func(method, path string, header ...string) (*http.Response, []byte) {
			t.Helper()
			req, err := http.NewRequest(method, strings.TrimSuffix(w.url(), "/rpc")+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(header); i += 2 {
				req.Header.Set(header[i], header[i+1])
			}
			if host := req.Header.Get("Host"); host != "" {
				req.Host = host
			}
			resp, err := w.client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			return resp, body
		}
		for path, document := range map[string][]byte{"/openrpc.json": schema.OpenRPC, "/asyncapi.json": schema.AsyncAPI} {
			resp, body := ask("GET", path)
			if resp.StatusCode != 200 || !bytes.Equal(body, document) || resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %d, %s, %d bytes", path, resp.StatusCode, resp.Header.Get("Content-Type"), len(body))
			}
			tag := resp.Header.Get("ETag")
			if resp, body := ask("GET", path, "If-None-Match", tag); tag == "" || resp.StatusCode != 304 || len(body) > 0 {
				t.Errorf("%s with its ETag %s: %d, %d bytes", path, tag, resp.StatusCode, len(body))
			}
			if resp, _ := ask("GET", path, "If-None-Match", `"another"`); resp.StatusCode != 200 {
				t.Errorf("%s with another ETag: %d", path, resp.StatusCode)
			}
			if resp, body := ask("HEAD", path); resp.StatusCode != 200 || len(body) > 0 ||
				resp.ContentLength != int64(len(document)) {
				t.Errorf("HEAD %s: %d, length %d", path, resp.StatusCode, resp.ContentLength)
			}
			if resp, _ := ask("POST", path); resp.StatusCode != 405 {
				t.Errorf("POST %s: %d", path, resp.StatusCode)
			}
			if resp, body := ask("GET", path, "Host", "evil.example"); resp.StatusCode != 403 ||
				bytes.Contains(body, []byte("openrpc")) {
				t.Errorf("%s by another name of the host: %d", path, resp.StatusCode)
			}
			if resp, _ := ask("GET", path, "Origin", "https://evil.example"); resp.StatusCode != 403 {
				t.Errorf("%s by a page of another: %d", path, resp.StatusCode)
			}
			if resp, _ := ask("GET", path, "Origin", "https://page.example"); resp.Header.Get(
				"Access-Control-Allow-Origin") != "https://page.example" {
				t.Errorf("%s by an allowed page: %v", path, resp.Header)
			}
		}
	})
}

// TestDocumentsNameWhatIsServed: the documents have every served method, and no other, in the order
// of the table.
func TestDocumentsNameWhatIsServed(t *testing.T) {
	var served, documented []string
	for _, m := range methods.Table {
		served = append(served, m.Name+" "+string(m.Scope)+" "+m.Route)
	}
	doc := decodeJSON(t, schema.OpenRPC).(map[string]any)
	for _, m := range doc["methods"].([]any) {
		m := m.(map[string]any)
		scope, _ := m["x-scope"].(string)
		route, _ := m["x-http"].(string)
		documented = append(documented, m["name"].(string)+" "+scope+" "+route)
		if row, _ := methods.ByName(m["name"].(string)); m["x-socket"] != row.Socket {
			t.Errorf("%s needs a socket: %v", row.Name, m["x-socket"])
		}
	}
	compare(t, "the methods of OpenRPC", documented, served)

	operations := decodeJSON(t, schema.AsyncAPI).(map[string]any)["operations"].(map[string]any)
	for _, r := range rows(section(t, "14. Notifications")) {
		if _, ok := operations[r[0]+".notification"]; !ok {
			t.Errorf("AsyncAPI does not send %s", r[0])
		}
	}
	for _, line := range served {
		name, _, _ := strings.Cut(line, " ")
		if _, ok := operations[name]; !ok {
			t.Errorf("AsyncAPI does not take %s", name)
		}
	}
	if want := len(served) + len(rows(section(t, "14. Notifications"))); len(operations) != want {
		t.Errorf("AsyncAPI has %d operations, want %d", len(operations), want)
	}
}
