//go:build linux

package disk

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/promise"
)

var (
	damageFlips = flag.Int("disk.flips", 60, "damages that TestDamage does to the files of a log")
	damageSeed  = flag.Uint64("disk.seed", 0, "seed of TestDamage; 0: a new one")
)

// damageTimeout is how long everything may take to be read of a damaged log, before that is a hang.
const damageTimeout = 2 * time.Minute

// damage is something that is done to a file.
type damage struct {
	file, what string
	bytes      []byte // of the file afterwards
}

func (d damage) String() string { return d.file + ": " + d.what }

// Files that are not what was written are named or do no harm: no other data, no panic, no hang.
func TestDamage(t *testing.T) {
	seed := *damageSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	start := time.Now()
	random := rand.New(rand.NewPCG(seed, 0))
	dir := damageWorld(t)
	want := wholeAnswers(t, dir)
	files := damageFiles(t, dir)
	work := filepath.Join(t.TempDir(), "work")
	var results damageResults
	for i := range *damageFlips {
		d := choose(random, files)
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
		copyDir(t, dir, work)
		if err := os.WriteFile(filepath.Join(work, d.file), d.bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		results.take(t, fmt.Sprintf("seed %d, damage %d of %s", seed, i, d), d.kind(), try(t, work, want, d), want)
	}
	t.Logf("%d damages, in %.0f s: %s; %d answers compared", *damageFlips, time.Since(start).Seconds(), &results,
		results.compared)
	if results.named < *damageFlips/5 || results.harmless == 0 || results.healed == 0 {
		t.Errorf("too little to prove anything: %s", &results)
	}
	promise.ID(17).Kept(t, promise.Tried{Faults: *damageFlips, Operations: results.compared,
		Violations: results.violations})
}

// wholeAnswers asks a hub on the files as they were written.
func wholeAnswers(t *testing.T, dir string) answers {
	t.Helper()
	work := filepath.Join(t.TempDir(), "whole")
	copyDir(t, dir, work)
	want, healed, err := look(t.Context(), work, nil)
	if err != nil || healed {
		t.Fatalf("the log as it was written: %v, index made again: %t", err, healed)
	}
	for what, a := range want {
		if a.err != nil {
			t.Fatalf("the log as it was written: %s: %v", what, a.err)
		}
	}
	if len(want) < 4*damageConversations {
		t.Fatalf("the log as it was written gives %d answers", len(want))
	}
	return want
}

// damageFiles reads the files that are damaged, by their name in the directory.
func damageFiles(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "LOCK" {
			return err
		}
		files[path], err = os.ReadFile(filepath.Join(dir, path))
		return err
	})
	if err != nil || len(files["log.db"]) == 0 || len(files["index.db"]) == 0 || len(files["FORMAT"]) == 0 ||
		len(files) < 4 {
		t.Fatalf("files %v, %v", slices.Collect(maps.Keys(files)), err)
	}
	return files
}

// choose damages one of the files, most often the log.
func choose(random *rand.Rand, files map[string][]byte) damage {
	name := "log.db"
	switch n := random.IntN(20); {
	case n < 6:
		name = "index.db"
	case n < 8:
		name = "FORMAT"
	case n < 11:
		names := slices.Sorted(maps.Keys(files))
		for name = ""; !strings.HasPrefix(name, "blobs"); {
			name = names[random.IntN(len(names))]
		}
	}
	b := bytes.Clone(files[name])
	used := len(bytes.TrimRight(b, "\x00"))
	switch n := random.IntN(20); {
	case n < 4:
		at := random.IntN(used)
		return damage{name, fmt.Sprintf("cut to %d of %d bytes", at, used), b[:at]}
	case n < 7:
		at := random.IntN(used) &^ 4095
		clear(b[at:min(at+4096, len(b))])
		return damage{name, fmt.Sprintf("zeros at %d", at), b}
	case n < 10:
		var at []int
		for range 8 {
			at = append(at, flip(random, b))
		}
		return damage{name, fmt.Sprintf("bits flipped at %d", at), b}
	}
	return damage{name, fmt.Sprintf("a bit flipped at %d", flip(random, b)), b}
}

// flip flips a bit, mostly where there is something.
func flip(random *rand.Rand, b []byte) int {
	at := random.IntN(len(b))
	for b[at] == 0 && random.IntN(40) > 0 {
		at = random.IntN(len(b))
	}
	b[at] ^= 1 << random.IntN(8)
	return at
}

func (d damage) kind() string {
	if strings.HasPrefix(d.file, "blobs") {
		return "blobs"
	}
	return d.file
}

// tried is how a damaged log was read.
type tried struct {
	answers
	healed bool
	err    error
}

// try reads everything, in time.
func try(t *testing.T, dir string, want answers, d damage) tried {
	t.Helper()
	late := time.AfterFunc(damageTimeout, func() { panic(fmt.Sprintf("not read within %s: %s", damageTimeout, d)) })
	defer late.Stop()
	got, healed, err := look(context.Background(), dir, want)
	return tried{got, healed, err}
}

// damageResults counts how damages ended.
type damageResults struct {
	named, harmless, healed int
	of                      map[string]int // named, by kind of file
	compared, violations    int
}

func (r *damageResults) String() string {
	return fmt.Sprintf("%d named %v, %d harmless, %d healed, %d wrong", r.named, r.of, r.harmless, r.healed, r.violations)
}

// take judges one damage.
func (r *damageResults) take(t *testing.T, what, kind string, got tried, want answers) {
	t.Helper()
	wrong := func(format string, args ...any) {
		t.Helper()
		r.violations++
		t.Errorf(what+": "+format, args...)
	}
	if r.of == nil {
		r.of = make(map[string]int)
	}
	if err := named(got.err); err != nil {
		wrong("an error that names no damage: %v", err)
		return
	}
	refusals := 0
	if got.err == nil {
		refusals = r.compare(got.answers, want, wrong)
	}
	switch {
	case got.err != nil || refusals > 0:
		r.named++
		r.of[kind]++
	case got.healed:
		r.healed++
	default:
		r.harmless++
	}
}

// compare holds every answer to what it was, and returns how many were refused with the damage
// named. A conversation of which something is refused may be missing in the list.
func (r *damageResults) compare(got, want answers, wrong func(string, ...any)) (refusals int) {
	gone := make(map[string]bool)
	for what, a := range got {
		r.compared++
		was, there := want[strings.TrimSuffix(what, ", after some appends")]
		switch {
		case a.err != nil && named(a.err) == nil:
			refusals++
			gone[talkOf(what)] = true
		case a.err != nil:
			wrong("%s: an error that names no damage: %v", what, a.err)
		case !there || a.text != was.text:
			wrong("%s: other than was written", what)
		}
	}
	for what := range want {
		if _, there := got[what]; !there && !gone[talkOf(what)] {
			wrong("%s: no answer and no error", what)
		}
	}
	return refusals
}

// talkOf finds the conversation in what was asked.
func talkOf(what string) string {
	_, n, _ := strings.Cut(what, "talk-")
	n, _, _ = strings.Cut(n, " ")
	return n
}
