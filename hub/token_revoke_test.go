package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

func revoke(h *hub.Hub, p *hub.Principal, id string) ([]string, error) {
	r, err := one(func(done func(parley.RevokeTokenResult, error)) {
		h.RevokeToken(p, &parley.RevokeTokenParams{TokenID: id}, done)
	})
	return r.Revoked, err
}

func mustRevoke(t *testing.T, h *hub.Hub, p *hub.Principal, id string) []string {
	t.Helper()
	ids, err := revoke(h, p, id)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// holder is a token and who comes with it.
type holder struct {
	token string
	*hub.Principal
}

// hold makes a token with p's.
func hold(t *testing.T, h *hub.Hub, p *hub.Principal, q parley.CreateTokenParams) holder {
	t.Helper()
	r, err := createToken(h, p, q)
	if err != nil {
		t.Fatal(err)
	}
	return holder{r.Token, login(t, h, r.Token)}
}

func login(t *testing.T, h *hub.Hub, token string) *hub.Principal {
	t.Helper()
	p, err := h.Authenticate(t.Context(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ofA is a token for a.
var ofA = parley.CreateTokenParams{AgentID: "a"}

// TestRevocation: a token ends with those that were made with it, at every method, for ever, and with no other.
func TestRevocation(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("1"))
	admin := login(t, h, rootToken)
	case1 := create(t, h, admin, open2("a", "b"))
	desk, twin := hold(t, h, admin, ofA), hold(t, h, admin, ofA)
	child := hold(t, h, desk.Principal, ofA)
	grandchild := hold(t, h, child.Principal, ofA)
	aunt := hold(t, h, desk.Principal, ofA)

	if got := mustRevoke(t, h, desk.Principal, child.TokenID); !slices.Equal(got,
		[]string{child.TokenID, grandchild.TokenID}) {
		t.Fatalf("revoked %v", got)
	}
	check := func(h *hub.Hub) {
		t.Helper()
		for _, ended := range []holder{child, grandchild} {
			_, err := h.Authenticate(t.Context(), ended.token, "")
			refused(t, err, parley.ErrUnauthenticated)
		}
		for _, live := range []holder{desk, twin, aunt} {
			login(t, h, live.token)
		}
	}
	check(h)
	for _, c := range calls {
		_, err := c.do(h, grandchild.Principal, case1)
		refused(t, err, parley.ErrUnauthenticated)
	}
	_, err := createToken(h, child.Principal, ofA)
	refused(t, err, parley.ErrUnauthenticated)
	_, err = revoke(h, child.Principal, aunt.TokenID)
	refused(t, err, parley.ErrUnauthenticated)

	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = startOn(t, j, rooted("2"))
	check(h)
	next := crash(t, j)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = startOn(t, next, rooted("3"))
	check(h)
	if got := mustRevoke(t, h, login(t, h, rootToken), desk.TokenID); !slices.Equal(got,
		[]string{desk.TokenID, aunt.TokenID}) {
		t.Fatalf("after a restart: %v", got)
	}
	login(t, h, twin.token)
	noSecrets(t, next, []string{desk.token, rootToken})
	var last parley.Event
	for _, e := range events(t, next, "~tokens") {
		last = e
	}
	if want := fmt.Sprintf(`{"kind":"token_revoked","tokenId":%q,"revokedBy":"admin"}`, desk.TokenID); string(last.Payload) != want || last.From != parley.HubID {
		t.Errorf("the log says %s of %s, want %s", last.Payload, last.From, want)
	}
}

// TestRevokeWhat: a token that the caller may not revoke looks like a missing one, and nothing is
// written.
func TestRevokeWhat(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("w"))
	admin := login(t, h, rootToken)
	_, absent := revoke(h, admin, "t1")
	refused(t, absent, parley.ErrNotFound)
	a, b := hold(t, h, admin, ofA), hold(t, h, admin, parley.CreateTokenParams{AgentID: "b"})
	narrow := hold(t, h, admin, parley.CreateTokenParams{AgentID: "a", Scopes: []parley.Scope{parley.ScopeAdmin},
		Conversations: []string{"c1"}})
	gone := hold(t, h, a.Principal, ofA)
	mustRevoke(t, h, a.Principal, gone.TokenID)
	before := len(events(t, j, "~tokens"))
	for name, c := range map[string]struct {
		by *hub.Principal
		id string
	}{
		"another's": {a.Principal, b.TokenID}, "the same participant's": {h.LocalPrincipal("a"),
			a.TokenID}, "the parent's": {hold(t, h, a.Principal, ofA).Principal, a.TokenID},
		"twice": {admin, gone.TokenID}, "the root token": {admin, "root"}, "nothing": {admin,
			""}, "by an admin of one conversation": {narrow.Principal, a.TokenID},
		"by the root's id": {h.LocalPrincipal("admin"), a.TokenID},
	} {
		_, err := revoke(h, c.by, c.id)
		refused(t, err, parley.ErrNotFound)
		if err.Error() != absent.Error() {
			t.Errorf("%s: %v, and what is absent: %v", name, err, absent)
		}
	}
	if after := len(events(t, j, "~tokens")); after != before+1 { // the child of "the parent's"
		t.Errorf("%d events were written", after-before)
	}
	if got := mustRevoke(t, h, a.Principal, a.TokenID); got[0] != a.TokenID { // its own
		t.Errorf("its own: %v", got)
	}
}

// TestRevocationRace: a token that is made while the one it is made with is being revoked does not survive, whichever comes first in the log.
func TestRevocationRace(t *testing.T) {
	for _, revokedFirst := range []bool{true, false} {
		t.Run(fmt.Sprint(revokedFirst), func(t *testing.T) {
			j := newJournal(t)
			h := startOn(t, j, rooted("1"))
			admin := login(t, h, rootToken)
			parent := hold(t, h, admin, ofA)
			type made struct {
				parley.CreateTokenResult
				err error
			}
			create, ended := make(chan made, 1), make(chan []string, 1)
			steps := []func(){
				func() {
					h.RevokeToken(admin, &parley.RevokeTokenParams{TokenID: parent.TokenID},
						func(r parley.RevokeTokenResult, err error) { ended <- r.Revoked })
				},
				func() {
					h.CreateToken(parent.Principal, &ofA, func(r parley.CreateTokenResult, err error) { create <- made{r, err} })
				},
			}
			if !revokedFirst {
				slices.Reverse(steps)
			}
			j.Hold()
			for _, step := range steps {
				step()
			}
			j.Release()
			child, ids := <-create, <-ended
			if revokedFirst {
				if refused(t, child.err, parley.ErrUnauthenticated); child.Token != "" ||
					!slices.Equal(ids, []string{parent.TokenID}) {
					t.Fatalf("%+v, revoked %v", child, ids)
				}
			} else if child.err != nil || !slices.Equal(ids, []string{parent.TokenID, child.TokenID}) {
				t.Fatalf("%+v, revoked %v", child, ids)
			}
			if n := len(events(t, j, "~tokens")); n != 4 {
				t.Fatalf("%d events: the race was none", n)
			}
			check := func(h *hub.Hub) {
				t.Helper()
				for _, k := range listAll(t, h, login(t, h, rootToken)) {
					t.Errorf("%s is live", k.TokenID)
				}
			}
			check(h)
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			check(startOn(t, j, rooted("2")))
		})
	}
}

// TestRevocationRaceAtOnce is the same without an order.
func TestRevocationRaceAtOnce(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("1"))
	admin := login(t, h, rootToken)
	for range 50 {
		parent := hold(t, h, admin, ofA)
		made := make(chan string, 8)
		for range cap(made) {
			go func() {
				r, _ := createToken(h, parent.Principal, ofA) // perhaps refused
				made <- r.Token
			}()
		}
		mustRevoke(t, h, admin, parent.TokenID)
		for range cap(made) {
			_, err := h.Authenticate(t.Context(), <-made, "")
			refused(t, err, parley.ErrUnauthenticated)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = startOn(t, j, rooted("2"))
	if left := listAll(t, h, login(t, h, rootToken)); len(left) > 0 {
		t.Errorf("%d tokens live after a restart", len(left))
	}
}

// TestRevocationEndsWaits: whatever waits with a token that is revoked ends at that moment.
func TestRevocationEndsWaits(t *testing.T) {
	waits := map[string]func(context.Context, *hub.Hub, *hub.Principal, string) error{
		"waitForChange": func(ctx context.Context, h *hub.Hub, p *hub.Principal, id string) error {
			_, err := h.WaitForChange(ctx, p, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: 1, TimeoutMs: 60_000})
			return err
		},
		"getUpdates": func(ctx context.Context, h *hub.Hub, p *hub.Principal, id string) error {
			_, _, err := h.GetUpdates(ctx, p, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: 1, TimeoutMs: 60_000})
			return err
		},
		"subscription": func(ctx context.Context, h *hub.Hub, p *hub.Principal, id string) error {
			s, err := h.Subscribe(ctx, p, &parley.SubscribeParams{ConversationID: id, SinceSeq: 1})
			if err != nil {
				return err
			}
			defer s.Close()
			for {
				if _, err := s.Next(ctx, 10); err != nil {
					return err
				}
			}
		},
		"client's subscription": func(ctx context.Context, h *hub.Hub, p *hub.Principal, id string) error {
			for _, err := range h.Client(p).Events(ctx, id, 0) {
				if err != nil {
					return err
				}
			}
			return errors.New("it ended by itself")
		},
		"client's wait": func(ctx context.Context, h *hub.Hub, p *hub.Principal, id string) error {
			_, err := h.Client(p).WaitForChange(ctx, &parley.WaitForChangeParams{ConversationID: id, SinceSeq: 1, TimeoutMs: 60_000})
			return err
		},
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := startOn(t, newJournal(t), rooted("e"))
				admin := login(t, h, rootToken)
				id := create(t, h, admin, open2("a", "b"))
				parent := hold(t, h, admin, ofA)
				child := hold(t, h, parent.Principal, ofA)
				ended := make(chan error, 1)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				go func() { ended <- wait(ctx, h, child.Principal, id) }()
				time.Sleep(time.Second) // in the bubble
				synctest.Wait()
				begin := time.Now()
				mustRevoke(t, h, admin, parent.TokenID)
				refused(t, <-ended, parley.ErrUnauthenticated)
				if waited := time.Since(begin); waited != 0 {
					t.Errorf("it waited %v more", waited)
				}
			})
		})
	}
}

