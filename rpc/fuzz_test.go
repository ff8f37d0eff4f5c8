package rpc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/ssetest"
)

// asked returns the answer to a request without a connection.
func (w *world) asked(target string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
	path, query, _ := strings.Cut(target, "?")
	r.URL.Path, r.URL.RawQuery, r.Header = path, query, header
	answer := httptest.NewRecorder()
	w.server.ServeHTTP(answer, r)
	return answer
}

var decimal = regexp.MustCompile(`^(0|[1-9][0-9]{0,15})$`)

// FuzzCursor: a stream continues after the cursor in the header, or else in the URL, and refuses an
// invalid one.
func FuzzCursor(f *testing.F) {
	for _, id := range []string{"0", "1", "3", "4", "5", "01", "-1", "+1", " 1", "1 ", "1.0", "1e0", "0x1",
		"9007199254740991", "9007199254740992", "18446744073709551617", "", "null", "\u0661", "1\x00", "1,2", "1_0"} {
		f.Add(id, true, "2")
		f.Add("1", true, id)
		f.Add("", false, id)
	}
	w := newWorld(f, nil)
	alice := w.as("alice")
	alice.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"}],"policy":{"kind":"open"}}`)
	alice.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"one"},"finality":"turn"}`)
	alice.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"two"},"finality":"turn"}`)
	alice.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"bye"},"finality":"conversation"}`)
	const latest = 4
	f.Fuzz(func(t *testing.T, last string, named bool, since string) {
		header := bearer(devToken)
		if named {
			header.Set("Last-Event-ID", last)
		}
		answer := w.asked(events+"?until=closed&sinceSeq="+url.QueryEscape(since), header)
		cursor := since
		if named {
			cursor = last
		}
		seq, err := strconv.ParseInt(cursor, 10, 64)
		// in the URL a number is what JSON takes for one
		valid := (decimal.MatchString(cursor) || !named && cursor == "-0") && err == nil && seq < 1<<53
		if n, err := strconv.ParseInt(since, 10, 64); named && (!decimal.MatchString(since) || err != nil || n >= 1<<53) &&
			answer.Code == http.StatusBadRequest {
			return // what the header wins over must be a number all the same
		}
		want := http.StatusOK
		switch {
		case !valid:
			want = http.StatusBadRequest
		case seq > latest:
			want = http.StatusGone
		case seq == latest:
			want = http.StatusNoContent
		}
		if answer.Code != want {
			t.Fatalf("Last-Event-ID %q (%t), sinceSeq %q: HTTP %d, want %d: %s", last, named, since, answer.Code, want,
				answer.Body)
		}
		if want != http.StatusOK {
			return
		}
		stream := ssetest.NewReader(answer.Body, 1<<20)
		for next := seq + 1; next <= latest; {
			m, err := stream.Next()
			if err != nil {
				t.Fatalf("the stream behind %d ends before %d: %v", seq, next, err)
			}
			if m.Name != "" {
				continue
			}
			if m.ID != fmt.Sprint(next) {
				t.Fatalf("the stream behind %d gives %s, want %d", seq, m.ID, next)
			}
			next++
		}
	})
}

// FuzzPageCursor: a list continues after a cursor that it returned, and refuses an invalid one.
func FuzzPageCursor(f *testing.F) {
	for _, cursor := range []string{"", "0", "1", "2", "-1", "18446744073709551615", "18446744073709551616", "01", "+1",
		"1 ", "x", "1.0", "\x00"} {
		f.Add(cursor)
	}
	w := newWorld(f, nil)
	alice := w.as("alice")
	for range 3 {
		alice.create(`{"participants":[{"id":"alice","kind":"peer"}]}`)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		answer := w.asked("/conversations?limit=1&cursor="+url.QueryEscape(cursor), bearer(devToken))
		if answer.Code != http.StatusOK && answer.Code != http.StatusBadRequest {
			t.Fatalf("cursor %q: HTTP %d: %s", cursor, answer.Code, answer.Body)
		}
		if _, err := strconv.ParseUint(cursor, 10, 64); (err == nil) != (answer.Code == http.StatusOK) {
			t.Fatalf("cursor %q: HTTP %d: %s", cursor, answer.Code, answer.Body)
		}
	})
}

// FuzzShown: only the token itself authenticates, in any place, and no answer contains it.
func FuzzShown(f *testing.F) {
	w := newWorld(f, nil)
	alice := w.as("alice")
	alice.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer"}]}`)
	token := alice.token(`{"agentId":"alice"}`)
	for _, text := range []string{
		"Bearer " + token, "bearer " + token, "Bearer  " + token, "Bearer " + token + " ", "Bearer " + token[:len(token)-1],
		"Basic " + token, token, "Bearer plt_", "Bearer plt_t1_", "Bearer plc_s_clm_1_x",
		"Bearer tkt_1", "Bearer eyJhbGciOiJub25lIn0.e30.", "Bearer", "", "Bearer \x00", "Bearer " + strings.Repeat("a", 5000),
	} {
		f.Add(text, "", "")
		f.Add("", text, "")
		f.Add("Bearer "+token, text, "")
		f.Add("Bearer "+token, "", text)
	}
	f.Fuzz(func(t *testing.T, authorization, ticket, agent string) {
		header := http.Header{}
		if authorization != "" {
			header.Set("Authorization", authorization)
		}
		if agent != "" {
			header.Set("Parley-Agent", agent)
		}
		target := events + "?until=closed"
		if ticket == "" {
			target = "/conversations/case/guidance"
		} else {
			target += "&ticket=" + url.QueryEscape(ticket)
		}
		answer := w.asked(target, header)
		scheme, shown, _ := strings.Cut(authorization, " ")
		good := strings.EqualFold(scheme, "bearer") && strings.TrimSpace(shown) == token && ticket == "" &&
			(agent == "" || agent == "alice")
		if opened := answer.Code == http.StatusOK; opened && !good {
			t.Fatalf("%q, ticket %q as %q: HTTP %d: %s", authorization, ticket, agent, answer.Code, answer.Body)
		}
		if authorization == "Bearer "+token && good && answer.Code != http.StatusOK {
			t.Fatalf("the token itself: HTTP %d: %s", answer.Code, answer.Body)
		}
		if answer.Code >= 500 {
			t.Fatalf("%q, ticket %q as %q: HTTP %d: %s", authorization, ticket, agent, answer.Code, answer.Body)
		}
		if body := answer.Body.String(); len(ticket) > 12 && !good && strings.Contains(body, ticket) {
			t.Fatalf("the answer tells of what was shown: %s", body)
		}
	})
}
