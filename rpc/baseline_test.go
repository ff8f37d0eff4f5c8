package rpc_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/baseline"
	"github.com/parleyhub/parley/internal/limits"
)

var baselineVersion = flag.String("baseline", "", "write testdata/baseline/`version` with this version of the hub")

const baselineDir = "testdata/baseline"

// reopenAfter is the time from the start of a session until its data directory is opened again.
const reopenAfter = 10 * time.Minute

// reopenedIDs is added to the ids and secrets of the hub that opens it, so that they are new.
const reopenedIDs = 1000

// TestBaseline reads what earlier versions wrote, and repeats what their clients sent.
// See testdata/baseline/README.md.
func TestBaseline(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	if *baselineVersion != "" {
		writeBaseline(t, filepath.Join(baselineDir, *baselineVersion))
	}
	versions, err := filepath.Glob(filepath.Join(baselineDir, "v*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) == 0 {
		t.Fatal("there is no baseline")
	}
	for _, dir := range versions {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Run("session", func(t *testing.T) { replaySession(t, dir) })
			t.Run("protocol", func(t *testing.T) { replayProtocol(t, dir) })
			t.Run("data", func(t *testing.T) { openBaseline(t, dir) })
			t.Run("backup", func(t *testing.T) { restoreBaseline(t, dir) })
			t.Run("export", func(t *testing.T) { importBaseline(t, dir) })
		})
	}
}

// replaySession sends the recorded requests to a hub on a new data directory.
func replaySession(t *testing.T, dir string) {
	text := readFile(t, filepath.Join(dir, "session.transcript"))
	data := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) { replay(boltWorld(t, data, 0), t, text) })
}

// transcriptBlock is one transcript in protocol.transcript.
var transcriptBlock = regexp.MustCompile("(?ms)^```transcript ([a-z0-9 -]+)\n(.*?)^```\n")

// replayProtocol plays the transcripts of that version's protocol.
func replayProtocol(t *testing.T, dir string) {
	played := 0
	text := readFile(t, filepath.Join(dir, "protocol.transcript"))
	for _, m := range transcriptBlock.FindAllStringSubmatch(text, -1) {
		t.Run(m[1], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replay(newWorld(t, nil), t, m[2]) })
		})
		played++
	}
	if played == 0 {
		t.Error("no transcript was played")
	}
}

// openBaseline opens a copy of the data directory and replays what that version did with it.
func openBaseline(t *testing.T, dir string) {
	data := baseline.Unpack(t, filepath.Join(dir, "data"))
	reopen(t, dir, data)
	holdsExport(t, dir, data)
}

// restoreBaseline imports the backup, which has everything that the data directory has.
func restoreBaseline(t *testing.T, dir string) {
	data := filepath.Join(t.TempDir(), "data")
	importInto(t, data, filepath.Join(dir, "backup.jsonl"))
	reopen(t, dir, data)
	holdsExport(t, dir, data)
}

// importBaseline imports the export. Its lines, and so its hashes, must stay the same.
func importBaseline(t *testing.T, dir string) {
	data := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(dir, "export.jsonl")
	importInto(t, data, file)
	if want, got := readFile(t, file), linesOf(t, data); got != want {
		t.Errorf("the export of what was imported differs:\n%s", firstDifference(want, got))
	}
}

// reopen replays what was recorded when that version opened the data directory again.
func reopen(t *testing.T, dir, data string) {
	t.Helper()
	text := readFile(t, filepath.Join(dir, "reopened.transcript"))
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(reopenAfter) // the bubble's clock
		replay(boltWorld(t, data, reopenedIDs), t, text)
	})
}

// holdsExport requires that every line of the export is still in the log at data.
func holdsExport(t *testing.T, dir, data string) {
	t.Helper()
	now := map[string]bool{}
	for line := range strings.Lines(linesOf(t, data)) {
		now[line] = true
	}
	for line := range strings.Lines(readFile(t, filepath.Join(dir, "export.jsonl"))) {
		if !now[line] {
			t.Errorf("the log has no longer this line of the export:\n%s", line)
		}
	}
}

