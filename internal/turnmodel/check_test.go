package turnmodel_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/turnmodel"
)

// history makes ops of one conversation out of what stands between begin and end: each line is BEGIN END CLIENT KIND TURN CLAIM RESULT SEQ, where - is nothing.
func history(t *testing.T, text string) []turnmodel.Op {
	t.Helper()
	var ops []turnmodel.Op
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		o := turnmodel.Op{Conversation: "c"}
		if _, err := fmt.Sscan(line, &o.Begin, &o.End, &o.Client, &o.Kind, &o.Turn, &o.Claim, &o.Result, &o.Seq); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if o.Claim == "-" {
			o.Claim = ""
		}
		if o.Result == "unknown" {
			o.Result = turnmodel.Unknown
		}
		ops = append(ops, o)
	}
	return ops
}

var cases = []struct {
	name, history string
	holds         bool
}{
	{"a turn after another", `
		0 1 x claim 1 c1 done 0
		2 3 x say 1 c1 done 5
		4 5 x final 1 c1 done 6
		6 7 h final 2 - done 7
		8 9 x claim 3 c3 done 0`, true},
	{"a takeover", `
		0 1 x claim 1 c1 done 0
		2 3 x say 1 c1 done 5
		10 11 y claim 1 c2 done 0
		12 13 x say 1 c1 lost 0
		14 15 y final 1 c2 done 9
		16 17 x renew 1 c1 lost 0
		18 19 x say 1 - over 0`, true},
	{"words of a claim that was taken over", `
		0 1 x claim 1 c1 done 0
		10 11 y claim 1 c2 done 0
		12 13 x say 1 c1 done 7
		14 15 y final 1 c2 done 9`, false},
	{"words of a claim that was told to be lost", `
		0 1 x claim 1 c1 done 0
		2 3 x renew 1 c1 lost 0
		4 5 x say 1 c1 done 7`, false},
	{"a renewal beside another's claim", `
		0 1 x claim 1 c1 done 0
		2 3 y claim 1 c2 done 0
		4 5 x renew 1 c1 done 0`, false},
	{"two finals of a turn", `
		0 1 x claim 1 c1 done 0
		2 3 x final 1 c1 done 5
		4 5 y final 1 - done 6`, false},
	{"two finals of a turn at the same time", `
		0 9 x final 1 - done 5
		0 9 y final 1 - done 6`, false},
	{"words in a closed turn", `
		0 1 x final 1 - done 5
		2 3 y say 1 - done 6`, false},
	{"a claim on a closed turn", `
		0 1 x final 1 - done 5
		2 3 y claim 1 c1 done 0`, false},
	{"a turn that was said to have ended and has not", `
		0 1 x claim 1 c1 done 0
		2 3 y say 1 - over 0
		4 5 x final 1 c1 done 6`, false},
	{"a claim that comes back", `
		0 1 x claim 1 c1 done 0
		2 3 y claim 1 c2 done 0
		4 5 x claim 1 c1 done 0
		6 7 x final 1 c1 done 9`, false},
	{"a claim that was asked for again and stands", `
		0 1 x claim 1 c1 unknown 0
		2 3 x claim 1 c1 done 0
		4 5 x claim 1 c1 done 0
		6 7 x final 1 c1 done 9`, true},
	{"a claim that was asked for again and has ended", `
		0 1 x claim 1 c1 done 0
		2 3 y claim 1 c2 done 0
		4 5 x claim 1 c1 done 0
		6 7 y final 1 c2 done 9`, false},
	{"a final of unknown outcome that has happened", `
		0 1 x claim 1 c1 done 0
		2 0 x final 1 c1 unknown 0
		4 5 h final 2 - done 9`, true},
	{"a final of unknown outcome that has not", `
		0 1 x claim 1 c1 done 0
		2 0 x final 1 c1 unknown 0
		4 5 y claim 1 c2 done 0
		6 7 y final 1 c2 done 9
		8 9 h final 2 - done 10`, true},
	{"a final of unknown outcome that happens late", `
		0 1 x claim 1 c1 done 0
		2 0 x final 1 c1 unknown 0
		4 5 x renew 1 c1 done 0
		8 9 h final 2 - done 10`, true},
	{"a final of unknown outcome beside another", `
		0 1 x claim 1 c1 done 0
		2 0 x final 1 c1 unknown 0
		4 5 y final 1 - over 0
		6 7 y claim 1 c2 done 0`, false},
	{"seqs that fall", `
		0 1 x say 1 - done 5
		2 3 x say 1 - done 4`, false},
	{"a final without a claim while one lapses", `
		0 1 x claim 1 c1 done 0
		2 3 x final 1 - done 6`, true},
	{"a yield and a turn canceled", `
		0 1 x claim 1 c1 done 0
		2 3 x yield 1 c1 done 0
		4 5 h cancel 2 - done 0
		6 7 x claim 3 c3 done 0
		8 9 x release 3 c3 done 0
		10 11 x final 3 c3 lost 0`, true},
	{"words after a release", `
		0 1 x claim 1 c1 done 0
		2 3 x release 1 c1 done 0
		4 5 x final 1 c1 done 8`, false},
}