// TestRenewedSubscription: it ends with the token that it was renewed with, and not with the one before.
func TestRenewedSubscription(t *testing.T) {
	for _, oldToo := range []bool{true, false} {
		t.Run(fmt.Sprint(oldToo), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { renewed(t, oldToo) })
		})
	}
}

func renewed(t *testing.T, oldToo bool) {
	h := startOn(t, newJournal(t), rooted("r"))
	admin := login(t, h, rootToken)
	id := create(t, h, admin, open2("a", "b"))
	old, fresh := hold(t, h, admin, ofA), hold(t, h, admin, ofA)
	s, err := h.Subscribe(t.Context(), old.Principal, &parley.SubscribeParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer s.Close()
		for {
			if _, err := s.Next(ctx, 10); err != nil {
				ended <- err
				return
			}
		}
	}()
	synctest.Wait()
	s.Renew(fresh.Principal)
	if oldToo {
		mustRevoke(t, h, admin, old.TokenID)
	}
	synctest.Wait()
	select {
	case err := <-ended:
		t.Fatalf("it ended with the token before: %v", err)
	default:
	}
	mustRevoke(t, h, admin, fresh.TokenID)
	refused(t, <-ended, parley.ErrUnauthenticated)
}

func listAll(t *testing.T, h *hub.Hub, p *hub.Principal) []parley.TokenInfo {
	t.Helper()
	var all []parley.TokenInfo
	q := &parley.ListTokensParams{Limit: 3}
	for {
		page, err := h.ListTokens(t.Context(), p, q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Tokens...)
		if page.NextCursor == "" {
			return all
		}
		if len(page.Tokens) != 3 {
			t.Fatalf("a page of %d that is not the last", len(page.Tokens))
		}
		q.Cursor = page.NextCursor
	}
}

