package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/parleyhub/parley/internal/hubproc"
)

// picture keeps a picture of the tab: in the directory of PARLEY_ARTIFACTS, else where go test
// -artifacts says.
func (b *tab) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("PARLEY_ARTIFACTS")
	if dir == "" {
		dir = b.t.ArtifactDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// clinicWorld is a hub on a working day: a payer's agent and people of a clinic.
type clinicWorld struct {
	*consoleWorld
	claim string
}

// newClinicWorld returns a hub with conversations in every state that a list shows.
func newClinicWorld(t *testing.T) *clinicWorld {
	w := &clinicWorld{consoleWorld: newConsoleWorld(t)}
	for _, agent := range []string{"payer", "policy-lookup", "case-review"} {
		w.executor(agent)
	}
	w.create("pa-1038", "Prior authorization: knee therapy", nil, "nora:human", "marc:human")
	w.say("nora", "pa-1038", "Twelve sessions are approved.")
	w.call("marc", "closeConversation", map[string]any{"conversationId": "pa-1038", "outcome": map[string]any{"status": "completed", "reason": "approved, 12 sessions"}})
	w.create("pa-1039", "Prior authorization: adalimumab", map[string]any{"workspace": "rheumatology"}, "nora:human",
		"payer:agent")
	w.say("nora", "pa-1039", "Methotrexate has failed after 16 weeks; the laboratory is attached.")
	w.create("intake-7", "Intake: headache, MRI asked for", nil, "marc:human", "triage:agent")
	w.say("marc", "intake-7", "Red flags?")
	w.create("pa-1040", "Appeal: denied physiotherapy", map[string]any{"workspace": "appeals"}, "marc:human", "nora:human")
	w.say("marc", "pa-1040", "The denial names the wrong guideline.")
	w.create("pa-1037", "Prior authorization: sleep study", nil, "nora:human", "marc:human")
	w.call("nora", "closeConversation", map[string]any{"conversationId": "pa-1037", "outcome": map[string]any{"status": "failed", "reason": "withdrawn by the clinic"}})
	w.mri()
	w.call("nora", "forkConversation", map[string]any{"conversationId": "pa-1041", "seq": 3, "forkId": "pa-1041-b",
		"title": "What if therapy was only four weeks"})
	return w
}

// executor registers an executor of an agent until the test ends. It takes no turns.
func (w *consoleWorld) executor(agent string) {
	w.t.Helper()
	caller, err := hubproc.Dial(w.hub.URL, agent, func(*hubproc.Frame[json.RawMessage]) {}, hubproc.CallerOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { caller.Close() })
	if err := caller.Call("registerExecutor", map[string]any{"executorId": agent + "-1", "agents": []string{agent}},
		nil); err != nil {
		w.t.Fatal(err)
	}
}

// mri is the conversation of the pictures: an agent looks at a case, has a part of it looked up,
// and asks before it decides.
func (w *clinicWorld) mri() {
	const id = "pa-1041"
	w.create(id, "Prior authorization: lumbar MRI", map[string]any{"workspace": "radiology"}, "marc:human", "payer:agent",
		"nora:human")
	var file struct{ Sha256 string }
	w.decode(w.call("marc", "putAttachment", map[string]any{"conversationId": id, "data": make([]byte, 48213), "name": "therapy-record.pdf", "mediaType": "application/pdf"}), &file)
	w.call("marc", "sendMessage", map[string]any{"conversationId": id, "finality": "turn", "payload": map[string]any{
		"text":        "I ask for an MRI of the lumbar spine. Pain down the left leg for nine weeks, and weakness of the big toe since Monday.\nSix weeks of physiotherapy have not helped; the record is attached.",
		"attachments": []any{map[string]any{"sha256": file.Sha256, "name": "therapy-record.pdf"}},
	}})
	var c struct {
		ClaimID string
		Turn    int64
	}
	w.decode(w.call("payer", "claimTurn", map[string]any{"conversationId": id, "turn": 2}), &c)
	w.claim = c.ClaimID
	trace := func(payload map[string]any) {
		w.call("payer", "sendTrace", map[string]any{"conversationId": id, "claimId": c.ClaimID, "payload": payload})
	}
	trace(map[string]any{"kind": "llm_plan", "text": "1. Which criteria does the policy name?  2. Does the record show them?  3. Decide, and have a nurse approve."})
	trace(map[string]any{"kind": "llm_step", "data": map[string]any{"step": 1, "provider": "openai", "model": "gpt-4o",
		"usage": map[string]any{"prompt_tokens": 1840, "completion_tokens": 96}}})
	trace(map[string]any{"kind": "llm_tool_started", "data": map[string]any{"key": "t1", "tool": "policy-lookup",
		"arguments": map[string]any{"procedure": "MRI lumbar spine"}}})
	var s struct{ SessionID string }
	w.decode(w.call("payer", "startSession", map[string]any{"agentName": "policy-lookup", "prompt": "What does the policy ask for before an MRI of the lumbar spine?", "mode": "async_poll",
		"parentConversationId": id}), &s)
	var child struct{ ClaimID string }
	w.decode(w.call("policy-lookup", "claimTurn", map[string]any{"conversationId": s.SessionID, "turn": 2}), &child)
	w.call("policy-lookup", "sendMessage", map[string]any{"conversationId": s.SessionID, "claimId": child.ClaimID,
		"finality": "conversation", "payload": map[string]any{"result": map[string]any{"result_type": "agent", "result_text": "Six weeks of therapy, or a neurological deficit that gets worse."}}})
	trace(map[string]any{"kind": "llm_tool_result", "data": map[string]any{"key": "t1", "tool": "policy-lookup", "result": "Six weeks of therapy, or a neurological deficit that gets worse."}})
	w.call("payer", "sendMessage", map[string]any{"conversationId": id, "claimId": c.ClaimID, "finality": "none",
		"payload": map[string]any{
			"text": "Both criteria of policy RAD-72148 are met: the therapy was six weeks long, and the weakness is new. I ask a nurse to confirm before I approve.",
		}})
	w.call("payer", "requestApproval", map[string]any{"conversationId": id, "claimId": c.ClaimID, "key": "decide",
		"title": "payer wants to approve an MRI of the lumbar spine", "details": map[string]any{
			"tool": "approve-procedure", "arguments": map[string]any{"procedure": "72148", "units": 1, "valid_days": 60},
			"injected_args": map[string]any{"why": "Six weeks of therapy without success, and a new weakness of the big toe."},
		}, "answerSchema": map[string]any{"type": "object", "required": []string{"units"}, "properties": map[string]any{"procedure": map[string]any{"type": "string"},
			"units": map[string]any{"type": "integer", "minimum": 1}, "valid_days": map[string]any{"type": "integer"}}}})
}

func (w *clinicWorld) decode(raw json.RawMessage, into any) {
	w.t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		w.t.Fatal(err)
	}
}