func TestCheck(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := turnmodel.Check(history(t, c.history), time.Minute)
			if errors.Is(err, turnmodel.ErrTimeout) || (err == nil) != c.holds {
				t.Errorf("holds: %v, expected %v: %v", err == nil, c.holds, err)
			}
			if err != nil && !strings.Contains(err.Error(), "conversation c: the calls cannot have happened so") {
				t.Errorf("the error does not say what is wrong: %v", err)
			}
		})
	}
}

// TestLong: a long history with many takeovers and unknown outcomes is judged in little time, and so is one with a fault at its end.
func TestLong(t *testing.T) {
	ops := long(500)
	start := time.Now()
	if err := turnmodel.Check(ops, time.Minute); err != nil {
		t.Fatal(err)
	}
	ops = append(ops, turnmodel.Op{
		Conversation: "c", Client: "late", Kind: turnmodel.Say, Turn: 400, Claim: "x400", Begin: 1 << 40, End: 1<<40 + 1, Result: turnmodel.Done, Seq: 1 << 40,
	})
	if err := turnmodel.Check(ops, time.Minute); err == nil || errors.Is(err, turnmodel.ErrTimeout) {
		t.Fatalf("words in a turn that has ended long ago: %v", err)
	}
	t.Logf("%d calls, twice, in %s", len(ops), time.Since(start))
}

// TestManyUnknown: many claims of one turn whose answers were lost are judged in little time, whether something was done under them or not.
func TestManyUnknown(t *testing.T) {
	for _, used := range []int{0, 1, 3} {
		ops := []turnmodel.Op{{Conversation: "c", Client: "x", Kind: turnmodel.Claim, Turn: 1, Claim: "x", Begin: 1, End: 2, Result: turnmodel.Done}}
		for i := range int64(20) {
			id := fmt.Sprint("y", i)
			ops = append(ops, turnmodel.Op{Conversation: "c", Client: id, Kind: turnmodel.Claim, Turn: 1, Claim: id, Begin: 10 + i})
			if int(i) < used {
				ops = append(ops, turnmodel.Op{Conversation: "c", Client: id, Kind: turnmodel.Final, Turn: 1, Claim: id, Begin: 40 + i})
			}
			ops = append(ops, turnmodel.Op{Conversation: "c", Client: id, Kind: turnmodel.Renew, Turn: 1, Claim: id, Begin: 200 + i, End: 300 + i, Result: turnmodel.Lost})
		}
		last := turnmodel.Op{Conversation: "c", Client: "x", Kind: turnmodel.Final, Turn: 1, Claim: "x", Begin: 100, End: 101, Result: turnmodel.Done, Seq: 2}
		if err := turnmodel.Check(append(ops, last), time.Minute); err != nil {
			t.Errorf("%d of 20 used: %v", used, err)
		}
		last.Claim = "z"
		if err := turnmodel.Check(append(ops, last), time.Minute); err == nil || errors.Is(err, turnmodel.ErrTimeout) {
			t.Errorf("%d of 20 used, and words under a claim that nobody has taken: %v", used, err)
		}
	}
}

// long makes a history of turns in which each second one is taken over.
func long(turns int64) []turnmodel.Op {
	var ops []turnmodel.Op
	var now, seq int64
	add := func(client string, kind turnmodel.Kind, turn int64, claim string, result turnmodel.Result) {
		now += 10
		o := turnmodel.Op{Conversation: "c", Client: client, Kind: kind, Turn: turn, Claim: claim, Begin: now - rand.Int64N(8), End: now + 1, Result: result}
		if result == turnmodel.Done && (kind == turnmodel.Say || kind == turnmodel.Final) {
			seq++
			o.Seq = seq
		}
		ops = append(ops, o)
	}
	for turn := range turns {
		turn++
		x, y := fmt.Sprintf("x%d", turn), fmt.Sprintf("y%d", turn)
		add("x", turnmodel.Claim, turn, x, turnmodel.Done)
		add("x", turnmodel.Say, turn, x, turnmodel.Done)
		if turn%2 == 0 {
			add("x", turnmodel.Final, turn, x, turnmodel.Done)
			continue
		}
		add("x", turnmodel.Final, turn, x, turnmodel.Unknown)
		add("x", turnmodel.Renew, turn, x, turnmodel.Unknown)
		if turn%3 == 0 {
			continue // it has happened
		}
		add("y", turnmodel.Claim, turn, y, turnmodel.Done)
		add("x", turnmodel.Say, turn, x, turnmodel.Lost)
		add("y", turnmodel.Final, turn, y, turnmodel.Done)
	}
	return ops
}
