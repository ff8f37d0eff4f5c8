package policy_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

// expressions are asked about a message that is as large as an expression can see: 64 seats, 16 KiB of text, and data.
var expressions = []string{
	// the variables
	"true", "false", "last.from == 'p0'", "last.kind == 'agent'", "last.role == 'reviewer'",
	"last.text.startsWith('aaa')", "last.text.size() == 16384",
	"last.schema == 'case.v1'", "'urgent' in last.tags", "last.tags == ['urgent', 'new']", "last.turn == 3",
	"turns == 5", "autonomous == 2",
	"participants.size() == 64", "participants[1].id == 'p1'", "participants.exists(p, p.role == 'nurse')",
	"participants.exists(p, has(p.private))",
	"dyn(participants[0]).map(k, k) == ['id', 'kind', 'role']", "counts['p1'] == 1", "counts.size() == 64",
	"counts['stranger'] == 0", "'stranger' in counts",
	"counts.exists(id, counts[id] > 0)", "counts.map(id, id)[63] == 'p9'",
	// data, which has no type
	"last.data.n == 3", "last.data.n > 2.5", "last.data.n + 0.5 == 3.5", "int(last.data.n) % 2 == 1",
	"last.data.n + 1 == 4", "last.data.yes", "last.data.n",
	"last.data.missing == 1", "has(last.data.missing)", "has(last.data.n) && last.data.n == 3", "has(last.data.none.x)",
	"last.data.none == null",
	"last.data.missing == 1 || true", "true || last.data.missing == 1", "last.data.missing == 1 && false",
	"last.data.huge > 1.0", "last.data.list[0] == 0",
	"last.data.list[9999] == 0", "last.data['n'] == 3",
	"last.data.map(k, k) == ['deep', 'huge', 'list', 'n', 'name', 'none', 'yes']",
	"last.data.deep.d.d.d.d.d.d.d.d.d.d.d.d.d.d.d.d.d.d.d.d == 1", "last.data == last.data", "last == last",
	"type(last) == map",
	// faults
	"1", "'true'", "last", "last.data", "last['from'] == 'p0'", "last.form == 'p0'", "last.private == ''",
	"metadata.x == 1", "1 / 0 == 1", "turns / 0 == 1 || true",
	"turns + 9223372036854775807 > 0", "last.text ==", "last.text == \"\\x00\"", "now() > 1", "random() > 0.5",
	"last.text == 'a", "[1][5] == 1", "'a' + 1 == 'b'",
	"turns > '1'", "last.from.unknown()", "'\U0001f600'.size() == 1", "b'\\xff' == bytes('x')",
	// what could depend on the machine, or on luck
	"timestamp('2026-01-01T00:30:00+01:00').getHours() == 23",
	"timestamp('2026-01-01T00:00:00Z').getHours('America/New_York') == 19",
	"duration('1h') > duration('59m')", "{'a': 1}.size() == 1", "{'b': 1, 'a': 2}.map(k, k)[0] == 'a'",
	"message{from: 'x'}.from == 'x'",
	"google.protobuf.Int64Value{value: 1} == 1",
	// patterns
	"last.text.matches('approved|denied')", "last.text.matches('^a+$')", "last.text.matches('(a|aa)+$')",
	"matches(last.from, 'p[0-9]')",
	"last.data.name.matches('a{200}b')", "last.text.matches('a{200}b')", "last.role.matches('a{1000}')",
	"last.role.matches('(a?){50}(a?){50}(a?){50}a')",
	"last.text.matches('(')", "'x'.matches(last.text)", "last.text.matches(last.data.name)",
	"last.text.matches('a' + 'b')", "last.text.matches('(?=a)')",
	// too much
	"participants.exists(p, last.text.contains(p.id))",
	"participants.all(a, participants.all(b, a.id != '' && b.id != ''))",
	"participants.all(a, participants.all(b, participants.all(c, a.id + b.id + c.id != '')))",
	"participants.all(a, participants.all(b, participants.all(c, participants.all(d, true))))",
	strings.Repeat("participants.all(a, ", 20) + "true" + strings.Repeat(")", 20),
	"participants.all(a, participants.all(b, last.text == last.text))",
	"participants.all(a, participants.all(b, last.data == last.data))",
	"participants.all(a, participants.all(b, last.data.list in [last.data.list]))",
	"last.data.list.all(a, last.data.list.all(b, a == b))",
	"last.data.list.map(a, last.data.list).size() > 0", "last.data.list.all(x, last.data.name.size() > 0)",
	"last.data.list.all(x, last.text.size() > 0)",
	"last.data.list.all(x, last.data.name + last.data.name != '')",
	"last.data.list.all(x, string(bytes(last.data.name)) != '')",
	"last.data.list.all(x, timestamp(last.data.name) == timestamp(last.data.name))",
	"last.data.list.all(x, last.data.name.matches('a{100}b') || true)",
	"last.data.list.all(x, last.data.name.contains('aaaab') || true)",
	"last.data.list.map(x, [x, x]).map(x, [x, x]).size() > 0",
	"last.data.list.filter(x, true).map(x, x + 1.0).all(x, x > 0.0)",
	"[last.text]" + strings.Repeat(".map(x,x+x)", 20) + ".size() == 1",
	"[last.data.name]" + strings.Repeat(".map(x,x+x)", 20) + ".size() == 1",
	"[last.data.list]" + strings.Repeat(".map(x,x+x)", 20) + ".exists(x, x == x)",
	"[1]" + strings.Repeat(".map(x,[x,x])", 20) + " == [1]" + strings.Repeat(".map(x,[x,x])", 20),
	"[1]" + strings.Repeat(".map(x,dyn([x,x]))", 20) + ".exists(x, x == x)",
	"[1]" + strings.Repeat(".map(x,[x,x])", 140) + ".exists(x, x == x)",
	strings.Repeat("(", 20) + "true" + strings.Repeat(")", 20), strings.Repeat("(", 1000) + "true" +
		strings.Repeat(")", 1000),
	strings.Repeat("(", 5000) + "true" + strings.Repeat(")", 5000), strings.Repeat("[", 1000) +
		strings.Repeat("]", 1000) + " == []",
	strings.Repeat("!", 2000) + "true", strings.Repeat("-", 2000) + "1 == 1", "true" + strings.Repeat("||true", 300),
	"0" + strings.Repeat("+1", 1000) + " == 1000",
	strings.Repeat("true?", 400) + "true" + strings.Repeat(":true", 400), "last" + strings.Repeat(".x", 1000),
	strings.Repeat("(", 2000),
}

