package parley_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// parsed reads subscriptions that are right.
func parsed(t testing.TB, raw string) *parley.Subscriptions {
	t.Helper()
	s, faults := parley.ParseSubscriptions(json.RawMessage(raw))
	if len(faults) > 0 {
		t.Fatalf("%s: %v", raw, faults)
	}
	return s
}

// subscriptionFaultsOf returns the errors as path: message.
func subscriptionFaultsOf(t testing.TB, raw string) (all []string) {
	t.Helper()
	s, faults := parley.ParseSubscriptions(json.RawMessage(raw))
	if (s == nil) != (len(faults) > 0) {
		t.Fatalf("%s: %v and %v", raw, s, faults)
	}
	for _, f := range faults {
		all = append(all, f.Path+": "+f.Message)
	}
	return all
}

// TestSubscriptionSpellings: a fetch is a text or an object. limit and nn are in it or beside it,
// with the same meaning.
func TestSubscriptionSpellings(t *testing.T) {
	recent := parley.Fetch{Method: parley.FetchRecent, Limit: 5}
	for raw, want := range map[string]parley.Fetch{
		`{"role":"trigger"}`:                                {Method: parley.FetchEventData},
		`{}`:                                                {Method: parley.FetchEventData},
		`{"fetch":"event_data"}`:                            {Method: parley.FetchEventData},
		`{"fetch":{"method":"event_data"}}`:                 {Method: parley.FetchEventData},
		`{"fetch":{}}`:                                      {Method: parley.FetchEventData},
		`{"role":"context","key":"k"}`:                      {Method: parley.FetchLatest},
		`{"role":"context","key":"k","fetch":{}}`:           {Method: parley.FetchLatest},
		`{"role":"context","key":"k","fetch":"latest"}`:     {Method: parley.FetchLatest},
		`{"role":"context","key":"k","fetch":"event_data"}`: {Method: parley.FetchEventData},
		`{"role":"context","key":"k","fetch":{"method":"latest","limit":1}}`:           {Method: parley.FetchLatest, Limit: 1},
		`{"role":"context","key":"k","fetch":{"limit":1}}`:                             {Method: parley.FetchLatest, Limit: 1},
		`{"role":"context","key":"k","limit":1}`:                                       {Method: parley.FetchLatest, Limit: 1},
		`{"role":"context","key":"k","fetch":{"method":"recent","limit":5}}`:           recent,
		`{"role":"context","key":"k","fetch":"recent","limit":5}`:                      recent,
		`{"role":"context","key":"k","fetch":{"method":"recent"},"limit":5}`:           recent,
		`{"role":"context","key":"k","limit":5,"fetch":{"limit":5,"method":"recent"}}`: recent,
		`{"role":"context","key":"k","fetch":"recent"}`:                                {Method: parley.FetchRecent, Limit: limits.DefaultFetchLimit},
		`{"role":"context","key":"k","fetch":"vector"}`:                                {Method: parley.FetchVector, NN: limits.DefaultFetchNN},
		`{"role":"context","key":"k","fetch":"vector","nn":7}`:                         {Method: parley.FetchVector, NN: 7},
		`{"role":"context","key":"k","fetch":{"method":"vector","nn":7}}`:              {Method: parley.FetchVector, NN: 7},
		`{"role":"context","key":"k","fetch":{"method":"recent","limit":100}}`:         {Method: parley.FetchRecent, Limit: 100},
		`{"role":"context","key":"k","fetch":{"method":"vector","nn":50}}`:             {Method: parley.FetchVector, NN: 50},
	} {
		for _, whole := range []string{`[` + raw + `]`, `{"selectors":[` + raw + `]}`, ` {"selectors": [` + raw + "] } \n"} {
			s := parsed(t, whole)
			if got := s.Selectors[0].FetchOf(); got != want {
				t.Errorf("%s: %+v, expected %+v", whole, got, want)
			}
		}
	}
}

