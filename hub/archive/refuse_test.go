package archive_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/limits"
)

// samples returns a backup and an export of the same log, and an export of it after it lost a file.
func samples(t testing.TB) map[string][]byte {
	j := memory.New()
	defer j.Close()
	withHub(t, j, func(h *hub.Hub) { talk(t, h) })
	lost := &losing{j, sha256.Sum256([]byte("another")), journal.ErrNoBlob}
	return map[string][]byte{"backup": backupOf(t, j), "export": exportOf(t, j),
		"export without a file": exportOf(t, lost)}
}

// wrong fails unless both a check and an import refuse a file and say where.
func wrong(t testing.TB, file []byte, what string) {
	t.Helper()
	if _, err := archive.Check(bytes.NewReader(file), nil); err == nil || !strings.HasPrefix(err.Error(), "line ") {
		t.Fatalf("%s: the check says %v", what, err)
	}
	if err := archive.CheckImport(t.Context(), bytes.NewReader(file), nil, nil); err == nil {
		t.Fatalf("%s: the import takes it", what)
	}
}

var damageStep = flag.Int("archive.step", 17, "TestEveryByteCounts changes one byte in so many; 1 changes all of them")

// TestEveryByteCounts: one changed byte anywhere is found.
func TestEveryByteCounts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	for name, file := range samples(t) {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				bad := bytes.Clone(file)
				at := rapid.IntRange(0, len(bad)-1).Draw(r, "at")
				bad[at] ^= byte(rapid.IntRange(1, 255).Draw(r, "by"))
				if _, err := archive.Check(bytes.NewReader(bad), nil); err == nil {
					r.Fatalf("byte %d is changed", at)
				}
			})
			for at := 0; at < len(file); at += *damageStep { // the likeliest: the neighbour of each
				bad := bytes.Clone(file)
				bad[at] ^= 1
				wrong(t, bad, fmt.Sprintf("byte %d", at))
			}
		})
	}
}

// TestEveryLineCounts: lines cut off, taken out, twice or in another place are found; of an export, where that can be known.
func TestEveryLineCounts(t *testing.T) {
	t.Parallel()
	for name, file := range samples(t) {
		all := lines(file)
		for i := range all {
			without := append(append([][]byte{}, all[:i]...), all[i+1:]...)
			twice := append(append(append([][]byte{}, all[:i+1]...), all[i]), all[i+1:]...)
			if name == "backup" || !lastOfItsConversation(all, i) {
				wrong(t, join(without), fmt.Sprintf("%s: line %d is missing", name, i+1))
			}
			wrong(t, join(twice), fmt.Sprintf("%s: line %d is twice", name, i+1))
			half := append(join(all[:i]), all[i][:len(all[i])/2]...)
			wrong(t, half, fmt.Sprintf("%s: it ends in line %d", name, i+1))
			first := 0
			if testing.Short() {
				first = max(i-1, 0)
			}
			for j := first; j < i; j++ {
				swapped := append([][]byte{}, all...)
				swapped[i], swapped[j] = swapped[j], swapped[i]
				if name == "backup" || sameConversation(all[i], all[j]) {
					wrong(t, join(swapped), fmt.Sprintf("%s: lines %d and %d changed places", name, j+1, i+1))
				}
			}
		}
		if name == "backup" {
			for i := range all {
				if i > 0 {
					wrong(t, join(all[:i]), fmt.Sprintf("cut off before line %d", i+1))
				}
			}
		}
		wrong(t, append(bytes.Clone(file), all[0]...), name+": more after the end")
		wrong(t, append([]byte("\xef\xbb\xbf"), file...), name+": a byte order mark")
		wrong(t, bytes.ReplaceAll(file, []byte("\n"), []byte("\r\n")), name+": other line feeds")
		wrong(t, bytes.TrimSuffix(file, []byte("\n")), name+": no line feed at the end")
		wrong(t, append(bytes.Clone(file), '\n'), name+": an empty line")
	}
}

