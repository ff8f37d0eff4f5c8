package hub_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// TestListFilters: by participant, by text whatever the case, and the newest first: at every size of page, and no more than the caller sees.
func TestListFilters(t *testing.T) {
	h := startOn(t, newJournal(t), rooted("t"))
	for _, c := range []struct{ id, title, maker, seat string }{
		{"c1", "Prüfung der Straße", "a", "b"}, {"c2", "MRI of the knee", "a", "c"}, {"c3", "", "x", "b"}, {"knee-4",
			"ΣΟΦΟΣ", "b", "x"}, {"c5", "mri, again", "x", "a"},
	} {
		q := open2(c.maker, c.seat)
		q.ConversationID, q.Title = c.id, c.title
		create(t, h, h.LocalPrincipal(c.maker), q)
	}
	made := open2("y")
	made.ConversationID = "c6"
	create(t, h, h.LocalPrincipal("a"), made) // a takes no part
	admin, a := root(h), h.LocalPrincipal("a")
	narrow := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a", Conversations: []string{"c2", "c5"}})
	for i, test := range []struct {
		p    *hub.Principal
		q    parley.ListConversationsParams
		want []string
	}{
		{admin, parley.ListConversationsParams{Participant: "b"}, []string{"c1", "c3", "knee-4"}},
		{admin, parley.ListConversationsParams{Participant: "a"}, []string{"c1", "c2", "c5"}},
		{admin, parley.ListConversationsParams{Participant: "nobody"}, nil},
		{a, parley.ListConversationsParams{Participant: "b"}, []string{"c1"}},
		{a, parley.ListConversationsParams{Participant: "x"}, []string{"c5"}},
		{a, parley.ListConversationsParams{Participant: "y"}, []string{"c6"}},
		{narrow, parley.ListConversationsParams{Participant: "a"}, []string{"c2", "c5"}},
		{admin, parley.ListConversationsParams{Text: "KNEE"}, []string{"c2", "knee-4"}},
		{admin, parley.ListConversationsParams{Text: "Mri"}, []string{"c2", "c5"}},
		{admin, parley.ListConversationsParams{Text: "PRÜF"}, []string{"c1"}},
		{admin, parley.ListConversationsParams{Text: "σοφοσ"}, []string{"knee-4"}},
		{a, parley.ListConversationsParams{Text: "knee"}, []string{"c2"}},
		{a, parley.ListConversationsParams{Text: "mri", Participant: "x", Status: parley.StatusActive}, []string{"c5"}},
		{a, parley.ListConversationsParams{}, []string{"c1", "c2", "c5", "c6"}},
	} {
		for _, limit := range []int{1, 2, 100} {
			q := test.q
			q.Limit = limit
			if got := pagesOf(t, h, test.p, q); !slices.Equal(got, test.want) {
				t.Errorf("%d %+v: %v, want %v", i, q, got, test.want)
			}
			q.Newest = true
			want := slices.Clone(test.want)
			slices.Reverse(want)
			if got := pagesOf(t, h, test.p, q); !slices.Equal(got, want) {
				t.Errorf("%d %+v: %v, want %v", i, q, got, want)
			}
		}
	}
}

// TestListLong: a page looks at so many conversations and no more; what it has not looked at comes with the pages after it, in both orders.
func TestListLong(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	for i := range 1200 {
		q := open2("a")
		q.ConversationID = fmt.Sprintf("c%d", i)
		if i == 0 || i == 700 {
			q.Title = "this one"
		}
		create(t, h, h.LocalPrincipal("a"), q)
	}
	for newest, want := range map[bool][]string{false: {"c0", "c700"}, true: {"c700", "c0"}} {
		q := parley.ListConversationsParams{Text: "THIS ONE", Newest: newest}
		first, err := h.ListConversations(t.Context(), h.LocalPrincipal("a"), &q)
		if err != nil || first.NextCursor == "" || len(first.Conversations) > 1 {
			t.Fatalf("newest %t: %+v, %v", newest, first, err)
		}
		if got := pagesOf(t, h, h.LocalPrincipal("a"), q); !slices.Equal(got, want) {
			t.Errorf("newest %t: %v, want %v", newest, got, want)
		}
		q = parley.ListConversationsParams{Newest: !newest, Cursor: first.NextCursor}
		_, err = h.ListConversations(t.Context(), h.LocalPrincipal("a"), &q)
		refused(t, err, parley.ErrValidationFailed)
	}
	for _, q := range []parley.ListConversationsParams{{Participant: "no id"}, {Text: string(make([]byte, 257))},
		{Newest: true, Cursor: "nx"}} {
		_, err := h.ListConversations(t.Context(), h.LocalPrincipal("a"), &q)
		refused(t, err, parley.ErrValidationFailed)
	}
}