// TestSeedSubscriptions: the examples of seed 004 are read unchanged.
func TestSeedSubscriptions(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want []string // the role, the schema and the fetch of each
	}{
		{`{"selectors":[{"schema_name":"user.message.v1","role":"trigger","fetch":"event_data"},{"schema_name":"browser.page.context.v1","role":"context","fetch":"latest"},
			{"schema_name":"tool.catalog.v1","role":"context","fetch":"latest"},{"schema_name":"agent.context.v1","role":"trigger","fetch":"event_data"}]}`,
			[]string{"trigger user.message.v1 event_data", "context browser.page.context.v1 latest",
				"context tool.catalog.v1 latest", "trigger agent.context.v1 event_data"}},
		{`{"selectors":[{"schema_name":"tool.request.v1","role":"trigger","context_match":[{"path":"$.tool","op":"eq","value":"browser-context-capture"}]},
			{"schema_name":"browser.navigation.v1","role":"trigger","fetch":"event_data"},{"schema_name":"browser.page.context.v1","role":"context","fetch":"latest"}]}`,
			[]string{"trigger tool.request.v1 event_data", "trigger browser.navigation.v1 event_data",
				"context browser.page.context.v1 latest"}},
		{`{"selectors":[{"schema_name":"user.message.v1","role":"trigger"}]}`,
			[]string{"trigger user.message.v1 event_data"}},
		{`{"selectors":[{"schema_name":"user.message.v1","any_tags":["user:message"]}]}`,
			[]string{" user.message.v1 event_data"}},
		{`{"selectors":[{"schema_name":"user.message.v1","role":"trigger","fetch":{"method":"event_data"}},
			{"schema_name":"browser.page.context.v1","role":"context","fetch":{"method":"latest","limit":1}}]}`,
			[]string{"trigger user.message.v1 event_data", "context browser.page.context.v1 latest"}},
		{`{"selectors":[{"schema_name":"tool.request.v1","context_match":[{"path":"$.tool","op":"eq","value":"smart-search"}],"role":"trigger"},
			{"schema_name":"browser.page.context.v1","role":"context"}]}`,
			[]string{"trigger tool.request.v1 event_data", "context browser.page.context.v1 latest"}},
	} {
		s := parsed(t, c.raw)
		var got []string
		for i := range s.Selectors {
			sel := &s.Selectors[i]
			got = append(got, fmt.Sprintf("%s %s %s", sel.Role, sel.SchemaName, sel.FetchOf().Method))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q, expected %q", got, c.want)
		}
	}
}

// TestContextKeys: a key is the schema without its version and with _ for dots, unless there is
// one.
func TestContextKeys(t *testing.T) {
	for schema, want := range map[string]string{
		"browser.page.context.v1": "browser_page_context", "a": "a", "a.v1": "a", "a.v12": "a", "a.v": "a_v",
		"a.v1.b": "a_v1_b", "a.v1.v2": "a_v1", "av1": "av1", ".v1": "", "": "", "a.vx": "a_vx",
	} {
		if got := parley.ContextKey(schema); got != want {
			t.Errorf("%q makes %q, expected %q", schema, got, want)
		}
	}
	s := parsed(t, `[{"role":"context","schema_name":"a.b.v1"},{"role":"context","schema_name":"a.b.v1","key":"mine"}]`)
	if a, b := s.Selectors[0].ContextKey(), s.Selectors[1].ContextKey(); a != "a_b" || b != "mine" {
		t.Error(a, b)
	}
}

// context makes a context selector with these members.
func contextWith(members string) string { return `[{"role":"context","key":"k",` + members + `}]` }

// conditionOf makes a selector with one condition.
func conditionOf(members string) string { return `[{"context_match":[{` + members + `}]}]` }

