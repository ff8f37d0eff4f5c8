package eventdata_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// FuzzEvent checks that a decoded event keeps its bytes, and that both encoders write the same known fields.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"x"}}`))
	f.Add([]byte(`{"seq":7,"turn":3,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z",` +
		`"finality":"conversation","outcome":{"status":"failed","reason":"<\"\u2028"},` +
		`"payload":{"text":"\u00e9<"},"clientRequestId":"é\u0001","new":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e parley.Event
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		kept, err := e.MarshalJSON()
		if err != nil || string(kept) != string(e.Raw()) {
			t.Fatalf("raw %q comes back as %q, %v", e.Raw(), kept, err)
		}
		if year := e.At.Time().Year(); year < 0 || year > 9999 || len(e.Payload) == 0 {
			return
		}
		canonical, err := e.Encode()
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		var again parley.Event
		if err := json.Unmarshal(canonical, &again); err != nil {
			t.Fatalf("%s does not decode: %v", canonical, err)
		}
		twice, err := again.Encode()
		if err != nil || string(twice) != string(canonical) {
			t.Fatalf("%s, again %s, %v", canonical, twice, err)
		}
		if !parley.ValidParticipantID(e.From) || !plain(string(e.Type)) || !plain(string(e.Finality)) ||
			(e.Outcome != nil && !plain(string(e.Outcome.Status))) {
			return // the hub writes no such event
		}
		if got := eventdata.AppendEvent(nil, &again); string(got) != string(canonical) {
			t.Fatalf("AppendEvent %s, Encode %s", got, canonical)
		}
	})
}

func plain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
}
