package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// TestConsoleList: the list follows changes, shows the floor, stuck turns and sessions, and keeps
// its filter in the address.
func TestConsoleList(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "A case of two", nil, "ann:human", "bob:human")
	w.create("stuck", "Nobody runs it", nil, "ann:human", "nobody")
	w.say("ann", "stuck", "is anybody there?")
	b := w.open(visitor{}, "")
	b.waitText(`tr[data-id=case] .floor`, "ann")
	b.until(`/^[0-9]+m?s$/.test(document.querySelector('tr[data-id=case] .since').textContent)`)
	b.waitText(`tr[data-id=stuck] .floor`, "nobody runs it")

	stuck := w.open(visitor{}, "/c/stuck")
	stuck.waitText("parley-floor", "nobody has the floor") // the agent of that name
	stuck.until(`/[0-9]s/.test(document.querySelector("parley-floor .since").textContent)`)
	stuck.waitText("parley-floor .chip", "nobody runs it now")
	w.executor("nobody")
	stuck.waitGone("parley-floor .chip") // now an executor is online
	w.call("nobody", "claimTurn", map[string]any{"conversationId": "stuck", "turn": 2})
	stuck.waitText(".standing", "works on turn 2")
	b.waitText(`tr[data-id=stuck] .floor`, "works")

	newAsker(w, "asking", "ann:human", "bot:agent").ask("one", "bot wants to pay", nil)
	b.waitText(`tr[data-id=asking] .floor`, "waits for an approval")
	background(t, w.hub, string(program), "run", "--agent", "flaky", "--", "false")
	w.create("tried", "", map[string]any{"startsWith": "flaky", "limits": map[string]any{"maxAttempts": 1}}, "ann:human",
		"flaky:agent")
	b.waitText(`tr[data-id=tried] .floor`, "attempts used up")
	failing := w.open(visitor{}, "/agents/flaky")
	failing.waitText("section[aria-labelledby=agent-failing] li", "attempts used up")
	failing.until(`document.querySelector("section[aria-labelledby=agent-failing] a").hash === "#/c/tried"`)
	failing.route("/c/tried")
	failing.waitText(".row.system .sentence", "Attempt 1 at turn 1 failed")
	failing.waitText("parley-floor .chip", "attempts used up")

	w.say("ann", "case", hostile)
	b.waitText(`tr[data-id=case] .floor`, "bob") // it came live
	w.call("ann", "forkConversation", map[string]any{"conversationId": "case", "seq": 2, "forkId": "again", "title": hostile})
	b.waitText(`tr[data-id=again] .name`, hostile)
	b.waitText(`tr[data-id=again] .mark`, "fork at 2")
	w.call("ann", "closeConversation", map[string]any{"conversationId": "again", "outcome": map[string]any{"status": "failed", "reason": "no more"}})
	b.waitText(`tr[data-id=again] .mark.bad`, "failed")
	b.waitText(`tr[data-id=again] .floor`, "no more")

	b.press("/")
	b.until(`document.activeElement.name === 'text'`)
	b.eval(`document.activeElement.value = ''`) // the driver types the key although the page already handled it
	b.fill("input[name=text]", "TWO")
	b.waitGone("tr[data-id=stuck]")
	b.until(`location.hash === '#/?text=TWO'`)
	b.eval("location.reload() ?? ''")
	b.wait("tr[data-id=case]")
	w.create("case-3", "Not like that", nil, "ann:human", "bob:human")
	w.create("case-4", "one, two, three", nil, "ann:human", "bob:human")
	b.wait("tr[data-id=case-4]")
	if b.eval(`document.querySelector('tr[data-id="case-3"]')`) != "null" {
		t.Error("the filter does not hold for what comes")
	}
	b.route("/?status=closed")
	b.wait("tr[data-id=again]")
	b.waitGone("tr[data-id=case]")
	b.route("/?participant=nobody")
	b.wait("tr[data-id=stuck]")
	b.waitGone("tr[data-id=again]")

	b.route("/")
	b.wait("tr[data-id=again]")
	b.press("jj")
	b.until(`document.activeElement.closest('tr').dataset.id === document.querySelectorAll('tr[data-id]')[1].dataset.id`)
	b.press("ga")
	b.until(`location.hash === '#/approvals'`)
	b.press("gg")
	b.until(`location.hash === '#/agents'`)
	if title := b.eval("document.title"); strings.Contains(title, "owned") {
		t.Error("a title ran as HTML")
	}
}

