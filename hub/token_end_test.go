package hub_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// TestNothingIsWrittenAfterExpiry: a call whose token ends before the decision writes nothing.
func TestNothingIsWrittenAfterExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, rooted("x"))
		admin := login(t, h, rootToken)
		id := create(t, h, admin, open2("a", "b"))
		before := len(events(t, j, id))
		short := hold(t, h, admin, parley.CreateTokenParams{AgentID: "a", ExpiresInMs: 1000})
		_, err := h.UploadAttachment(t.Context(), short.Principal,
			&parley.PutAttachmentParams{ConversationID: id, Name: "x"}, 1, func() ([]byte, error) {
				time.Sleep(time.Second) // in the bubble
				return []byte("x"), nil
			})
		refused(t, err, parley.ErrUnauthenticated)
		if after := len(events(t, j, id)); after != before {
			t.Errorf("%d events were written after the token had expired", after-before)
		}
	})
}

// TestNarrowTicketIsOverNoTokens: a caller with a ticket for one conversation can neither list nor
// revoke the token behind it or its family.
func TestNarrowTicketIsOverNoTokens(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("n"))
	admin := login(t, h, rootToken)
	id := create(t, h, admin, open2("a", "b"))
	desk := hold(t, h, admin, ofA)
	child := hold(t, h, desk.Principal, ofA)
	for name, p := range map[string]*hub.Principal{"a participant": desk.Principal, "an admin": admin} {
		narrow, err := h.Narrow(p, id)
		if err != nil {
			t.Fatal(err)
		}
		again, err := h.Narrow(narrow, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []*hub.Principal{narrow, again} {
			if list := listAll(t, h, n); len(list) > 0 {
				t.Errorf("%s sees %v", name, list)
			}
			for _, k := range []holder{desk, child} {
				_, err := revoke(h, n, k.TokenID)
				refused(t, err, parley.ErrNotFound)
			}
		}
	}
	login(t, h, child.token)
}

// TestRevokeWithoutRoom: while the storage is full a revocation is refused, and the token is as live as before.
func TestRevokeWithoutRoom(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("f"))
	admin := login(t, h, rootToken)
	k := hold(t, h, admin, ofA)
	j.FailNext(fmt.Errorf("%w: no space", journal.ErrStorageFull))
	_, err := revoke(h, admin, k.TokenID)
	refused(t, err, parley.ErrStorageFull)
	login(t, h, k.token)
	mustRevoke(t, h, admin, k.TokenID)
	_, err = h.Authenticate(t.Context(), k.token, "")
	refused(t, err, parley.ErrUnauthenticated)
}
