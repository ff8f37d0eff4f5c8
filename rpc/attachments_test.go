package rpc_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(document.cookie)</script></svg>`

func hashOf(data string) string {
	sum := sha256.Sum256([]byte(data))
	return hex.EncodeToString(sum[:])
}

// fileDoor sends files to a world and gets them, as one agent.
type fileDoor struct {
	w      *world
	header http.Header
}

func (w *world) files(agent string) fileDoor {
	h := bearer(devToken)
	h.Set("Parley-Agent", agent)
	return fileDoor{w, h}
}

// do makes a request and returns the answer with its whole body.
func (d fileDoor) do(method, path string, header http.Header, body io.Reader) (*http.Response, string) {
	d.w.t.Helper()
	req, err := http.NewRequest(method, "http://"+d.w.addr+path, body)
	if err != nil {
		d.w.t.Fatal(err)
	}
	for _, h := range []http.Header{d.header, header} {
		for name, values := range h {
			req.Header[name] = values
		}
	}
	if c, ok := body.(claimed); ok {
		req.ContentLength = c.length
	}
	resp, err := d.w.client().Do(req)
	if err != nil {
		d.w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		d.w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp, string(b)
}

func (d fileDoor) put(query, mediaType string, data string) (*http.Response, string) {
	d.w.t.Helper()
	return d.do(http.MethodPost, "/attachments?"+query, http.Header{"Content-Type": {mediaType}}, strings.NewReader(data))
}

func (d fileDoor) get(hash, query string, header http.Header) (*http.Response, string) {
	d.w.t.Helper()
	return d.do(http.MethodGet, "/attachments/"+hash+"?"+query, header, nil)
}

// problemReason returns the reason of a problem, and checks its status.
func problemReason(t testing.TB, resp *http.Response, body string) string {
	t.Helper()
	var p parley.Problem
	if err := json.Unmarshal([]byte(body), &p); err != nil || resp.Header.Get("Content-Type") != parley.ProblemType ||
		p.Status != resp.StatusCode {
		t.Fatalf("no problem: %d %s, %v", resp.StatusCode, body, err)
	}
	return p.Reason
}

// TestFileComesBackAsDownload: a file that a browser would run as a page is sent as bytes to store
// only.
func TestFileComesBackAsDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		alice := w.files("alice")
		name := "<img src=x onerror=alert(1)>\"; filename=evil.html é.svg"
		resp, body := alice.put("conversationId=case&name="+url.QueryEscape(name), "image/svg+xml", svg)
		location := resp.Header.Get("Location")
		want := fmt.Sprintf(`{"sha256":%q,"size":%d,"seq":2}`, hashOf(svg), len(svg))
		if resp.StatusCode != http.StatusCreated || body != want ||
			location != "/attachments/"+hashOf(svg)+"?conversationId=case" {
			t.Fatalf("%d %s at %s", resp.StatusCode, body, location)
		}
		if resp, body = alice.put("conversationId=case", "text/html", svg); resp.StatusCode != http.StatusOK ||
			!strings.HasSuffix(body, `"duplicate":true}`) {
			t.Fatalf("again: %d %s", resp.StatusCode, body)
		}
		if resp, body = w.files("bob").do(http.MethodGet, location, nil, nil); resp.StatusCode != http.StatusOK ||
			body != svg {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		for header, want := range map[string]string{
			"Content-Type": "application/octet-stream",
			"Content-Disposition": "attachment; filename*=UTF-8''" +
				"%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E%22%3B%20filename%3Devil.html%20%C3%A9.svg",
			"X-Content-Type-Options":       "nosniff",
			"Content-Security-Policy":      "sandbox; default-src 'none'",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "private, no-cache",
			"Etag":                         `"` + hashOf(svg) + `"`,
			"Accept-Ranges":                "bytes",
		} {
			if got := resp.Header.Get(header); got != want {
				t.Errorf("%s: %s, want %s", header, got, want)
			}
		}
		events := w.files("bob").tail(t)
		if !strings.Contains(events, `"from":"alice"`) || !strings.Contains(events, `"mediaType":"image/svg+xml"`) {
			t.Errorf("the log: %s", events)
		}
	})
}

func (d fileDoor) tail(t testing.TB) string {
	t.Helper()
	header := d.header.Clone()
	_, _, reply := d.w.post(header, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tail","params":{"conversationId":"case","sinceSeq":0}}`))
	return reply
}

func TestFileRanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		alice := w.files("alice")
		file := strings.Repeat("0123456789", 150_000) // three parts
		hash := hashOf(file)
		if resp, body := alice.put("conversationId=case", "", file); resp.StatusCode != http.StatusCreated {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		for _, c := range []struct {
			header http.Header
			status int
			want   string
		}{
			{nil, 200, file},
			{http.Header{"Range": {"bytes=3-6"}}, 206, "3456"},
			{http.Header{"Range": {"bytes=524286-524291"}}, 206, file[524286:524292]}, // over the end of a part
			{http.Header{"Range": {"bytes=-4"}}, 206, "6789"},
			{http.Header{"Range": {"bytes=1499999-"}}, 206, "9"},
			{http.Header{"Range": {"bytes=1500000-"}}, 416, "invalid range: failed to overlap\n"},
			{http.Header{"Range": {"bytes=0-3"}, "If-Range": {`"` + hash + `"`}}, 206, "0123"},
			{http.Header{"Range": {"bytes=0-3"}, "If-Range": {`"other"`}}, 200, file},
			{http.Header{"If-None-Match": {`"` + hash + `"`}}, 304, ""},
			{http.Header{"If-None-Match": {`"x", W/"` + hash + `"`}}, 304, ""},
			{http.Header{"If-None-Match": {`"other"`}}, 200, file},
		} {
			resp, body := alice.get(hash, "conversationId=case", c.header)
			if resp.StatusCode != c.status || body != c.want {
				t.Errorf("%v: %d with %d bytes, want %d with %d", c.header, resp.StatusCode, len(body), c.status, len(c.want))
			}
		}
		// A caller who may not see the file does not learn that it is unchanged.
		zed := fileDoor{w, bearer(w.as("admin").token(`{"agentId":"zed"}`))}
		resp, body := zed.get(hash, "conversationId=case", http.Header{"If-None-Match": {`"` + hash + `"`}})
		if problemReason(t, resp, body) != "not_found" {
			t.Errorf("a foreigner: %d %s", resp.StatusCode, body)
		}
	})
}