// writeBaseline records a baseline with this version of the hub.
func writeBaseline(t *testing.T, dir string) {
	t.Helper()
	data := filepath.Join(dir, "data")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	record := func(name, data string, at time.Duration, ids int) {
		script := readFile(t, filepath.Join(baselineDir, name))
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(at)
			writeFile(t, filepath.Join(dir, name), playIn(boltWorld(t, data, ids), t, script))
		})
	}
	record("session.transcript", data, 0, 0)
	compactData(t, data)
	var backup bytes.Buffer
	useData(t, data, func(j *bolt.Journal) error {
		_, err := archive.WriteBackup(t.Context(), &backup, j, *baselineVersion, nil)
		return err
	})
	writeFile(t, filepath.Join(dir, "backup.jsonl"), backup.String())
	writeFile(t, filepath.Join(dir, "export.jsonl"), linesOf(t, data))
	for _, name := range []string{"log.db", "index.db"} {
		zip(t, filepath.Join(data, name))
	}
	if err := os.Remove(filepath.Join(data, "LOCK")); err != nil {
		t.Error(err)
	}
	record("reopened.transcript", baseline.Unpack(t, filepath.Join(dir, "data")), reopenAfter, reopenedIDs)
	var blocks strings.Builder
	for _, s := range readScripts(t, transcripts) {
		fmt.Fprintf(&blocks, "```transcript %s\n%s```\n", s.name, s.text)
	}
	writeFile(t, filepath.Join(dir, "protocol.transcript"), blocks.String())
}