// large is the message that expressions are asked about.
func large() *policy.Ended {
	e := &policy.Ended{Policy: parley.Policy{Kind: parley.PolicyOpen}, From: "p0", Turn: 3, Turns: 5, Autonomous: 2}
	for i := range limits.MaxParticipants {
		e.Seats = append(e.Seats, parley.Participant{ID: fmt.Sprint("p", i), Kind: parley.KindAgent, Role: "reviewer",
			Private: "secret"})
		e.Counts = append(e.Counts, int64(i%3))
	}
	e.Payload = message(parley.Message{
		Text: strings.Repeat("a", 17<<10), Schema: "case.v1", Tags: []string{"urgent", "new"},
		Data: json.RawMessage(`{"n":3,"yes":true,"none":null,"huge":1e999,"name":"` + strings.Repeat("a", 6000) +
			`","list":[0` + strings.Repeat(",0", 3999) +
			`],"deep":` + strings.Repeat(`{"d":`, 20) + "1" + strings.Repeat("}", 20) + `}`),
	})
	return e
}

// TestExpressions lists for each expression whether it is accepted, its result, and the reason. The results are part
// of the meaning of logs: if one changes, for example with a new version of the library, old conversations have other
// speakers.
func TestExpressions(t *testing.T) {
	var lines []string
	for _, x := range expressions {
		line := answer(x)
		if len(x) > 100 {
			x = fmt.Sprintf("%s... (%d)", x[:100], len(x))
		}
		lines = append(lines, x+"\n\t"+line)
	}
	compareLines(t, "expressions", lines)
}

func answer(x string) string {
	e := large()
	if err := policy.Check(e.Policy, x, e.Seats); err != nil {
		return err.Error()
	}
	_, because := policy.Stop(x, e)
	return because
}

func TestNothingIsSeenOfTooMuchData(t *testing.T) {
	for _, c := range []struct {
		bytes int
		want  string
	}{{16 << 10, "limits.stopWhen holds"}, {16<<10 + 1, "limits.stopWhen does not hold"}} {
		e := ended(parley.Policy{Kind: parley.PolicyOpen}, "payer", "")
		e.Payload = message(parley.Message{Data: json.RawMessage(`"` + strings.Repeat("a", c.bytes-2) + `"`)})
		if _, because := policy.Stop("last.data != null", e); because != c.want {
			t.Errorf("%d bytes: %s, want %s", c.bytes, because, c.want)
		}
	}
}

func TestTextIsCutBetweenCharacters(t *testing.T) {
	e := ended(parley.Policy{Kind: parley.PolicyOpen}, "payer", "a"+strings.Repeat("é", 8<<10))
	if stop, because := policy.Stop("last.text.size() == 8192 && last.text.endsWith('é')", e); !stop {
		t.Error(because)
	}
}

// TestOrderIsTheSame asks a hundred times what a map of Go would answer by luck.
func TestOrderIsTheSame(t *testing.T) {
	e := ended(parley.Policy{Kind: parley.PolicyOpen}, "payer", "")
	e.Payload = json.RawMessage(`{"data":{"z":1,"a":2,"m":{"y":1,"b":2},"k":0}}`)
	for range 100 {
		for _, x := range []string{
			"last.data.map(k, k) == ['a', 'k', 'm', 'z']", "last.data.m.map(k, k) == ['b', 'y']",
			"counts.map(k, k) == ['anna', 'clinic', 'lab.north', 'payer']",
		} {
			again := *e
			if stop, because := policy.Stop(x, &again); !stop {
				t.Fatalf("%s: %s", x, because)
			}
		}
	}
}

// TestMoreProgramsThanAreKept passes the bound of the programs that are kept.
func TestMoreProgramsThanAreKept(t *testing.T) {
	e := ended(parley.Policy{Kind: parley.PolicyOpen}, "payer", "")
	for i := range 1100 {
		if stop, because := policy.Stop(fmt.Sprintf("turns == 3 && %d == %d", i, i), e); !stop {
			t.Fatal(because)
		}
	}
}