// TestListTokens: each sees the live tokens that it may revoke, in order of creation, and never a hash.
func TestListTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, rooted("1"))
		admin := login(t, h, rootToken)
		desk := hold(t, h, admin, parley.CreateTokenParams{AgentID: "a", Agents: []string{"b"},
			Conversations: []string{"c1"}})
		var names []string // of desk's family
		names = append(names, desk.TokenID)
		for i := range 7 {
			q := ofA
			if i%2 == 1 {
				q.ExpiresInMs = 1000
			}
			k := hold(t, h, desk.Principal, q)
			hold(t, h, admin, parley.CreateTokenParams{AgentID: "c"})
			if i%2 == 0 {
				names = append(names, k.TokenID)
			}
		}
		time.Sleep(time.Second) // in the bubble: some have expired
		check := func(h *hub.Hub) {
			t.Helper()
			got := listAll(t, h, login(t, h, desk.token))
			ids := make([]string, len(got))
			for i, k := range got {
				ids[i] = k.TokenID
			}
			if !slices.Equal(ids, names) {
				t.Errorf("desk sees %v, want %v", ids, names)
			}
			first, second := got[0], got[1]
			if first.Parent != "" || first.CreatedBy != "admin" || first.CreatedAt == 0 ||
				!slices.Equal(first.Agents, []string{"a", "b"}) || !slices.Equal(first.Conversations, []string{"c1"}) {
				t.Errorf("%+v", first)
			}
			if second.Parent != desk.TokenID || second.CreatedBy != "a" || second.ExpiresAt != 0 {
				t.Errorf("%+v", second)
			}
			if all := listAll(t, h, login(t, h, rootToken)); len(all) != 5+7 {
				t.Errorf("an admin sees %d", len(all))
			}
			if mine := listAll(t, h, h.LocalPrincipal("a")); len(mine) != 0 {
				t.Errorf("who comes without a token sees %d", len(mine))
			}
		}
		check(h)
		for _, bad := range []parley.ListTokensParams{{Limit: -1}, {Limit: 1001}, {Cursor: "x"}} {
			_, err := h.ListTokens(t.Context(), admin, &bad)
			refused(t, err, parley.ErrValidationFailed)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		check(startOn(t, j, rooted("2")))
	})
}

