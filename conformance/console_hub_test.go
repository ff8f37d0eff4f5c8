package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

// reader follows the conversation case with the module of the page, and records the events.
const reader = `(async () => {
	const { Hub } = await import('/console/js/hub.js');
	window.told = { seqs: [], states: [], refused: '' };
	window.hub = await Hub.open({ token: %q });
	hub.onState((s) => told.states.push(s));
	hub.subscribe('case', 1, { event: (e) => told.seqs.push(e.seq), refused: (err) => { told.refused = err.reason; } });
	hub.subscribe('absent', 0, { refused: (err) => { told.absent = err.reason; } });
	hub.as('ann').call('getGuidance', { conversationId: 'case' }).then((r) => { told.ann = r.guidance.kind; });
	hub.call('sendMessage', { conversationId: 'case', payload: { text: 'x'.repeat(1 << 20) }, finality: 'none' }).catch((err) => { told.large = err.reason; });
})().catch((err) => { window.told = { failed: String(err) }; }), ''`

// TestConsoleReadsEachEventOnce: over restarts of a killed hub, a subscription yields each event
// once and in order, and a call in between is answered.
func TestConsoleReadsEachEventOnce(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "Before", nil, "ann:human", "bob:human")
	b := w.open(visitor{}, "")
	b.expect("WebSocket connection")
	b.eval(fmt.Sprintf(reader, hubproc.Token))
	b.until(`window.told?.absent === 'not_found' && told.large === 'too_large' && told.ann === 'may_speak'`)
	w.say("ann", "case", "one")
	w.say("bob", "case", "two")
	b.until(`told.seqs.length === 2`)
	for i := range 2 {
		w.hub.Kill(t)
		b.until(`hub.state === 'away'`)
		b.eval(`hub.as('ann').call('sendNote', { conversationId: 'case', payload: { schema: 'n', data: 1 }, clientRequestId: 'k' + told.seqs.length }).then(() => { told.notes = (told.notes ?? 0) + 1; }), ''`)
		w.restart()
		w.say("ann", "case", "three")
		w.say("bob", "case", "four")
		b.until(fmt.Sprintf(`told.seqs.length === %d`, 2+3*(i+1)))
		b.until(fmt.Sprintf(`told.notes === %d`, i+1))
	}
	if got := b.eval(`told.seqs.join()`); got != "2,3,4,5,6,7,8,9" {
		t.Errorf("told of %s", got)
	}
	if refused := b.eval(`told.refused`); refused != "" {
		t.Errorf("refused: %s", refused)
	}

	// An expired token: the page asks for another.
	w.call("admin", "revokeToken", map[string]any{"tokenId": b.eval(`JSON.parse(sessionStorage.getItem('parley.token')).token.split('_')[1]`)})
	b.wait("parley-signin")
	if kept := b.eval(`sessionStorage.getItem('parley.token')`); kept != "null" {
		t.Errorf("the token is kept: %s", kept)
	}
}

// manyNotes writes as many notes as may be under way at once, which get lost with their socket, and
// one that waits behind them.
const manyNotes = `(() => {
	const send = WebSocket.prototype.send;
	const note = (data) => hub.as('ann').call('sendNote', { conversationId: 'case', payload: { schema: 'n', data }, clientRequestId: data + Math.random() }).then(() => { told.notes = (told.notes ?? 0) + 1; });
	WebSocket.prototype.send = function (frame) {
		if (!frame.includes('"first"')) send.call(this, frame);
	};
	for (let i = 0; i < 48; i++) note('first');
	note('second');
	WebSocket.prototype.send = send;
	return '';
})()`

// TestConsoleKeepsTheOrder: a call that is sent again when the hub is back comes before those that
// were made after it.
func TestConsoleKeepsTheOrder(t *testing.T) {
	t.Parallel()
	w := newConsoleWorld(t)
	w.create("case", "", nil, "ann:human", "bob:human")
	b := w.open(visitor{}, "")
	b.expect("WebSocket connection")
	b.eval(fmt.Sprintf(reader, hubproc.Token))
	b.until(`window.told?.ann === 'may_speak'`)
	b.eval(manyNotes)
	w.hub.Kill(t)
	w.restart()
	b.until("told.notes === 49")
	log := string(w.call("admin", "tail", map[string]any{"conversationId": "case", "sinceSeq": 1, "limit": 100}))
	if first, second := strings.LastIndex(log, `"first"`), strings.Index(log, `"second"`); first < 0 || first > second {
		t.Errorf("the notes stand otherwise in the log: %s", log)
	}
}