// boltWorld starts a world whose log is the directory data. Its ids count from first.
func boltWorld(t testing.TB, data string, first int) *world {
	t.Helper()
	w := &world{t: t, journal: memory.New(), ids: map[string]int{}, first: first}
	var opened *bolt.Journal
	w.wrap = func(journal.Journal) journal.Journal { // called by every start of the hub
		if opened != nil {
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		}
		var err error
		if opened, err = bolt.Open(data, nil); err != nil {
			t.Fatal(err)
		}
		return opened
	}
	w.start()
	t.Cleanup(func() {
		w.end()
		journaltest.CheckInvariants(t, opened)
		if _, err := archive.CheckForks(context.Background(), opened); err != nil {
			t.Error(err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// replay sends the requests of a recording and compares the replies with the recorded ones.
func replay(w *world, t *testing.T, text string) {
	t.Helper()
	s := &stage{t: t, world: w}
	c := &comparison{ids: map[string]string{}}
	var step string
	var recorded []string
	next := func(line string) {
		t.Helper()
		s.line(c.inRequest(step))
		synctest.Wait()
		s.collect()
		played := strings.Split(strings.TrimSuffix(s.out.String(), "\n"), "\n")
		if s.out.Len() == 0 {
			played = nil
		}
		s.out.Reset()
		if err := c.frames(recorded, played); err != nil {
			t.Errorf("%s\n%v", step, err)
		}
		step, recorded = line, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.Contains(line, " <-- ") && !strings.HasPrefix(line, "#") {
			recorded = append(recorded, line)
			continue
		}
		next(line)
	}
	next("")
}

// comparison compares frames with recorded ones. A frame may have members that the recorded one
// has not.
type comparison struct {
	ids map[string]string // an id, token or cursor of the hub in the recording -> the same in this run
}

// hubMade are ids, tokens and cursors that the hub chose.
var hubMade = regexp.MustCompile(`^(?:(?:cnv|ses|sub|clm|plt|tkt)_.*|t\d+|e\d+\.\d+)$`)

var jsonString = regexp.MustCompile(`"[^"\\]*"`)

// inRequest replaces the ids of the recording with those of this run.
func (c *comparison) inRequest(line string) string {
	return jsonString.ReplaceAllStringFunc(line, func(quoted string) string {
		if now, ok := c.ids[strings.Trim(quoted, `"`)]; ok {
			return `"` + now + `"`
		}
		return quoted
	})
}

// frames compares what came back after one line. The notifications of a socket must keep their
// order. A reply may come before or after a notification or another reply.
func (c *comparison) frames(recorded, played []string) error {
	slices.SortStableFunc(recorded, byReply)
	slices.SortStableFunc(played, byReply)
	for i := range max(len(recorded), len(played)) {
		want, got := "(nothing)", "(nothing)"
		if i < len(recorded) {
			want = recorded[i]
		}
		if i < len(played) {
			got = played[i]
		}
		if err := c.frame(want, got); err != nil {
			return fmt.Errorf("%w\nrecorded: %s\nplayed:   %s", err, want, got)
		}
	}
	return nil
}

var replyID = regexp.MustCompile(`^\{"jsonrpc":"2\.0","id":([^,]*),`)

// byReply orders frames by socket: first the notifications and the close, then the replies by id.
func byReply(a, b string) int {
	aPeer, aFrame, _ := strings.Cut(a, " <-- ")
	bPeer, bFrame, _ := strings.Cut(b, " <-- ")
	id := func(frame string) string {
		if m := replyID.FindStringSubmatch(frame); m != nil {
			return m[1]
		}
		return ""
	}
	return cmp.Or(cmp.Compare(aPeer, bPeer), cmp.Compare(id(aFrame), id(bFrame)))
}

func (c *comparison) frame(want, got string) error {
	wantPeer, wantFrame, _ := strings.Cut(want, " <-- ")
	gotPeer, gotFrame, _ := strings.Cut(got, " <-- ")
	if wantPeer != gotPeer {
		return fmt.Errorf("another peer, or none, has got something")
	}
	if !strings.HasPrefix(wantFrame, "{") {
		if wantFrame != gotFrame {
			return fmt.Errorf("another end of the socket")
		}
		return nil
	}
	wantValue, err := decodeNumbers(wantFrame)
	if err != nil {
		return err
	}
	gotValue, err := decodeNumbers(gotFrame)
	if err != nil {
		return err
	}
	return c.value("$", wantValue, gotValue)
}

func decodeNumbers(frame string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(frame))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// Texts that are compared by their kind alone.
var (
	// prose is text for people, which may be worded better.
	prose = regexp.MustCompile(`\.error\.message$|\.error\.data\.(message|expected)$|` +
		`\.validation_errors\[\d+\]\.message$|\.(because|detail)$|\.guidance\.reason$|\.result\.error$|` +
		`^\$\.params\.reason$|\.hub\.text$`)
	// hashes are over events, which may have new members, or over claim ids.
	hashes = regexp.MustCompile(`\.(headHash|hash|claimHash|paramsHash)$`)
	// versions are those of the hub.
	versions = regexp.MustCompile(`\.version$`)
)

// measured are numbers that are compared by their kind alone: sizes, and the deadline of an offer,
// which is drawn at random after a failed attempt.
var measured = regexp.MustCompile(`\.(journalBytes|conversationsLoaded)$|\.sent\.bytes$|^\$\.params\.deadlineMs$`)

// value requires that got has all that want has.
func (c *comparison) value(path string, want, got any) error {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is no object", path)
		}
		byHub := want["type"] == string(parley.TypeMessage) && want["from"] == parley.HubID
		for name, member := range want {
			now, ok := got[name]
			if !ok {
				return fmt.Errorf("%s.%s is missing", path, name)
			}
			at := path + "." + name
			if byHub && name == "payload" {
				at = path + ".hub"
			}
			if err := c.value(at, member, now); err != nil {
				return err
			}
		}
		return nil
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			return fmt.Errorf("%s is not a list of %d", path, len(want))
		}
		for i := range want {
			if err := c.value(fmt.Sprintf("%s[%d]", path, i), want[i], got[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		got, ok := got.(string)
		if !ok {
			return fmt.Errorf("%s is no text", path)
		}
		return c.text(path, want, got)
	}
	_, number := got.(json.Number)
	if want != got && !(number && measured.MatchString(path)) {
		return fmt.Errorf("%s is %v, and was %v", path, got, want)
	}
	return nil
}

func (c *comparison) text(path, want, got string) error {
	switch {
	case prose.MatchString(path), versions.MatchString(path):
		return nil
	case hashes.MatchString(path) && len(want) == len(got):
		return nil
	case hubMade.MatchString(want):
		if now, ok := c.ids[want]; ok && now != got {
			return fmt.Errorf("%s is %q, and %q elsewhere", path, got, now)
		}
		c.ids[want] = got
		return nil
	case want != got:
		return fmt.Errorf("%s is %q, and was %q", path, got, want)
	}
	return nil
}

// linesOf is what 'parley log export --data' writes.
func linesOf(t *testing.T, data string) string {
	t.Helper()
	var out bytes.Buffer
	useData(t, data, func(j *bolt.Journal) error {
		lines := archive.NewWriter(&out, archive.FromJournal(j))
		all, err := j.Labeled("", 0, parley.MaxPage)
		if err != nil {
			return err
		}
		for _, l := range all {
			if strings.HasPrefix(l.Conversation, "~") {
				continue
			}
			records, err := j.Read(l.Conversation, 0, parley.MaxPage, limits.MaxPageBytes)
			if err != nil {
				return err
			}
			for _, r := range records {
				if err := lines.Event(r.Conversation, r.Seq, r.Hash, r.Data); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return out.String()
}

func importInto(t *testing.T, data, file string) {
	t.Helper()
	text := readFile(t, file)
	useData(t, data, func(j *bolt.Journal) error {
		if err := archive.CheckImport(t.Context(), strings.NewReader(text), j, nil); err != nil {
			return err
		}
		_, err := archive.Import(t.Context(), strings.NewReader(text), j, nil)
		return err
	})
}

func compactData(t *testing.T, data string) {
	t.Helper()
	useData(t, data, func(j *bolt.Journal) error {
		_, err := j.Compact(t.Context(), nil)
		return err
	})
}

// useData opens the journal in a directory for do.
func useData(t *testing.T, data string, do func(j *bolt.Journal) error) {
	t.Helper()
	j, err := bolt.Open(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := do(j); err != nil {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// zip replaces a file with a compressed one.
func zip(t *testing.T, path string) {
	t.Helper()
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // which is a level
	if _, err := io.WriteString(z, readFile(t, path)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path+".gz", out.String())
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