// TestTokensOfOne: a participant with the maximum number of tokens can create one more when one of
// them ended.
func TestTokensOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), rooted("o"))
		desk := hold(t, h, login(t, h, rootToken), ofA)
		var last holder
		for i := range 1000 {
			q := ofA
			if i == 0 {
				q.ExpiresInMs = 5000
			}
			last = hold(t, h, desk.Principal, q)
		}
		full := func() {
			t.Helper()
			_, err := createToken(h, desk.Principal, ofA)
			refused(t, err, parley.ErrTooLarge)
		}
		full()
		mustRevoke(t, h, desk.Principal, last.TokenID)
		hold(t, h, desk.Principal, ofA)
		full()
		time.Sleep(5 * time.Second) // in the bubble
		hold(t, h, desk.Principal, ofA)
		full()
	})
}

// TestTokensWithoutParent: the records of versions before this one have none, and their tokens live.
func TestTokensWithoutParent(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, rooted("1"))
	desk := hold(t, h, login(t, h, rootToken), ofA)
	hold(t, h, desk.Principal, ofA)
	log := events(t, j, "~tokens")
	if old, child := string(log[1].Payload), string(log[2].Payload); strings.Contains(old, "parent") || !strings.Contains(child, `"parent":"`+desk.TokenID+`"`) {
		t.Errorf("%s\n%s", old, child)
	}
}
