package history_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/history"
)

// readLogCalls reads ops of one conversation, one a line: BEGIN END CLIENT KIND REST. The kinds are
// "append KEY RESULT SEQ", "close KEY RESULT SEQ", "tail SINCE SEQ EVENTS" and
// "latest SEQ open|closed". Events are FROM/KEY, separated by commas; a word without / is the hub's.
func readLogCalls(t *testing.T, text string) []history.Op {
	t.Helper()
	var ops []history.Op
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		o := history.Op{Conversation: "c", Kind: history.Append, Result: history.Done}
		var kind, a, b, c string
		if n, err := fmt.Sscan(line, &o.Begin, &o.End, &o.Client, &kind, &a, &b, &c); n < 6 {
			t.Fatalf("%q: %v", line, err)
		}
		switch kind {
		case "append", "close":
			o.Key, o.Closes = a, kind == "close"
			if o.Result = history.Result(b); b == "unknown" {
				o.Result = history.Unknown
			}
			fmt.Sscan(c, &o.Seq)
		case "tail":
			o.Kind, o.Seen = history.Tail, events(c)
			fmt.Sscan(a, &o.Since)
			fmt.Sscan(b, &o.Seq)
		case "latest":
			over := b == "closed"
			o.Kind, o.Over = history.Latest, &over
			fmt.Sscan(a, &o.Seq)
		}
		ops = append(ops, o)
	}
	return ops
}

func events(text string) []history.Entry {
	var all []history.Entry
	for word := range strings.SplitSeq(text, ",") {
		if word == "" || word == "-" {
			continue
		}
		from, key, _ := strings.Cut(word, "/")
		all = append(all, history.Entry{From: from, Key: key})
	}
	return all
}

var logCases = []struct {
	name, log, calls string
	fits             bool
}{
	{"one after another", "hub,x/a,y/b", `
		0 1 x append a done 2
		2 3 y append b done 3
		4 5 r tail 0 3 hub,x/a,y/b
		6 7 r latest 3 open`, true},
	{"at the same time", "hub,y/b,x/a", `
		0 9 x append a done 3
		0 9 y append b done 2
		1 8 r tail 0 2 hub,y/b`, true},
	{"seqs against the order", "hub,y/b,x/a", `
		0 1 x append a done 3
		2 3 y append b done 2`, false},
	{"a seq left out", "hub,x/a,hub,y/b", `
		0 1 x append a done 2
		2 3 y append b done 4`, true},
	{"a seq that is not in the log", "hub,x/a", `
		0 1 x append a done 3`, false},
	{"an event without a call", "hub,x/a,y/b", `
		0 1 x append a done 2`, false},
	{"an acknowledged one that is lost", "hub,y/b", `
		0 1 x append a done 2
		2 3 y append b done 3`, false},
	{"one seq for two", "hub,x/a", `
		0 1 x append a done 2
		2 3 y append b done 2`, false},
	{"a key twice", "hub,x/a,x/a", `
		0 1 x append a done 2`, false},
	{"the same key of two callers", "hub,x/a,y/a", `
		0 1 x append a done 2
		2 3 y append a done 3`, true},
	{"unknown and there", "hub,x/a,y/b", `
		0 0 x append a unknown 0
		2 3 y append b done 3`, true},
	{"unknown and there late", "hub,y/b,x/a", `
		0 0 x append a unknown 0
		2 3 y append b done 2
		4 5 r tail 0 2 hub,y/b`, true},
	{"unknown and not there", "hub,y/b", `
		0 0 x append a unknown 0
		2 3 y append b done 2`, true},
	{"unknown, seen, and gone", "hub,y/b", `
		0 0 x append a unknown 0
		1 2 r tail 0 2 hub,x/a
		4 5 y append b done 2`, false},
	{"unknown, and there before it was sent", "hub,x/a,y/b", `
		0 1 r latest 2 open
		2 0 x append a unknown 0
		4 5 y append b done 3`, false},
	{"a retry that finds its first", "hub,x/a,y/b", `
		0 0 x append a unknown 0
		2 3 y append b done 3
		4 5 x append a done 2
		6 7 x append a done 2`, true},
	{"a retry with another seq", "hub,x/a,y/b", `
		0 1 x append a done 2
		2 3 y append b done 3
		4 5 x append a done 3`, false},
	{"a retry that happens again", "hub,x/a,y/b,x/a", `
		0 0 x append a unknown 0
		2 3 y append b done 3
		4 5 x append a done 4`, false},
	{"a refused one that is there", "hub,x/a", `
		0 1 x append a refused 0`, false},
	{"a refused one that was tried again", "hub,x/a", `
		0 1 x append a refused 0
		2 3 x append a done 2`, true},
	{"a reader who is behind", "hub,x/a", `
		0 1 x append a done 2
		2 3 r tail 0 1 hub`, false},
	{"a reader who is ahead", "hub,x/a", `
		0 1 r tail 0 2 hub,x/a
		2 3 x append a done 2`, false},
	{"a reader who goes back", "hub,x/a", `
		0 9 x append a done 2
		1 2 r latest 2 open
		3 4 r latest 1 open`, false},
	{"a reader that misses an event", "hub,x/a,y/b", `
		0 1 x append a done 2
		2 3 y append b done 3
		4 5 r tail 1 3 y/b`, false},
	{"a reader whose page is full", "hub,x/a,y/b", `
		0 1 x append a done 2
		2 3 y append b done 3
		4 5 r tail 1 3 x/a
		6 7 r tail 2 3 y/b`, true},
	{"closed", "hub,x/a,y/b", `
		0 1 x append a done 2
		2 3 y close b done 3
		4 5 x append c closed 0
		6 7 r latest 3 closed
		8 9 y close b done 3`, true},
	{"a message after the close", "hub,y/b,x/a", `
		0 1 y close b done 2
		2 3 x append a done 3`, false},
	{"a message after the close, at the same time", "hub,y/b,x/a", `
		0 9 y close b done 2
		0 9 x append a done 3`, false},
	{"closed before the close", "hub,x/a,y/b", `
		0 1 x append a done 2
		2 3 x append c closed 0
		4 5 y close b done 3`, false},
	{"closed while a close is under way", "hub,x/a,y/b", `
		0 1 x append a done 2
		2 3 x append c closed 0
		1 5 y close b done 3`, true},
	{"closed, and the message is there", "hub,x/a,y/b", `
		0 0 x append a unknown 0
		2 3 y close b done 3
		4 5 x append a closed 0`, false},
	{"closed twice", "hub,y/b,z/c", `
		0 1 y close b done 2
		0 1 z close c done 3`, false},
	{"open after the close", "hub,y/b", `
		0 1 y close b done 2
		2 3 r latest 2 open`, false},
}