func conversationOf(line []byte) string {
	id, _, _ := bytes.Cut(line, []byte(`","seq"`))
	return string(id)
}

func sameConversation(a, b []byte) bool { return conversationOf(a) == conversationOf(b) }

// lastOfItsConversation reports whether an export without this line is an export of less.
func lastOfItsConversation(all [][]byte, i int) bool {
	return bytes.HasPrefix(all[i], []byte(`{"conv`)) && (i+1 == len(all) || !sameConversation(all[i], all[i+1]) && !bytes.HasPrefix(all[i+1], []byte(`{"att`)))
}

// TestForeignChain: lines of one conversation under the id of another.
func TestForeignChain(t *testing.T) {
	t.Parallel()
	file := bytes.ReplaceAll(forge(t, "one", created, said(`{"text":"a"}`)), []byte(`"one"`), []byte(`"two"`))
	wrong(t, file, "foreign chain")
	var late bytes.Buffer
	event := []byte(said(`{"text":"a"}`))
	if err := archive.NewWriter(&late, nil).Event("one", 2, journal.Genesis("one").Next(event), event); err != nil {
		t.Fatal(err)
	}
	wrong(t, late.Bytes(), "a chain that begins at seq 2")
	mixed := append(forge(t, "two", created), lines(file)[1]...)
	wrong(t, mixed, "a foreign line")
}

// system returns the second event of a conversation, a system event.
func system(from, payload string) string {
	return fmt.Sprintf(`{"seq":2,"type":"system","from":%q,"at":"2026-01-01T00:00:00.000Z","payload":%s}`, from, payload)
}

// claimed is turn_claimed of bob by a runner.
func claimed(runner string) string {
	return fmt.Sprintf(`{"kind":"turn_claimed","turn":1,"agentId":"bob","runner":%q,"attempt":1,"claimHash":"%s","durationMs":5}`, runner, strings.Repeat("0", 64))
}