// TestConsolePictures keeps pictures of the views as artifacts, in both themes. Two of them are in
// the README: docs/images/console-conversation.png and console-list.png.
func TestConsolePictures(t *testing.T) {
	t.Parallel()
	w := newClinicWorld(t)
	b := w.open(visitor{}, "/c/pa-1041")
	b.do(chromedp.EmulateViewport(1440, 900))
	views := []struct{ name, route, ready string }{
		{"console-conversation", "/c/pa-1041", ".row.system .chip.status-pending"},
		{"console-list", "/", "tr[data-id='pa-1041'] .floor"},
		{"console-approvals", "/approvals", ".approval"},
		{"console-agents", "/agents", "main h1"},
		{"console-compare", "/compare/pa-1041/pa-1041-b", ".pair"},
	}
	for _, theme := range []string{"light", "dark"} {
		b.eval("(document.documentElement.dataset.theme = '" + theme + "')")
		for _, v := range views {
			b.eval("document.querySelector('main').firstElementChild?.setAttribute('data-old', '') ?? ''")
			if b.eval("location.hash") != "#"+v.route {
				b.route(v.route)
				b.until("!document.querySelector('main > [data-old]')")
			}
			b.wait(v.ready)
			if v.name == "console-conversation" {
				b.eval(`(document.querySelector("parley-conversation .tools > button").ariaExpanded !== "true" && document.querySelector("parley-conversation .tools > button").click(), '')`)
				b.wait("parley-why .seat")
			}
			settle(b)
			name := v.name
			if theme == "dark" {
				name += "-dark"
			}
			b.picture(name)
		}
	}
}
