package rpc_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// section returns the text of a section of protocol.md.
func section(t *testing.T, title string) string {
	t.Helper()
	doc, err := os.ReadFile(protocolFile)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "\n## "+title+"\n")
	if !found {
		t.Fatalf("protocol.md has no section %q", title)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// rows returns the cells of the first table of a text, without its header.
func rows(text string) [][]string {
	var out [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if len(out) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, cells)
	}
	return out[2:]
}

func compare(t *testing.T, what string, doc, code []string) {
	t.Helper()
	if !slices.Equal(doc, code) {
		t.Errorf("%s\nprotocol.md: %s\ncode:        %s", what, strings.Join(doc, " | "), strings.Join(code, " | "))
	}
}

func TestMethodsAreThoseOfTheProtocol(t *testing.T) {
	var doc, code []string
	for _, r := range rows(section(t, "12. Methods")) {
		doc = append(doc, strings.Join(r, " "))
	}
	for _, m := range methods.Table {
		scope, socket := string(m.Scope), "no"
		if m.Scope == methods.ScopeNone {
			scope = "-"
		}
		if m.Socket {
			socket = "yes"
		}
		route := "-"
		if m.Route != "" {
			route = "`" + m.Route + "`"
		}
		link := fmt.Sprintf("[%s](docs/reference/methods.md#%s)", m.Name, strings.ToLower(m.Name))
		code = append(code, fmt.Sprintf("%s %s %s %s %s", link, m.Group, scope, socket, route))
	}
	compare(t, "the table of methods", doc, code)
}

func TestErrorsAreThoseOfTheProtocol(t *testing.T) {
	var doc, code []string
	for _, r := range rows(section(t, "3. Errors")) {
		doc = append(doc, strings.Join(r[:4], " "))
	}
	for _, e := range parley.Errors {
		retryable := "no"
		if e.Retryable {
			retryable = "yes"
		}
		code = append(code, fmt.Sprintf("%d %s %d %s", e.Code, e.Reason(), e.HTTP, retryable))
	}
	compare(t, "the table of errors", doc, code)
}

func TestNotificationsAreThoseOfTheProtocol(t *testing.T) {
	var doc []string
	for _, r := range rows(section(t, "14. Notifications")) {
		doc = append(doc, r[0])
	}
	code := []string{methods.NotifyEvent, methods.NotifyCaughtUp, methods.NotifyGuidance, methods.NotifyDelta,
		methods.NotifyRequestTurn, methods.NotifyClaimEnded, methods.NotifyClaimWaiting, methods.NotifyClosing}
	compare(t, "the table of notifications", doc, code)
}

// TestTranscriptsShowEverything: the transcripts have a call of every method, every error and every
// notification.
func TestTranscriptsShowEverything(t *testing.T) {
	var text string
	for _, s := range readScripts(t, transcripts) {
		text += s.text
	}
	for _, m := range methods.Table {
		if !strings.Contains(text, fmt.Sprintf(`"method":%q`, m.Name)) {
			t.Errorf("no transcript calls %s", m.Name)
		}
	}
	for _, e := range parley.Errors {
		if !strings.Contains(text, fmt.Sprintf(`"data":{"reason":%q`, e.Reason())) {
			t.Errorf("no transcript provokes %s", e.Reason())
		}
	}
	for _, n := range []string{methods.NotifyEvent, methods.NotifyCaughtUp, methods.NotifyGuidance, methods.NotifyDelta,
		methods.NotifyRequestTurn, methods.NotifyClaimEnded, methods.NotifyClaimWaiting, methods.NotifyClosing} {
		if !strings.Contains(text, fmt.Sprintf(`<-- {"jsonrpc":"2.0","method":%q`, n)) {
			t.Errorf("no transcript shows the notification %s", n)
		}
	}
}