// TestImportRefusesEvents: events with a valid chain that no hub writes are refused.
func TestImportRefusesEvents(t *testing.T) {
	t.Parallel()
	starts := strings.Replace(created, `"limits"`, `"startsWith":"bob","limits"`, 1)
	deep := strings.Repeat("[", limits.MaxDepth) + strings.Repeat("]", limits.MaxDepth)
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"no beginning":            {[]string{strings.Replace(said(`{"text":"a"}`), `"seq":2`, `"seq":1`, 1)}, "begins with conversation_created"},
		"two beginnings":          {[]string{created, strings.Replace(created, `"seq":1`, `"seq":2`, 1)}, "begins with conversation_created"},
		"another seq":             {[]string{created, strings.Replace(said(`{"text":"a"}`), `"seq":2`, `"seq":3`, 1)}, "the event says seq 3"},
		"time goes back":          {[]string{created, strings.Replace(said(`{"text":"a"}`), "2026", "2025", 1)}, "time goes back"},
		"another time format":     {[]string{created, strings.Replace(said(`{"text":"a"}`), ".000Z", "Z", 1)}, "not encoded"},
		"another turn":            {[]string{created, strings.Replace(said(`{"text":"a"}`), `"turn":1`, `"turn":2`, 1)}, "turn 2 where 1 is current"},
		"an unknown type":         {[]string{created, strings.Replace(said(`{"text":"a"}`), `"message"`, `"gossip"`, 1)}, "unknown type"},
		"an unknown field":        {[]string{created, strings.Replace(said(`{"text":"a"}`), `"seq":2`, `"seq":2,"new":1`, 1)}, "not encoded"},
		"a field twice":           {[]string{created, strings.Replace(said(`{"text":"a"}`), `"seq":2`, `"seq":2,"seq":2`, 1)}, "not encoded"},
		"another case":            {[]string{created, strings.Replace(said(`{"text":"a"}`), `"from"`, `"From"`, 1)}, "not encoded"},
		"space":                   {[]string{created, said(`{"text": "a"}`)}, "not encoded"},
		"a name twice":            {[]string{created, said(`{"text":"a","text":"b"}`)}, "kept exactly"},
		"half a pair":             {[]string{created, said(`{"text":"\ud800"}`)}, "kept exactly"},
		"not UTF-8":               {[]string{created, said("{\"text\":\"\xff\"}")}, "kept exactly"},
		"too deep":                {[]string{created, said(`{"text":"a","data":` + deep + `}`)}, "nests deeper"},
		"not JSON":                {[]string{created, said(`{"text":`)}, "not an event"},
		"two values":              {[]string{created, said(`{"text":"a"}`) + `{}`}, "not an event"},
		"an author that is none":  {[]string{created, strings.Replace(said(`{"text":"a"}`), `"from":"ann"`, `"from":"a\"b"`, 1)}, "no participant"},
		"too large":               {[]string{created, said(`{"text":"` + strings.Repeat("a", parley.MaxEventBytes) + `"}`)}, "bytes"},
		"after the close":         {[]string{created, strings.Replace(said(`{"text":"a"}`), `"finality":"turn"`, `"finality":"conversation"`, 1), said(`{}`)}, "after the closing"},
		"a policy of later":       {[]string{strings.Replace(created, "round_robin", "moderator", 1)}, "policy"},
		"a seat that is none":     {[]string{strings.Replace(created, `"id":"bob"`, `"id":"b/b"`, 1)}, "participant"},
		"a creator that is none":  {[]string{strings.Replace(created, `"createdBy":"ann"`, `"createdBy":"a a"`, 1)}, "createdBy"},
		"said by nobody here":     {[]string{created, strings.Replace(said(`{"text":"a"}`), `"ann"`, `"eve"`, 1)}, "eve does not take part"},
		"without the floor":       {[]string{created, strings.Replace(said(`{"text":"a"}`), `"ann"`, `"bob"`, 1)}, "bob does not have the floor"},
		"said by the hub":         {[]string{created, strings.Replace(said(`{"text":"a"}`), `"ann"`, `"hub"`, 1)}, "a callback of sessions that have not ended"},
		"a payload that is none":  {[]string{created, said(`5`)}, "payload"},
		"a trace without a kind":  {[]string{created, strings.Replace(strings.Replace(said(`{}`), `"message"`, `"trace"`, 1), `"finality":"turn",`, "", 1)}, "no kind"},
		"another finality":        {[]string{created, strings.Replace(said(`{"text":"a"}`), `"finality":"turn"`, `"finality":"never"`, 1)}, "finality"},
		"a file that is not here": {[]string{created, said(`{"attachments":[{"sha256":"` + strings.Repeat("0", 64) + `"}]}`)}, "was not added"},
		"a seat twice":            {[]string{strings.Replace(created, `"id":"bob"`, `"id":"ann"`, 1)}, "named twice"},
		"a seat again":            {[]string{created, system("hub", `{"kind":"participant_added","participant":{"id":"ann","kind":"agent"},"addedBy":"ann"}`)}, "seat already"},
		"a kind of nobody":        {[]string{strings.Replace(created, `"kind":"agent"`, `"kind":"ghost"`, 1)}, "kind"},
		"a note of a stranger":    {[]string{created, system("eve", `{"kind":"note","schema":"s","data":1}`)}, "eve does not take part"},
		"a note without a schema": {[]string{created, system("ann", `{"kind":"note","data":1}`)}, "schema"},
		"a system event of ann":   {[]string{created, system("ann", `{"kind":"participant_private","participantId":"ann","text":"a"}`)}, "not from hub"},
		"a token":                 {[]string{created, system("hub", `{"kind":"token_revoked","tokenId":"t","revokedBy":"ann"}`)}, "not the hub's own"},
		"a runner that is none":   {[]string{starts, system("hub", claimed(`b b`))}, "runner"},
		"a runner of the seat":    {[]string{starts, system("hub", claimed(`bob`))}, "runner"},
		"a file without its hash": {[]string{created, `{"seq":2,"type":"system","from":"ann","at":"2026-01-01T00:00:00.000Z","payload":{"kind":"attachment_added","size":1}}`}, "without its sha256"},
	} {
		t.Run(name, func(t *testing.T) {
			j := memory.New()
			defer j.Close()
			err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "c", c.events...)), j, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", len(c.events))) {
				t.Errorf("%v, expected %q", err, c.want)
			}
		})
	}
	if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "c", created, said(`{"text":"a"}`))), nil, nil); err != nil {
		t.Errorf("the good one: %v", err)
	}
}