func TestCheckLogs(t *testing.T) {
	for _, c := range logCases {
		t.Run(c.name, func(t *testing.T) {
			logs := map[string][]history.Entry{"c": events(c.log)}
			verify(t, history.CheckLogs(readLogCalls(t, c.calls), logs, time.Minute), c.fits)
		})
	}
}

// TestLongLog checks a long history of many callers, and the same history with a single wrong read.
func TestLongLog(t *testing.T) {
	ops, log := longLog(3000)
	logs := map[string][]history.Entry{"c": log}
	start := time.Now()
	if err := history.CheckLogs(ops, logs, time.Minute); err != nil {
		t.Fatal(err)
	}
	reads := slices.IndexFunc(ops, func(o history.Op) bool { return o.Kind == history.Tail && o.Begin > 1500 })
	ops[reads].Seq--
	ops[reads].Seen = ops[reads].Seen[:len(ops[reads].Seen)-1]
	ops[reads].Begin = ops[reads].End // after the end of every append up to this one
	ops[reads].End++
	if err := history.CheckLogs(ops, logs, time.Minute); err == nil || errors.Is(err, history.ErrTimeout) {
		t.Fatalf("a read that missed an event: %v", err)
	}
	t.Logf("%d calls, twice, in %s", len(ops), time.Since(start))
}

// longLog returns a history of n messages of eight writers at once, and of a reader that reads after
// each message. Some messages have no answer and are sent again.
func longLog(n int) ([]history.Op, []history.Entry) {
	var ops []history.Op
	log := []history.Entry{{From: "hub"}}
	for i := range int64(n) {
		e := history.Entry{From: fmt.Sprint("w", i%8), Key: fmt.Sprint(i)}
		log = append(log, e)
		at := (i + 1) * 10
		o := history.Op{
			Conversation: "c", Client: e.From, Kind: history.Append, Key: e.Key,
			Begin: at - rand.Int64N(60), End: at + 1 + rand.Int64N(8), Result: history.Done, Seq: i + 2,
		}
		if i%5 == 0 {
			lost := o
			lost.Result, lost.Seq = history.Unknown, 0
			o.Begin, o.End = at+20, at+25
			ops = append(ops, lost)
		}
		if i%7 != 0 || i%5 != 0 {
			ops = append(ops, o)
		}
		since := max(0, i-2)
		ops = append(ops, history.Op{
			Conversation: "c", Client: "r", Kind: history.Tail, Begin: at + 1, End: at + 9, Result: history.Done,
			Seq: i + 2, Since: since, Seen: log[since : i+2],
		})
	}
	return ops, log
}

// TestRecorder records calls that end and a call that does not.
func TestRecorder(t *testing.T) {
	var r history.Recorder
	lost := r.Begin(history.Op{Conversation: "c", Client: "x", Kind: history.Append, Key: "a"})
	done := r.Begin(history.Op{Conversation: "c", Client: "x", Kind: history.Append, Key: "b"})
	done.Done(3)
	look := r.Begin(history.Op{Conversation: "c", Client: "r", Kind: history.Tail, Since: 2})
	look.Saw(3, []history.Entry{{From: "x", Key: "b"}})
	ops := r.Ops()
	if len(ops) != 3 || ops[0].Result != history.Unknown || ops[1].Seq != 3 || len(ops[2].Seen) != 1 ||
		ops[2].Begin < ops[1].End {
		t.Fatalf("recorded: %+v", ops)
	}
	lost.Closed()
	if r.Ops()[0].Result != history.Closed {
		t.Error("the end of a call was not noted")
	}
}