// TestConsoleListNests: sessions are below the conversation that started them and can be collapsed,
// and one workspace can be listed alone.
func TestConsoleListNests(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	runBlueprint(w, map[string]any{"name": "echo", "argv": []string{"echo", "done"}, "description": "Says so.",
		"params_via": "stdin", "parameters_schema": map[string]any{"type": "object"}})
	w.create("parent", "The parent", nil, "ann:human", "bob:human")
	w.create("ward", "Of the ward", map[string]any{"workspace": "ward-7"}, "ann:human", "bob:human")
	first := w.startSession("ann", map[string]any{"agentName": "echo", "parentConversationId": "parent", "mode": "async_poll"})
	b := w.open(visitor{}, "")
	row := func(id string) string { return fmt.Sprintf("tr[data-id=%q]", id) }
	below := func(id string) {
		t.Helper()
		b.until(fmt.Sprintf("(rows => rows.indexOf(%q) > rows.indexOf('parent') && rows.indexOf(%[1]q) <= rows.indexOf('parent') + 2)([...document.querySelectorAll('tr[data-id]')].map(r => r.dataset.id))", id))
		b.until(fmt.Sprintf("parseFloat(getComputedStyle(document.querySelector(%q).firstElementChild).paddingInlineStart) > parseFloat(getComputedStyle(document.querySelector('tr[data-id=parent]').firstElementChild).paddingInlineStart)", row(first)))
	}
	b.waitText(row(first)+" .title", "echo") // it has no title
	b.waitText(row(first)+" .mark", "session for ann")
	b.waitText(row(first)+" .mark.ok", "completed")
	below(first)
	// it comes live
	second := w.startSession("ann", map[string]any{"agentName": "echo", "parentConversationId": "parent", "mode": "async_poll"})
	b.waitText(row(second)+" .mark.ok", "completed")
	below(second)

	b.click("tr[data-id=parent] .fold")
	b.waitGone(row(first))
	b.waitGone(row(second))
	b.until(`document.querySelector("tr[data-id=parent] .fold").getAttribute("aria-expanded") === "false"`)
	b.click("tr[data-id=parent] .fold")
	b.wait(row(second))

	b.fill("input[name=workspace]", "ward-7")
	b.wait(row("ward"))
	b.waitGone(row("parent"))
	b.until(`location.hash === "#/?workspace=ward-7"`)
	w.create("ward-2", "Of the ward too", map[string]any{"workspace": "ward-7"}, "ann:human", "bob:human")
	w.create("other", "Of another", map[string]any{"workspace": "ward-8"}, "ann:human", "bob:human")
	w.create("ward-3", "Of the ward again", map[string]any{"workspace": "ward-7"}, "ann:human", "bob:human")
	b.wait(row("ward-3"))
	b.wait(row("ward-2"))
	b.waitGone(row("other"))
	b.reload()
	b.wait(row("ward-2"))
	b.waitGone(row("other"))
}

// TestConsoleSurvives: the page shows that the hub is not reachable, and continues with all events
// when it is back.
func TestConsoleSurvives(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "Before", nil, "ann:human", "bob:human")
	b := w.open(visitor{}, "")
	b.waitText("tr[data-id=case] .floor", "ann")
	b.expect("WebSocket connection")
	b.expect("ERR_CONNECTION_REFUSED")
	w.hub.Kill(t)
	b.waitText("#state", "The hub is away. Trying again.")
	w.restart()
	w.say("ann", "case", "after")
	b.waitText("tr[data-id=case] .floor", "bob")
	b.until(`document.getElementById('state').hidden`)
}
