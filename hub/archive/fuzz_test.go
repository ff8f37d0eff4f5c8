package archive_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// FuzzArchive: an archive with a valid chain is refused, or it can be imported and a hub serves it,
// whatever its events are.
func FuzzArchive(f *testing.F) {
	const created = `{"seq":1,"type":"system","from":"hub","at":"2026-11-20T09:00:00.000Z","payload":{"kind":"conversation_created","createdBy":"a","participants":[{"id":"a","kind":"agent"},{"id":"b","kind":"human"}],"policy":{"kind":"round_robin"},"startsWith":"a"}}`
	const said = `{"seq":2,"turn":1,"type":"message","from":"a","at":"2026-11-20T09:00:01.000Z","finality":"turn","payload":{"text":"x"},"clientRequestId":"k"}`
	for _, pair := range [][2]string{
		{said, `{"seq":3,"turn":2,"type":"message","from":"b","at":"2026-11-20T09:00:02.000Z","finality":"conversation","outcome":{"status":"failed"},"payload":{"data":[1e999]}}`},
		{said, `{"seq":3,"type":"system","from":"b","at":"2026-11-20T09:00:02.000Z","payload":{"kind":"note","schema":"s","data":1}}`},
		{`{"seq":2,"type":"system","from":"hub","at":"2026-11-20T09:00:01.000Z","payload":{"kind":"turn_claimed","turn":1,"agentId":"a","attempt":1,"claimHash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","durationMs":1000,"upTo":1}}`,
			`{"seq":3,"type":"system","from":"hub","at":"2026-11-20T09:00:02.000Z","payload":{"kind":"claim_ended","turn":1,"claimHash":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","reason":"expired"}}`},
		{`{"seq":2,"type":"system","from":"hub","at":"2026-11-20T09:00:01.000Z","payload":{"kind":"session_started","sessionId":"ses_1","agentId":"a","agent":"x","mode":"async_callback"}}`,
			`{"seq":3,"type":"system","from":"hub","at":"2026-11-20T09:00:02.000Z","payload":{"kind":"session_ended","sessionId":"ses_1","status":"completed"}}`},
		{`{"seq":2,"type":"system","from":"hub","at":"2026-11-20T09:00:01.000Z","payload":{"kind":"turn_ended","turn":1,"agentId":"a","reason":"skipped"}}`,
			`{"seq":3,"type":"system","from":"hub","at":"2026-11-20T09:00:02.000Z","payload":{"kind":"participant_added","participant":{"id":"c","kind":"tool"},"addedBy":"a"}}`},
		{said, `{"seq":3,"type":"later","from":"x","at":"0000-01-01T00:00:00.000Z","payload":{}}`}, {`{}`, ``}, {said, said},
	} {
		f.Add([]byte(created), []byte(pair[0]), []byte(pair[1]))
	}
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		var out bytes.Buffer
		w := archive.NewWriter(&out, nil)
		hash := journal.Genesis("case")
		for i, data := range [][]byte{first, second, third} {
			hash = hash.Next(data)
			if err := w.Event("case", int64(i+1), hash, data); err != nil {
				return
			}
		}
		o := &archive.CheckOptions{WithoutAttachments: true}
		if err := archive.CheckImport(t.Context(), bytes.NewReader(out.Bytes()), nil, o); err != nil {
			if named := (*archive.LineError)(nil); !errors.As(err, &named) || named.Line == 0 {
				t.Fatalf("what is wrong has no line: %v", err)
			}
			return
		}
		j := memory.New()
		defer j.Close()
		if _, err := archive.Import(t.Context(), bytes.NewReader(out.Bytes()), j, o); err != nil {
			t.Fatalf("%s\nhas passed the check, and cannot be imported: %v", &out, err)
		}
		h, err := hub.Open(j, nil)
		if err != nil {
			t.Fatalf("%s\nno hub starts on it: %v", &out, err)
		}
		defer h.Close()
		c := h.Client(h.LocalPrincipal("admin", parley.ScopeAdmin))
		s, err := c.GetConversation(t.Context(), &parley.GetConversationParams{ConversationID: "case", Limit: 10})
		if err != nil || len(s.Events) < 3 { // a limit of time may have closed it since
			t.Fatalf("%s\nis served as %+v, %v", &out, s, err)
		}
		for i, data := range [][]byte{first, second, third} {
			if !bytes.Equal(s.Events[i].Raw(), data) {
				t.Fatalf("%s is served as %s", data, s.Events[i].Raw())
			}
		}
		if _, err := c.Explain(t.Context(), &parley.ExplainParams{ConversationID: "case"}); err != nil {
			t.Fatalf("%s\nis not explained: %v", &out, err)
		}
	})
}