// TestFileRefusals: a file is refused before it is read, where that is possible.
func TestFileRefusals(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	w := newLoopbackWorld(t, nil)
	admin := w.as("alice")
	admin.create(twoAgents)
	dave := w.as("dave")
	dave.create(`{"conversationId":"foreign","participants":[{"id":"dave","kind":"peer"}]}`)
	with := func(params string) fileDoor { return fileDoor{w, bearer(w.as("admin").token(params))} }
	alice := with(`{"agentId":"alice"}`)
	if resp, body := with(`{"agentId":"dave"}`).put("conversationId=foreign", "",
		"theirs"); resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	for _, c := range []struct {
		what   string
		door   fileDoor
		query  string
		header http.Header
		body   io.Reader
		status int
		reason string
	}{
		{"no token", fileDoor{w, nil}, "conversationId=case", nil, strings.NewReader("x"), 401, "unauthenticated"},
		{"read only", with(`{"agentId":"alice","scopes":["read","trace"]}`), "conversationId=case", nil,
			strings.NewReader("x"), 403, "forbidden"},
		{"read only, bad params", with(`{"agentId":"alice","scopes":["read"]}`), "x=1", nil, strings.NewReader("x"), 403,
			"forbidden"},
		{"other conversations", with(`{"agentId":"alice","conversations":["else"]}`), "conversationId=case", nil,
			strings.NewReader("x"), 404, "not_found"},
		{"gzip", alice, "conversationId=case", http.Header{"Content-Encoding": {"gzip"}}, strings.NewReader("x"), 415,
			"invalid_request"},
		{"gzip after nothing", alice, "conversationId=case", http.Header{"Content-Encoding": {"", "gzip"}},
			strings.NewReader("x"), 415, "invalid_request"},
		{"two types", alice, "conversationId=case", http.Header{"Content-Type": {"text/plain", "text/html"}},
			strings.NewReader("x"), 400, "invalid_params"},
		{"claimed length", alice, "conversationId=case", nil, claim(parley.MaxAttachmentBytes + 1), 413, "too_large"},
		{"chunked and too large", alice, "conversationId=case", nil, io.LimitReader(zeros{}, parley.MaxAttachmentBytes+1),
			413, "too_large"},
		{"empty", alice, "conversationId=case", nil, strings.NewReader(""), 400, "validation_failed"},
		{"empty and chunked", alice, "conversationId=case", nil, io.LimitReader(zeros{}, 0), 400, "validation_failed"},
		{"foreign", alice, "conversationId=foreign", nil, strings.NewReader("theirs"), 404, "not_found"},
		{"absent", alice, "conversationId=absent", nil, strings.NewReader("theirs"), 404, "not_found"},
		{"no conversation", alice, "", nil, strings.NewReader("x"), 400, "invalid_params"},
		{"twice", alice, "conversationId=case&conversationId=case", nil, strings.NewReader("x"), 400, "invalid_params"},
		{"unknown", alice, "conversationId=case&path=x", nil, strings.NewReader("x"), 400, "invalid_params"},
		{"data", alice, "conversationId=case&data=eA==", nil, strings.NewReader("x"), 400, "invalid_params"},
		{"mediaType", alice, "conversationId=case&mediaType=text/plain", nil, strings.NewReader("x"), 400, "invalid_params"},
		{"empty name", alice, "conversationId=case&name=", nil, strings.NewReader("x"), 400, "validation_failed"},
		{"path", alice, "conversationId=case&name=..%2f..%2fx", nil, strings.NewReader("x"), 400, "validation_failed"},
		{"NUL", alice, "conversationId=case&name=x%00", nil, strings.NewReader("x"), 400, "validation_failed"},
		{"no UTF-8", alice, "conversationId=case&name=%ff", nil, strings.NewReader("x"), 400, "invalid_params"},
		{"key", alice, "conversationId=case", http.Header{"Idempotency-Key": {"k"}}, strings.NewReader("x"), 400,
			"invalid_params"},
		{"long type", alice, "conversationId=case", http.Header{"Content-Type": {strings.Repeat("t", 128)}},
			strings.NewReader("x"), 400, "validation_failed"},
		{"host", alice, "conversationId=case", http.Header{"Origin": {"https://evil.example"}}, strings.NewReader("x"), 403,
			"forbidden"},
	} {
		resp, body := c.door.do(http.MethodPost, "/attachments?"+c.query, c.header, c.body)
		if reason := problemReason(t, resp, body); resp.StatusCode != c.status || reason != c.reason {
			t.Errorf("%s: %d %s, want %d %s: %s", c.what, resp.StatusCode, reason, c.status, c.reason, body)
		}
	}
	hash := hashOf("theirs")
	_, foreign := alice.get(hash, "conversationId=foreign", nil)
	if _, absent := alice.get(hash, "conversationId=absent", nil); foreign != absent {
		t.Errorf("foreign and absent differ:\n%s\n%s", foreign, absent)
	}
	for _, c := range []struct {
		door   fileDoor
		path   string
		reason string
	}{
		{alice, hash + "?conversationId=case", "not_found"},
		{with(`{"agentId":"dave","scopes":["write"]}`), hash + "?conversationId=foreign", "forbidden"},
		{fileDoor{w, nil}, hash + "?conversationId=foreign", "unauthenticated"},
		{alice, strings.ToUpper(hash) + "?conversationId=case", "validation_failed"},
		{alice, "..%2f..%2fetc%2fpasswd?conversationId=case", "validation_failed"},
		{alice, "%2e%2e?conversationId=case", ""},
		{alice, "%00?conversationId=case", "validation_failed"},
		{alice, strings.Repeat("a", 300) + "?conversationId=case", "validation_failed"},
		{alice, hash, "invalid_params"},
		{alice, hash + "?conversationId=case&offset=1", "invalid_params"},
		{alice, hash + "?conversationId=case&sha256=" + hash, "invalid_params"},
	} {
		resp, body := c.door.do(http.MethodGet, "/attachments/"+c.path, nil, nil)
		if reason := problemReason(t, resp, body); c.reason != "" && reason != c.reason {
			t.Errorf("%s: %d %s, want %s", c.path, resp.StatusCode, body, c.reason)
		}
	}
	if log := alice.tail(t); strings.Contains(log, "attachment_added") {
		t.Errorf("something was added: %s", log)
	}
}

// claimed is a body of a claimed length that never comes.
type claimed struct {
	io.ReadCloser
	length int64
}

