package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// TestApprovalEvents: the events of approvals are lines that people read, whatever others wrote
// into them.
func TestApprovalEvents(t *testing.T) {
	t.Parallel()
	for _, row := range [][2]string{
		{`{"kind":"approval_requested","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","key":"k","title":"pay ` +
			`\u001b[2J","expiresAt":"2026-11-20T09:00:00.000Z"}}`,
			`bot asks: pay \x1b[2J (c.3, until 2026-11-20T09:00:00.000Z)`},
		{`{"kind":"approval_details","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","details":{"eur":1},` +
			`"answerSchema":{}}}`,
			`c.3 is about {"eur":1}, and takes an answer`},
		{`{"kind":"approval_details","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","hash":"x"}}`,
			`c.3 is about what its title says`},
		{`{"kind":"approval_resolved","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","status":"rejected",` +
			`"by":"ann","comment":"no\nway"}}`,
			`c.3 is rejected by ann: no\nway`},
		{`{"kind":"approval_resolved","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","status":"timed_out"}}`,
			`c.3 has timed out: not approved`},
		{`{"kind":"approval_answer","turn":1,"agentId":"bot","approval":{"approvalId":"c.3","answer":{"eur":2}}}`,
			`c.3 is answered with {"eur":2}`},
		{`{"kind":"approval_resolved","turn":1}`,
			`approval_resolved {"kind":"approval_resolved","turn":1}`},
	} {
		payload, want := row[0], row[1]
		var out bytes.Buffer
		v := New(cli.NewStream(&out))
		v.Event(&parley.Event{Seq: 7, Type: parley.TypeSystem, From: parley.HubID, Payload: json.RawMessage(payload)})
		if got := strings.TrimSuffix(out.String(), "\n"); !strings.HasSuffix(got, "  "+want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", payload, got)
		}
	}
}
