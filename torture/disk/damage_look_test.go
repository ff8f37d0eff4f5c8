//go:build linux

package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// answers has the answers of a hub about its whole log, by question.
type answers map[string]answer

// answer is what was said, or why it was not.
type answer struct {
	text string
	err  error
}

// look asks a hub on a directory all questions, or only those of like. It returns an error if the
// directory cannot be opened.
func look(ctx context.Context, dir string, like answers) (got answers, healed bool, err error) {
	j, err := bolt.Open(dir, nil)
	if err != nil {
		return nil, false, err
	}
	healed = j.Recovery().Rebuilt != nil
	h, err := hub.Open(j, nil)
	if err != nil {
		return nil, healed, errors.Join(err, j.Close())
	}
	c := h.Client(h.LocalPrincipal(admin, parley.ScopeAdmin))
	got = make(answers)
	got.ask(ctx, c, like)
	if like != nil && got.goOn(ctx, h) {
		again := make(answers)
		again.ask(ctx, c, like)
		for what, a := range again {
			if a.err == nil { // the members that are named now were correct before
				got[what+", after some appends"] = a
			}
		}
	}
	return got, healed, errors.Join(c.Close(), h.Close(), named(j.Close()))
}

// named is nil for an error that names damage.
func named(err error) error {
	var damage *journal.DamageError
	if errors.As(err, &damage) && damage.What != "" && (damage.File != "" || damage.Position > 0) ||
		errors.Is(err, journal.ErrFormat) {
		return nil
	}
	return err
}

func (a answers) put(what, text string, err error) {
	a[what] = answer{text, err}
}

func (a answers) ask(ctx context.Context, c parley.Client, like answers) {
	for i := range damageConversations {
		a.conversation(ctx, c, fmt.Sprint("talk-", i), like)
	}
	list, err := c.ListConversations(ctx, &parley.ListConversationsParams{Limit: 100})
	if err != nil {
		a.put("list", "", err)
		return
	}
	for _, s := range list.Conversations {
		if s.ConversationID == appended {
			continue
		}
		b, err := json.Marshal(s)
		a.put("listed "+s.ConversationID, string(b), err)
	}
}

// conversation asks for every event, for the guidance of all at every tenth, and for every file.
func (a answers) conversation(ctx context.Context, c parley.Client, id string, like answers) {
	var events []string
	var files []string
	for since := int64(0); ; {
		page, err := c.Tail(ctx, &parley.TailParams{ConversationID: id, SinceSeq: since, Limit: 7})
		if err != nil {
			a.put("events of "+id, "", err)
			break
		}
		for _, e := range page.Events {
			events = append(events, string(e.Raw()))
			if s, err := e.System(); err == nil && s.Kind == parley.KindAttachmentAdded {
				files = append(files, s.SHA256)
			}
		}
		if since = page.NextSeq; since >= page.LatestSeq {
			a.put("events of "+id, strings.Join(events, "\n"), nil)
			break
		}
	}
	snapshot, err := c.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		a.put("snapshot of "+id, "", err)
	} else {
		b, err := json.Marshal(snapshot)
		a.put("snapshot of "+id, string(b), err)
	}
	for seq := len(events); seq > 0; seq -= 10 {
		what := fmt.Sprintf("guidance of %s at %d", id, seq)
		if _, asked := like[what]; like != nil && !asked {
			continue // a page that was cut short ends elsewhere
		}
		r, err := c.Explain(ctx, &parley.ExplainParams{ConversationID: id, Seq: int64(seq)})
		if err != nil {
			a.put(what, "", err)
			continue
		}
		b, err := json.Marshal(r)
		a.put(what, string(b), err)
	}
	for _, f := range files {
		b, err := io.ReadAll(parley.ReadAttachment(ctx, c, id, f))
		a.put("file "+f+" of "+id, string(b), err)
	}
}

// appended is a conversation that is made after the damage.
const appended = "appended"

// goOn appends over pages that may only seem to be free, and reports whether all of that was
// acknowledged.
func (a answers) goOn(ctx context.Context, h *hub.Hub) bool {
	c := h.Client(h.LocalPrincipal("person"))
	defer c.Close()
	_, err := c.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: appended, Participants: []parley.Participant{{ID: "person", Kind: parley.KindHuman}},
		Policy: &parley.Policy{Kind: parley.PolicyOpen},
	})
	for i := 0; i < 3 && err == nil; i++ {
		_, err = c.SendMessage(ctx, &parley.SendMessageParams{
			ConversationID: appended, Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"` +
				strings.Repeat("later ", 5000) + `"}`),
		})
	}
	return err == nil
}
