package history_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/history"
)

// readTurns reads ops of one conversation, one a line: BEGIN END CLIENT KIND TURN CLAIM RESULT SEQ. A
// "-" is an empty claim.
func readTurns(t *testing.T, text string) []history.Op {
	t.Helper()
	var ops []history.Op
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		o := history.Op{Conversation: "c"}
		if _, err := fmt.Sscan(line, &o.Begin, &o.End, &o.Client, &o.Kind, &o.Turn, &o.Claim, &o.Result, &o.Seq); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if o.Claim == "-" {
			o.Claim = ""
		}
		if o.Result == "unknown" {
			o.Result = history.Unknown
		}
		ops = append(ops, o)
	}
	return ops
}

var turnCases = []struct {
	name, calls string
	fits        bool
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
	{"words under a claim after claim_lost", `
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
	{"turn_closed for a turn that is not over", `
		0 1 x claim 1 c1 done 0
		2 3 y say 1 - over 0
		4 5 x final 1 c1 done 6`, false},
	{"a claim that comes back", `
		0 1 x claim 1 c1 done 0
		2 3 y claim 1 c2 done 0
		4 5 x claim 1 c1 done 0
		6 7 x final 1 c1 done 9`, false},
	{"a claim that is repeated while it is current", `
		0 1 x claim 1 c1 unknown 0
		2 3 x claim 1 c1 done 0
		4 5 x claim 1 c1 done 0
		6 7 x final 1 c1 done 9`, true},
	{"a claim that is repeated after its end", `
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

func TestCheckTurns(t *testing.T) {
	for _, c := range turnCases {
		t.Run(c.name, func(t *testing.T) {
			verify(t, history.CheckTurns(readTurns(t, c.calls), time.Minute), c.fits)
		})
	}
}

// verify fails the test unless a check of the conversation c had this outcome.
func verify(t *testing.T, err error, fits bool) {
	t.Helper()
	if (err == nil) != fits || errors.Is(err, history.ErrTimeout) {
		t.Errorf("fits: %v, expected %v: %v", err == nil, fits, err)
	}
	if err != nil && !strings.Contains(err.Error(), "conversation c: ") {
		t.Errorf("the error does not name the conversation: %v", err)
	}
}

// TestLongTurns checks a long history with many takeovers and unknown outcomes, and the same history
// with a fault at its end.
func TestLongTurns(t *testing.T) {
	ops := longTurns(500)
	start := time.Now()
	if err := history.CheckTurns(ops, time.Minute); err != nil {
		t.Fatal(err)
	}
	ops = append(ops, history.Op{
		Conversation: "c", Client: "late", Kind: history.Say, Turn: 400, Claim: "x400",
		Begin: 1 << 40, End: 1<<40 + 1, Result: history.Done, Seq: 1 << 40,
	})
	if err := history.CheckTurns(ops, time.Minute); err == nil || errors.Is(err, history.ErrTimeout) {
		t.Fatalf("words in a turn that ended long ago: %v", err)
	}
	t.Logf("%d calls, twice, in %s", len(ops), time.Since(start))
}

// TestManyUnknown checks many claims of one turn without an answer, with and without later calls
// under these claims.
func TestManyUnknown(t *testing.T) {
	for _, used := range []int{0, 1, 3} {
		ops := []history.Op{
			{Conversation: "c", Client: "x", Kind: history.Claim, Turn: 1, Claim: "x", Begin: 1, End: 2, Result: history.Done},
		}
		for i := range int64(20) {
			id := fmt.Sprint("y", i)
			ops = append(ops, history.Op{Conversation: "c", Client: id, Kind: history.Claim, Turn: 1, Claim: id, Begin: 10 + i})
			if int(i) < used {
				ops = append(ops, history.Op{Conversation: "c", Client: id, Kind: history.Final, Turn: 1, Claim: id, Begin: 40 + i})
			}
			ops = append(ops, history.Op{
				Conversation: "c", Client: id, Kind: history.Renew, Turn: 1, Claim: id, Begin: 200 + i, End: 300 + i,
				Result: history.Lost,
			})
		}
		last := history.Op{
			Conversation: "c", Client: "x", Kind: history.Final, Turn: 1, Claim: "x", Begin: 100, End: 101,
			Result: history.Done, Seq: 2,
		}
		if err := history.CheckTurns(append(ops, last), time.Minute); err != nil {
			t.Errorf("%d of 20 used: %v", used, err)
		}
		last.Claim = "z"
		if err := history.CheckTurns(append(ops, last), time.Minute); err == nil || errors.Is(err, history.ErrTimeout) {
			t.Errorf("%d of 20 used, and words under a claim that no one took: %v", used, err)
		}
	}
}

// longTurns returns a history of turns; every second turn is taken over.
func longTurns(turns int64) []history.Op {
	var ops []history.Op
	var now, seq int64
	add := func(client string, kind history.Kind, turn int64, claim string, result history.Result) {
		now += 10
		o := history.Op{
			Conversation: "c", Client: client, Kind: kind, Turn: turn, Claim: claim, Begin: now - rand.Int64N(8), End: now + 1,
			Result: result,
		}
		if result == history.Done && (kind == history.Say || kind == history.Final) {
			seq++
			o.Seq = seq
		}
		ops = append(ops, o)
	}
	for turn := range turns {
		turn++
		x, y := fmt.Sprintf("x%d", turn), fmt.Sprintf("y%d", turn)
		add("x", history.Claim, turn, x, history.Done)
		add("x", history.Say, turn, x, history.Done)
		if turn%2 == 0 {
			add("x", history.Final, turn, x, history.Done)
			continue
		}
		add("x", history.Final, turn, x, history.Unknown)
		add("x", history.Renew, turn, x, history.Unknown)
		if turn%3 == 0 {
			continue // the final took effect
		}
		add("y", history.Claim, turn, y, history.Done)
		add("x", history.Say, turn, x, history.Lost)
		add("y", history.Final, turn, y, history.Done)
	}
	return ops
}
