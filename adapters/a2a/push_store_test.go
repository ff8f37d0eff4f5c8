package a2a

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// The store continues in another conversation when it is full, was closed, or after an interrupted
// attempt. Live configurations remain.
func TestPushStoreRolls(t *testing.T) {
	w := newPushWorld(t, func(_ *PushOptions, p *pace) { p.notes = 12 })
	h := newHook(t, nil)
	keeps := w.begin("alice", "keeps", configTo(h, "keeps"))
	gone := w.begin("alice", "gone", configTo(h, "gone"))
	for i := range 15 {
		task := w.begin("alice", fmt.Sprint("m", i), configTo(h, "c"))
		w.says(task, "done", parley.FinalityTurn)
		w.ended("alice", task.ID, "c")
		switch i {
		case 4:
			if err := w.server.deletePush(t.Context(), w.caller("alice"), &a2a.DeleteTaskPushConfigRequest{TaskID: gone.ID,
				ID: "gone"}); err != nil {
				t.Fatal(err)
			}
		case 7: // like an interrupted attempt, and a deletion after it
			w.stop()
			next := storeID(w.push.store.number + 1)
			// the attempt was interrupted
			if _, err := w.store.CreateConversation(t.Context(), &parley.CreateConversationParams{ConversationID: next,
				Participants: []parley.Participant{{ID: "admin", Kind: parley.KindTool}}}); err != nil && !errors.Is(err,
				parley.ErrAlreadyExists) {
				t.Fatal(err)
			}
			w.start()
		case 9:
			w.stop()
			w.hub.Restart(t)
			w.start()
		case 11:
			if _, err := w.store.CloseConversation(t.Context(),
				&parley.CloseConversationParams{ConversationID: w.push.store.id()}); err != nil {
				t.Fatal(err)
			}
		case 13:
			w.stop()
			if _, err := w.store.CloseConversation(t.Context(),
				&parley.CloseConversationParams{ConversationID: w.push.store.id()}); err != nil {
				t.Fatal(err)
			}
			w.start()
		}
	}
	if w.push.store.number < 4 {
		t.Fatalf("it is still in %s", w.push.store.id())
	}
	c := w.caller("alice")
	if _, err := w.server.getPush(t.Context(), c, &a2a.GetTaskPushConfigRequest{TaskID: gone.ID,
		ID: "gone"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Error(err)
	}
	w.says(keeps, "done", parley.FinalityTurn)
	w.ended("alice", keeps.ID, "keeps")
	var of []string
	for _, body := range once(h.all()) {
		if strings.Contains(body, string(keeps.ID)) {
			of = append(of, body)
		}
	}
	same(t, of, w.streamed("alice", keeps))
	for n := int64(1); n < w.push.store.number; n++ {
		if s, err := w.push.look(t.Context(), n); err != nil || s.Status != parley.StatusClosed {
			t.Errorf("%s is %v, %v", storeID(n), s.Status, err)
		}
	}
}

// Configurations that were encrypted with another key are kept but not delivered, also after the
// store continues in another conversation, until that key is back.
func TestPushOtherKey(t *testing.T) {
	w := newPushWorld(t, func(_ *PushOptions, p *pace) { p.notes = 5 })
	h := newHook(t, nil)
	task := w.begin("alice", "m1", configTo(h, "c"))
	w.until("the task", func() bool { return len(h.all()) == 1 })
	w.stop()
	right := w.key
	w.key = bytes.Repeat([]byte{8}, 32)
	w.start()
	w.says(task, "done", parley.FinalityTurn)
	for i := range 5 {
		other := w.begin("alice", fmt.Sprint("o", i), configTo(newHook(t, nil), "o"))
		w.says(other, "x", parley.FinalityTurn)
		w.ended("alice", other.ID, "o")
	}
	if !strings.Contains(w.logged.String(), "cannot be decrypted with this key") || len(h.all()) != 1 {
		t.Error(h.all())
	}
	if _, err := w.server.getPush(t.Context(), w.caller("alice"), &a2a.GetTaskPushConfigRequest{TaskID: task.ID,
		ID: "c"}); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Error(err)
	}
	w.stop()
	w.key = right
	w.start()
	w.ended("alice", task.ID, "c")
	same(t, once(h.all()), w.streamed("alice", task))
}

func TestSecretIsBoundToConfig(t *testing.T) {
	s := must(newSealer(bytes.Repeat([]byte{1}, 32)))
	a := &configIdentity{Owner: "alice", Task: "t", ID: "c", Agent: "bob"}
	sealed := must(s.seal(a.binding("r"), &secret{URL: "u", Token: "t"}))
	if v, err := s.open(a.binding("r"), sealed); err != nil || v.Token != "t" {
		t.Fatal(v, err)
	}
	for _, other := range []*configIdentity{{"carol", "t", "c", "bob", false, "", time.Time{}, nil},
		{Owner: "alice", Task: "t2", ID: "c", Agent: "bob"}, {Owner: "alice", Task: "t", ID: "d", Agent: "bob"}} {
		if _, err := s.open(other.binding("r"), sealed); err == nil {
			t.Errorf("%+v", other)
		}
	}
	if _, err := s.open(a.binding("r2"), sealed); err == nil {
		t.Error("it is bound to its ref")
	}
	if _, err := newSealer(make([]byte, 16)); err == nil {
		t.Error("a short key is taken")
	}
}

func TestLoadKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a2a.key")
	made, err := LoadKey(path)
	if err != nil || len(made) != 32 || bytes.Equal(made, make([]byte, 32)) {
		t.Fatal(made, err)
	}
	again, err := LoadKey(path)
	if err != nil || !bytes.Equal(made, again) {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path); err == nil || !strings.Contains(err.Error(), "0600") {
		t.Error(err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte("short"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(path); err == nil {
		t.Error("a short key is taken")
	}
	if _, err := LoadKey(filepath.Join(path, "x")); err == nil {
		t.Error("a file is no directory")
	}
}