func claim(length int64) claimed {
	body, _ := io.Pipe()
	return claimed{body, length}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestSlowFile: a file that arrives steadily may take long. One that stops or is too slow is
// refused.
func TestSlowFile(t *testing.T) {
	for name, c := range map[string]struct {
		size    int64 // as claimed
		piece   int   // every 5 s
		pieces  int
		status  int
		seconds int
	}{
		"steady":  {4 << 20, 1 << 20, 4, 201, 20},
		"stopped": {4 << 20, 1 << 20, 2, 408, 20}, // 10 s after the second
		"drips":   {1 << 20, 1 << 10, 1000, 408, 18},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				w.as("alice").create(twoAgents)
				in, out := io.Pipe()
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go func() {
					for range c.pieces {
						select {
						case <-ctx.Done():
							return
						case <-time.After(5 * time.Second): // in the bubble
						}
						if _, err := out.Write(make([]byte, c.piece)); err != nil {
							return
						}
					}
					<-ctx.Done()
				}()
				defer in.Close()
				req, err := http.NewRequest(http.MethodPost, "http://"+w.addr+"/attachments?conversationId=case",
					io.LimitReader(in, c.size))
				if err != nil {
					t.Fatal(err)
				}
				req.ContentLength = c.size
				req.Header = w.files("alice").header
				begin := time.Now()
				resp, err := w.client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if took := time.Since(begin); err != nil || resp.StatusCode != c.status ||
					took != time.Duration(c.seconds)*time.Second {
					t.Errorf("%d after %v: %s, %v", resp.StatusCode, took, body, err)
				}
			})
		})
	}
}

// TestDamagedFile: no byte of a damaged file is sent.
func TestDamagedFile(t *testing.T) {
	w := newLoopbackWorld(t, nil)
	w.as("alice").create(twoAgents)
	alice := w.files("alice")
	file := bytes.Repeat([]byte("good"), 1<<18)
	alice.put("conversationId=case", "", string(file))
	w.wrap = damageBlobs
	w.restart()
	resp, body := alice.get(hashOf(string(file)), "conversationId=case", nil)
	if resp.StatusCode != http.StatusInternalServerError || problemReason(t, resp, body) != "internal" ||
		resp.Header.Get("ETag") != "" {
		t.Errorf("%d %.200s", resp.StatusCode, body)
	}
}

// blobless is a journal that has lost its files.
type blobless struct{ journal.Journal }

func damageBlobs(j journal.Journal) journal.Journal { return blobless{j} }

func (blobless) GetBlob(journal.Hash) ([]byte, error) {
	return nil, &journal.DamageError{File: "blobs/ab/cd", What: "hash of the blob"}
}

// TestShutdownDuringUpload: a file that is still arriving does not delay a shutdown.
func TestShutdownDuringUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		in, out := io.Pipe()
		defer in.Close()
		go out.Write(make([]byte, 1000))
		req, err := http.NewRequest(http.MethodPost, "http://"+w.addr+"/attachments?conversationId=case", in)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = w.files("alice").header
		answered := make(chan string, 1)
		go func() {
			resp, err := w.client().Do(req)
			if err != nil {
				answered <- err.Error()
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			answered <- string(body)
		}()
		synctest.Wait()
		begin := time.Now()
		w.restart()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("the hub took %v to stop", took)
		}
		if reply := <-answered; !strings.Contains(reply, `"unavailable"`) {
			t.Errorf("the upload was answered %s", reply)
		}
	})
}

// TestSlowDownload: a peer that reads nothing is cut. A peer that reads a little may take as long
// as it needs.
func TestSlowDownload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		w.as("alice").create(twoAgents)
		file := strings.Repeat("0123456789", 200_000)
		w.files("alice").put("conversationId=case", "", file)
		request := "GET /attachments/" + hashOf(file) +
			"?conversationId=case HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer dev\r\n\r\n"
		read := func(pause time.Duration) int {
			conn, err := w.transport.DialContext(t.Context(), "tcp", w.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			got, b := 0, make([]byte, 100_000)
			for {
				time.Sleep(pause) // in the bubble
				n, err := conn.Read(b)
				got += n
				if err != nil {
					return got
				}
			}
		}
		if n := read(5 * time.Second); n < len(file) {
			t.Errorf("one that reads every 5 s got %d of %d bytes", n, len(file))
		}
		if n := read(11 * time.Second); n >= len(file) {
			t.Errorf("one that reads every 11 s got everything")
		}
	})
}
