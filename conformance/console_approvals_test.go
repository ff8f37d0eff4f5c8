package conformance

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestConsoleApprovals answers approvals: with other arguments, with a rejection, and at the same
// time as another person, whose answer was first.
func TestConsoleApprovals(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	asker := newAsker(w, "ask", "ann:human", "ben:human", "bot:agent")
	first := asker.ask("one", "bot wants to run refund", map[string]any{"tool": "refund", "arguments": map[string]any{"amount": 120, "to": "carl " + hostile},
		"injected_args": map[string]any{"reason": "the parcel was lost"}, "agent": "bot"})
	second := asker.ask("two", "bot wants to run close_account",
		map[string]any{"tool": "close_account", "arguments": map[string]any{"id": "carl"}})

	scopes := []string{"read", "write", "approve"}
	ann := w.open(visitor{Agent: "ann", Scopes: scopes}, "/approvals")
	ben := w.open(visitor{Agent: "ben", Scopes: scopes}, "/approvals")
	card := func(id string) string { return fmt.Sprintf("[data-approval=%q]", id) }
	ann.waitText(card(first), "the parcel was lost")
	ann.waitText(card(first), "carl "+`<img`)
	ben.waitText(card(first), "refund")
	ben.wait(card(second))

	// ann mends the amount first: the form refuses what the schema does, and sends the rest.
	ann.button("Edit the arguments", card(first))
	ann.labelled("amount", "5000")
	ann.button("Approve with these arguments", card(first))
	ann.waitText(card(first)+" .field-wrong", "At most 1000.")
	ann.labelled("amount", "80")
	ann.labelled("Comment", "less is enough")
	ann.button("Approve with these arguments", card(first))
	ann.waitText(card(first)+"[data-status=approved] .approval-said", "ann has approved it with other arguments")
	got := asker.get(first)
	if got.Status != "approved" || got.By != "ann" || got.Comment != "less is enough" || got.Answer["amount"] != 80.0 {
		t.Errorf("the approval is %+v", got)
	}
	ben.waitText(card(first)+" .approval-said", "ann has approved it") // without his doing

	// ben decides the approval that ann sees. She presses before her page shows it, and the page names
	// ben.
	ann.eval(holdPolls)
	ben.button("Reject", card(second))
	ben.waitText(card(second)+"[data-status=rejected] .approval-said", "ben has rejected it")
	ann.button("Approve", card(second))
	ann.waitText(card(second)+" .refused", "Somebody was first.")
	ann.waitText(card(second)+"[data-status=rejected] .approval-said", "ben has rejected it")
	if got := asker.get(second); got.Status != "rejected" || got.By != "ben" {
		t.Errorf("the approval is %+v", got)
	}

	// A new approval appears by itself. A reader that may not answer it sees that, and its link leads
	// to the event.
	third := asker.ask("three", "bot asks about nothing", nil)
	ben.waitText(card(third), "bot asks about nothing")
	ben.click(card(third) + " .approval-head a")
	ben.until("location.hash.startsWith('#/c/ask/')")
	ben.waitText("main", "bot asks about nothing")
	eve := w.open(visitor{Agent: "ben", Scopes: []string{"read", "write"}}, "/approvals")
	eve.waitText("main", "Nobody waits for an answer of yours.")
}

// holdPolls lets nothing come that the page did not ask for by a press.
const holdPolls = `(() => {
	const send = WebSocket.prototype.send;
	WebSocket.prototype.send = function (frame) {
		if (!frame.includes('"listApprovals"') && !frame.includes('"watchConversations"')) send.call(this, frame);
	};
	return '';
})()`

// asker is an agent that holds a turn and asks.
type asker struct {
	w           *consoleWorld
	id, claimID string
}

// newAsker makes a conversation, in which the last participant takes its turn.
func newAsker(w *consoleWorld, id string, participants ...string) *asker {
	w.t.Helper()
	w.create(id, "Asking", map[string]any{"startsWith": "bot"}, participants...)
	var claim struct{ ClaimID string }
	if err := json.Unmarshal(w.call("bot", "claimTurn", map[string]any{"conversationId": id, "turn": 1}),
		&claim); err != nil {
		w.t.Fatal(err)
	}
	return &asker{w, id, claim.ClaimID}
}

type approved struct {
	ApprovalID, Status, By, Comment string
	Answer                          map[string]any
}

// ask requests an approval and returns its id. With details, the answer may have other arguments.
func (a *asker) ask(key, title string, details map[string]any) string {
	a.w.t.Helper()
	params := map[string]any{"conversationId": a.id, "claimId": a.claimID, "key": key, "title": title}
	if details != nil {
		params["details"] = details
		params["answerSchema"] = map[string]any{"type": "object", "required": []string{"amount"},
			"properties": map[string]any{
				"amount": map[string]any{"type": "integer", "minimum": 1, "maximum": 1000, "description": "In euros."},
				"to":     map[string]any{"type": "string"},
			}}
	}
	var r approved
	if err := json.Unmarshal(a.w.call("bot", "requestApproval", params), &r); err != nil {
		a.w.t.Fatal(err)
	}
	return r.ApprovalID
}

func (a *asker) get(id string) (r approved) {
	a.w.t.Helper()
	if err := json.Unmarshal(a.w.call("admin", "getApproval", map[string]any{"approvalId": id}), &r); err != nil {
		a.w.t.Fatal(err)
	}
	return r
}
