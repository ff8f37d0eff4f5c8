package auth

// Inside the package, because what is forgotten shows nowhere else.

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
)

// The tokens in memory are bounded by the live ones, however many were created.
func TestTokens_DropEnded(t *testing.T) {
	now := time.UnixMilli(0)
	k := newTokens(func() time.Time { return now })
	for i := range 50_000 {
		id := strconv.Itoa(i)
		r := &parley.TokenRecord{TokenID: id, CreatedBy: "a", Agents: []string{"a"}}
		switch {
		case i < 10: // for ever
		case i%2 == 0:
			r.ExpiresAt = parley.TimestampOf(now.Add(time.Second))
		default:
			r.Parent = "3"
		}
		if !k.create(r, &parley.Event{Seq: int64(i)}) {
			t.Fatal("it is not live")
		}
		if i >= 10 && i%2 == 1 {
			k.revoke(id)
		}
		now = now.Add(100 * time.Millisecond)
		if n := max(len(k.ordered), len(k.byID), len(k.children["3"]), len(k.made["a"])); n > 200 {
			t.Fatalf("after %d tokens %d are kept", i, n)
		}
	}
	k.dropEndedLocked()
	if len(k.byID) > 10+6 || len(k.made["a"]) != len(k.byID) {
		t.Errorf("%d are live, %d counted", len(k.byID), len(k.made["a"]))
	}
}

// The calls of a participant that has the maximum number of tokens do not examine the tokens of others.
func TestTokens_CheckRoomIsCheap(t *testing.T) {
	k := newTokens(time.Now)
	for i := range 20_000 {
		id := strconv.Itoa(i)
		r := &parley.TokenRecord{TokenID: id, CreatedBy: strconv.Itoa(i % 20), Agents: []string{"a"}}
		k.create(r, &parley.Event{Seq: int64(i)})
	}
	full := &Principal{AgentID: "7"}
	if n := testing.AllocsPerRun(10, func() {
		if k.checkRoom(full) == nil {
			t.Fatal("there is room")
		}
	}); n > 100 {
		t.Errorf("a refusal allocates %.0f times", n)
	}
	k.revoke("7")
	if err := k.checkRoom(full); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// FuzzToken: any text is no token or the one that was given out, to the byte; its id has nothing of its secret.
func FuzzToken(f *testing.F) {
	const given = "plt_t1_SECRET_with_more"
	sum := sha256.Sum256([]byte(given))
	k := newTokens(time.Now)
	for i, r := range []*parley.TokenRecord{
		{TokenID: "t1", Agents: []string{"a"}, SHA256: hex.EncodeToString(sum[:])},
		{TokenID: "", Agents: []string{"b"}}, // without a hash no token matches
		{TokenID: "t3", Agents: []string{"c"}, SHA256: "no hex"},
	} {
		k.create(r, &parley.Event{Seq: int64(i + 1)})
	}
	const withoutID = "plt_t4_x"
	sum = sha256.Sum256([]byte(withoutID))
	k.create(&parley.TokenRecord{TokenID: "t4", SHA256: hex.EncodeToString(sum[:])}, &parley.Event{Seq: 4})
	for _, text := range []string{
		withoutID, given, given + "x", given + " ", "PLT_t1_SECRET_with_more", "plt_t1", "plt_t1_", "plt__",
		"plt__x", "plt_", "plt", "", "plt_t3_",
		"plt_t1_\x00", "eyJ.eyJ.", "tkt_x", "_", "plt_t\u0661_x",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, shown string) {
		id, ok := tokenID(shown)
		if ok && (strings.Contains(id, "_") || !strings.HasPrefix(shown, tokenPrefix+id+"_")) {
			t.Errorf("%q: the id is %q, %t", shown, id, ok)
		}
		who, err := k.Verify(t.Context(), shown)
		if taken := err == nil; taken != (shown == given) {
			t.Errorf("%q: %+v, %v", shown, who, err)
		}
		if err != nil && err != errBadToken {
			t.Errorf("%q: %v tells why", shown, err)
		}
	})
}
