package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
)

// TestStatesWaitForRoom: while index.db cannot be written, states are taken until there is no room, and refused then; those that were taken are not lost, and there is
// room again as soon as they are written.
func TestStatesWaitForRoom(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	dir := t.TempDir()
	j := open(t, dir, nil)
	hold, err := j.IndexDB().Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	state := bytes.Repeat([]byte("state"), 200_000)
	taken := 0
	save := func() error { return j.SaveState(fmt.Sprint("c", taken), int64(taken+1), state) }
	for err == nil && taken < 100 {
		if err = save(); err == nil {
			taken++
		}
	}
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, journal.ErrOverloaded) || taken < 30 {
		t.Fatalf("%d states of 1 MB were taken, then %v", taken, err)
	}
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(time.Millisecond) {
		if err = save(); err == nil {
			taken++
			break
		}
		if !errors.Is(err, journal.ErrOverloaded) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	closeJournal(t, j)
	j = open(t, dir, nil)
	for i := range taken {
		if seq, got, err := j.LoadState(fmt.Sprint("c", i)); err != nil || seq != int64(i+1) || !bytes.Equal(got, state) {
			t.Errorf("state %d of %d: at %d, %d bytes, %v", i, taken, seq, len(got), err)
		}
	}
	closeJournal(t, j)
}

// TestLargeState: what belongs to a state that is larger than all the room is taken behind it, and so is all of it again; and two that are so large are the most.
func TestLargeState(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := t.TempDir()
	j := open(t, dir, nil)
	hold, err := j.IndexDB().Begin(true)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.SaveState("first", 1, []byte("begins the flush that waits")); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("large state"), 4<<20)
	for seq := range int64(3) {
		for name, state := range map[string][]byte{"c 1": large, "c": []byte("small")} {
			if err := j.SaveState(name, seq+1, state); err != nil {
				t.Fatal(name, err)
			}
		}
	}
	refused := 0
	for i := range 5 { // one flush may have taken what waited
		if errors.Is(j.SaveState(fmt.Sprint("d", i), 1, large), journal.ErrOverloaded) {
			refused++
		}
	}
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	if refused == 0 {
		t.Error("five large states were taken while none could be written")
	}
	closeJournal(t, j)
	j = open(t, dir, nil)
	for name, state := range map[string][]byte{"c 1": large, "c": []byte("small")} {
		if seq, got, err := j.LoadState(name); err != nil || seq != 3 || !bytes.Equal(got, state) {
			t.Errorf("%s: at %d, %d bytes, %v", name, seq, len(got), err)
		}
	}
	closeJournal(t, j)
}