// TestSubscriptionFaults: invalid values are refused with their path and the expected value, and
// with no other error.
func TestSubscriptionFaults(t *testing.T) {
	long := strings.Repeat("x", 600)
	for raw, want := range map[string]string{
		``:                                      "$: expected an object with selectors, or a list of them",
		`null`:                                  "$: expected an object with selectors",
		`"a"`:                                   "$: expected an object with selectors",
		`{}`:                                    "$.selectors: expected 1 to 32 selectors",
		`{"selectors":[]}`:                      "$.selectors: expected 1 to 32 selectors",
		`[]`:                                    "$: expected 1 to 32 selectors",
		`{"selectors":null}`:                    "$.selectors: expected it to be left out, not null",
		`{"selectors":{}}`:                      "$.selectors: expected a list of selectors",
		`{"selectors":[null]}`:                  "$.selectors[0]: expected an object",
		`[1]`:                                   "$[0]: expected an object",
		`{"selector":[{}],"selectors":[{}]}`:    "$.selector: there is no such field: expected one of answer_schema, include_self, max_context_bytes, selectors",
		`{"Selectors":[{}],"selectors":[{}]}`:   "$.Selectors: there is no such field",
		`[` + strings.Repeat(`{},`, 32) + `{}]`: "$: expected at most 32 selectors",
		`["` + strings.Repeat("x", 64<<10) + `"]`:           "$: expected at most 65536 bytes",
		`{"selectors":[{}],"answer_schema":1}`:              "$.answer_schema: expected a text",
		`{"selectors":[{}],"answer_schema":null}`:           "$.answer_schema: expected a text, not null",
		`{"selectors":[{}],"answer_schema":"` + long + `"}`: "$.answer_schema: expected at most 128 bytes",
		`{"selectors":[{}],"include_self":"yes"}`:           "$.include_self: expected true or false",
		`{"selectors":[{}],"include_self":null}`:            "$.include_self: expected true or false, not null",
		`{"selectors":[{}],"max_context_bytes":0}`:          "$.max_context_bytes: expected at least 1",
		`{"selectors":[{}],"max_context_bytes":10}`:         "$.max_context_bytes: expected 1024 to 524288",
		`{"selectors":[{}],"max_context_bytes":1e9}`:        "$.max_context_bytes: expected an integer",

		`[{"schema":"a"}]`:                                       "$[0].schema: there is no such field: expected one of all_tags, any_tags, context_match, fetch, key, limit, llm_hints, nn, role, schema_name, scope",
		`{"selectors":[{},{"schema":"a"}]}`:                      "$.selectors[1].schema: there is no such field",
		`[{"schema_name":1}]`:                                    "$[0].schema_name: expected a text",
		`[{"schema_name":""}]`:                                   "$[0].schema_name: expected a text that is not empty",
		`[{"schema_name":null}]`:                                 "$[0].schema_name: expected a text, not null",
		`[{"schema_name":"a\u0000"}]`:                            "$[0].schema_name: expected text without control characters",
		`[{"schema_name":"` + long + `"}]`:                       "$[0].schema_name: expected at most 128 bytes",
		`[{"any_tags":null}]`:                                    "$[0].any_tags: expected a list of texts, not null",
		`[{"any_tags":"a"}]`:                                     "$[0].any_tags: expected a list of texts",
		`[{"any_tags":["a",null]}]`:                              "$[0].any_tags: expected a list of texts",
		`[{"all_tags":["a",""]}]`:                                "$[0].all_tags[1]: expected a text that is not empty",
		`[{"all_tags":["` + long + `"]}]`:                        "$[0].all_tags[0]: expected at most 128 bytes",
		`[{"all_tags":["a"` + strings.Repeat(`,"a"`, 32) + `]}]`: "$[0].all_tags: expected at most 32 tags",
		`[{"role":"listener"}]`:                                  "$[0].role: expected trigger or context",
		`[{"role":""}]`:                                          "$[0].role: expected trigger or context",
		`[{"role":1}]`:                                           "$[0].role: expected a text",
		`[{"role":"Context","fetch":"recent"}]`:                  "$[0].role: expected trigger or context",
		`[{"role":1,"fetch":"recent","key":"k"}]`:                "$[0].role: expected a text",
		`[{"scope":"world"}]`:                                    "$[0].scope: expected conversation or workspace",
		`[{"scope":""}]`:                                         "$[0].scope: expected conversation or workspace",

		`[{"fetch":"newest"}]`:                                         "$[0].fetch: expected event_data, latest, recent or vector",
		`[{"fetch":""}]`:                                               "$[0].fetch: expected event_data, latest, recent or vector",
		`[{"fetch":["latest"]}]`:                                       "$[0].fetch: expected a text or an object",
		`[{"fetch":null}]`:                                             "$[0].fetch: expected it to be left out, not null",
		`[{"fetch":{"methode":"latest"}}]`:                             "$[0].fetch.methode: there is no such field: expected one of limit, method, nn",
		`[{"fetch":{"method":"newest"}}]`:                              "$[0].fetch.method: expected event_data, latest, recent or vector",
		`[{"fetch":{"method":null}}]`:                                  "$[0].fetch.method: expected it to be left out, not null",
		`[{"fetch":"latest"}]`:                                         "$[0].fetch: expected event_data for a trigger",
		`[{"role":"trigger","fetch":{"method":"recent"}}]`:             "$[0].fetch: expected event_data for a trigger",
		`[{"limit":2}]`:                                                "$[0].limit: expected with fetch recent only",
		contextWith(`"limit":2`):                                       "$[0].limit: expected 1 with fetch latest: recent brings more",
		contextWith(`"fetch":{"method":"latest","limit":2}`):           "$[0].fetch.limit: expected 1 with fetch latest",
		contextWith(`"fetch":"recent","limit":0`):                      "$[0].limit: expected at least 1",
		contextWith(`"fetch":"recent","limit":101`):                    "$[0].limit: expected 1 to 100",
		contextWith(`"fetch":{"method":"recent","limit":101}`):         "$[0].fetch.limit: expected 1 to 100",
		contextWith(`"fetch":"recent","limit":1.5`):                    "$[0].limit: expected an integer",
		contextWith(`"fetch":"recent","limit":"5"`):                    "$[0].limit: expected an integer",
		contextWith(`"fetch":"recent","nn":5`):                         "$[0].nn: expected with fetch vector only",
		contextWith(`"fetch":{"method":"vector","limit":5}`):           "$[0].fetch.limit: expected with fetch recent only",
		contextWith(`"fetch":{"method":"vector","nn":51}`):             "$[0].fetch.nn: expected 1 to 50",
		contextWith(`"fetch":{"method":"recent","limit":5},"limit":6`): "$[0].limit: expected what fetch says, or only one of the two",

		`[{"role":"context"}]`:                                        "$[0].key: expected a key, or a schema_name that makes one",
		`[{"role":"context","any_tags":["a"]}]`:                       "$[0].key: expected a key",
		`[{"role":"context","schema_name":".v1"}]`:                    "$[0].key: expected a key",
		`[{"role":"context","key":""}]`:                               "$[0].key: expected a text that is not empty",
		`[{"role":"context","key":"trigger"}]`:                        "$[0].key: expected another key than trigger",
		`[{"role":"context","schema_name":"triggers.v1"}]`:            "$[0].key: expected another key than triggers",
		`[{"role":"context","key":"` + long + `"}]`:                   "$[0].key: expected at most 128 bytes",
		`[{"key":"k"}]`:                                               "$[0].key: expected with role context only",
		`[{"role":"context","key":"k"},{"role":"context","key":"k"}]`: "$[1].key: expected each key once: $[0] has k too",
		`[{"role":"context","schema_name":"a.b.v1"},{},{"role":"context","schema_name":"a.b.v2"}]`: "$[2].key: expected each key once: $[0] has a_b too",

		`[{"context_match":{}}]`:  "$[0].context_match: expected a list of conditions",
		`[{"context_match":[1]}]`: "$[0].context_match[0]: expected an object",
		`[{"context_match":[` + strings.Repeat(`{"path":"$","op":"exists"},`, 16) +
			`{"path":"$","op":"exists"}]}]`: "$[0].context_match: expected at most 16 conditions",
		conditionOf(`"op":"exists"`):                                "$[0].context_match[0].path: expected a JSONPath, which begins with $",
		conditionOf(`"path":"tool","op":"exists"`):                  "$[0].context_match[0].path: expected a JSONPath, which begins with $",
		conditionOf(`"path":1,"op":"exists"`):                       "$[0].context_match[0].path: expected a text",
		conditionOf(`"path":"$.` + long + `","op":"exists"`):        "$[0].context_match[0].path: expected at most 512 bytes",
		conditionOf(`"path":"$.a","value":1`):                       "$[0].context_match[0].op: expected one of eq, ne, gt, gte, lt, lte, contains, contains_any, exists",
		conditionOf(`"path":"$.a","op":"EQ","value":1`):             "$[0].context_match[0].op: expected one of",
		conditionOf(`"path":"$.a","op":"in","value":1`):             "$[0].context_match[0].op: expected one of",
		conditionOf(`"path":"$.a","op":"eq"`):                       "$[0].context_match[0].value: expected a value for eq",
		conditionOf(`"path":"$.a","op":"exists","value":1`):         "$[0].context_match[0].value: expected true or false for exists, or none",
		conditionOf(`"path":"$.a","op":"exists","value":null`):      "$[0].context_match[0].value: expected true or false for exists, or none",
		conditionOf(`"path":"$.a","op":"gt","value":true`):          "$[0].context_match[0].value: expected a number or a text for gt",
		conditionOf(`"path":"$.a","op":"lte","value":null`):         "$[0].context_match[0].value: expected a number or a text for lte",
		conditionOf(`"path":"$.a","op":"contains_any","value":"a"`): "$[0].context_match[0].value: expected a list for contains_any",
		conditionOf(`"path":"$.a","op":"eq","value":"` + strings.Repeat("x", 4<<10) +
			`"`): "$[0].context_match[0].value: expected at most 4096 bytes",
		conditionOf(`"path":"$.a","op":"exists","val":1`): "$[0].context_match[0].val: there is no such field: expected one of op, path, value",

		`[{"llm_hints":[]}]`:                           "$[0].llm_hints: expected an object",
		`[{"llm_hints":{"mode":"merge"}}]`:             "$[0].llm_hints.mode: there is no such field: expected one of exclude, include, template",
		`[{"llm_hints":{"include":"a"}}]`:              "$[0].llm_hints.include: expected a list of texts",
		`[{"llm_hints":{"include":["a",""]}}]`:         "$[0].llm_hints.include[1]: expected a dotted name",
		`[{"llm_hints":{"exclude":["a..b"]}}]`:         "$[0].llm_hints.exclude[0]: expected a dotted name",
		`[{"llm_hints":{"exclude":["` + long + `"]}}]`: "$[0].llm_hints.exclude[0]: expected a dotted name of at most 256 bytes",
		`[{"llm_hints":{"include":["a"` + strings.Repeat(`,"a"`, 64) +
			`]}}]`: "$[0].llm_hints.include: expected at most 64 names",
		`[{"llm_hints":{"template":""}}]`:            "$[0].llm_hints.template: expected a text that is not empty",
		`[{"llm_hints":{"template":"a {{b"}}]`:       "$[0].llm_hints.template: expected a dotted name and }} after {{ at byte 2",
		`[{"llm_hints":{"template":"{{a}} {{ }}"}}]`: "$[0].llm_hints.template: expected a dotted name and }} after {{ at byte 6",
		`[{"llm_hints":{"template":"` + strings.Repeat("x", 5000) +
			`"}}]`: "$[0].llm_hints.template: expected at most 4096 bytes",
	} {
		got := subscriptionFaultsOf(t, raw)
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%.120s: %q, expected one that begins with %q", raw, got, want)
		}
	}
}