// TestImportTakesLogs: events of all kinds that hubs write are accepted.
func TestImportTakesLogs(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join("..", "fold", "testdata", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatal("no logs", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		events := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		o, id := &archive.CheckOptions{WithoutAttachments: true}, strings.TrimSuffix(filepath.Base(name), ".jsonl")
		if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, id, events...)), nil, o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTokensHoldTokens: nothing is said in the conversation where the hub keeps its tokens.
func TestTokensHoldTokens(t *testing.T) {
	t.Parallel()
	j := memory.New()
	defer j.Close()
	at := func(seq int64) string {
		return strings.Replace(said(`{"text":"a"}`), `"seq":2`, fmt.Sprintf(`"seq":%d`, seq), 1)
	}
	for _, events := range [][]string{{created}, {strings.NewReplacer(`"participants":[{"id":"ann","kind":"human"},{"id":"bob","kind":"agent"}],`, "").Replace(created), at(2)}} {
		for i, e := range events {
			b := journal.Batch{Conversation: "~tokens", After: int64(i), Events: [][]byte{[]byte(e)}}
			if _, err := journal.Append(t.Context(), j, b); err != nil {
				t.Fatal(err)
			}
		}
		err := archive.CheckImport(t.Context(), bytes.NewReader(backupOf(t, j)), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "no hub would take it") {
			t.Errorf("%q: %v", events, err)
		}
		j = memory.New()
		defer j.Close()
	}
}

// TestImportRefusesIDs: ids that no hub would make.
func TestImportRefusesIDs(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../up", "a/b", "~", strings.Repeat("a", 65), "a.b"} {
		err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, id, created)), nil, nil)
		if err == nil || !strings.Contains(err.Error(), "line 1: ") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestLinesAreBounded: a line without end costs no more memory than the longest that may be.
func TestLinesAreBounded(t *testing.T) {
	t.Parallel()
	for begin, bound := range map[string]int64{`{"conversationId":"`: parley.MaxEventBytes, "x": parley.MaxEventBytes, `{"attachment":"`: parley.MaxAttachmentBytes * 4 / 3} {
		r := &endless{begin: strings.NewReader(begin)}
		_, err := archive.Check(r, nil)
		if err == nil || !strings.Contains(err.Error(), "longer than") || r.read > bound+1<<20 {
			t.Errorf("%s: %v after %d bytes", begin, err, r.read)
		}
	}
}

// endless returns a line that never ends.
type endless struct {
	begin *strings.Reader
	read  int64
}

func (e *endless) Read(b []byte) (int, error) {
	n, err := e.begin.Read(b)
	if err == io.EOF {
		n = copy(b, bytes.Repeat([]byte("a"), len(b)))
	}
	e.read += int64(n)
	return n, nil
}

// TestOfALaterVersion is refused by name.
func TestOfALaterVersion(t *testing.T) {
	t.Parallel()
	file := []byte(`{"parleyBackup":2,"hubVersion":"9","at":"2026-01-01T00:00:00.000Z","position":0,"new":true}` + "\n")
	_, err := archive.Check(bytes.NewReader(file), nil)
	if err == nil || !strings.Contains(err.Error(), "version 2, and this program reads version 1") {
		t.Error(err)
	}
}