// TestAllSubscriptionFaults: one call reports all errors, each once.
func TestAllSubscriptionFaults(t *testing.T) {
	got := subscriptionFaultsOf(
		t,
		`{"x":1,"max_context_bytes":7,"selectors":[{"role":"listener"},{"role":"context","fetch":"newest"},{"schema_name":3,"any_tags":[""],"context_match":[{"path":"a","op":"like"},{"path":"$","op":"eq"}]}]}`,
	)
	want := []string{
		"$.selectors[1].fetch",
		"$.selectors[2].schema_name",
		"$.x",
		"$.max_context_bytes",
		"$.selectors[0].role",
		"$.selectors[1].key",
		"$.selectors[2].any_tags[0]",
		"$.selectors[2].context_match[0].path",
		"$.selectors[2].context_match[0].op",
		"$.selectors[2].context_match[1].value",
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]+": ") {
			t.Errorf("%q, expected %s", got[i], want[i])
		}
	}
}

// TestSubscriptionRoundTrip: subscriptions say in JSON what they are, and are read as they were: no
// empty list becomes none, and no value changes.
func TestSubscriptionRoundTrip(t *testing.T) {
	for _, raw := range []string{
		`[{}]`, `[{"any_tags":[],"all_tags":[]}]`, `[{"any_tags":["a","<b>"],"role":"trigger","scope":"workspace"}]`,
		conditionOf(`"path":"$.a","op":"eq","value": {"a" : [1.0, 1e400, null, "<&\u003e\u2028ü"]}`),
		conditionOf(`"path":"$.a","op":"eq","value":null`), conditionOf(`"path":"$.a","op":"exists"`),
		contextWith(`"fetch":{"limit":1}`), contextWith(`"fetch":"vector"`),
		contextWith(`"llm_hints":{"include":[],"exclude":["a.b"],"template":"{{a.b}} {{ c }}"}`),
		contextWith(`"llm_hints":{}`), contextWith(`"llm_hints":{"exclude":[]},"context_match":[]`),
		`{"selectors":[{"schema_name":"a.v1"}],"answer_schema":"b.v1","include_self":true,"max_context_bytes":2048}`,
	} {
		s := parsed(t, raw)
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back := parsed(t, string(written))
		if !reflect.DeepEqual(s, back) {
			t.Errorf("%s\nis read as %+v\nand written as %s\nwhich is read as %+v", raw, s, written, back)
		}
		if again, err := json.Marshal(back); err != nil || string(again) != string(written) {
			t.Errorf("%s\nis written as %s\nand then %s", raw, written, again)
		}
	}
}

// FuzzParseSubscriptions: there are subscriptions or faults, and what is read is the same when it
// is written and read again.
func FuzzParseSubscriptions(f *testing.F) {
	for _, raw := range []string{`[{}]`, `{"selectors":[{"fetch":{"limit":1},"limit":2}]}`,
		conditionOf(`"path":"$.a","op":"eq","value":"<"`), contextWith(`"llm_hints":{"template":"{{a}}"}`), `[[`,
		`{"selectors":[{"role":null}]}`} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		s, faults := parley.ParseSubscriptions(json.RawMessage(raw))
		if (s == nil) != (len(faults) > 0) {
			t.Fatalf("%v and %v", s, faults)
		}
		if s == nil {
			return
		}
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, faults := parley.ParseSubscriptions(written)
		if len(faults) > 0 && len(written) <= limits.MaxSubscriptionBytes || len(faults) == 0 && !reflect.DeepEqual(s, back) {
			t.Fatalf("%s\nis written as %s\nand read as %+v, %v", raw, written, back, faults)
		}
	})
}
