// A session inside the conversation out of which it was started: how it stands, and what was said in it last.

import { define, h, replace } from './dom.js';
import { visible } from './format.js';
import { Conversation } from './model.js';
import { Lanes } from './lanes.js';
import { eventRow } from './event.js';
import { rowsOf, turnBefore } from './layout.js';
import { resultView, statusClass } from './body.js';

/** How many rows are shown. All are in the session itself. */
const MOST = 40;
/** How deep sessions are shown in one another. */
const DEPTH = 4;

/** A session, live for as long as it is in the page. */
export class SessionView extends HTMLElement {
  /** @type {Conversation | null} */
  conversation = null;
  /** @type {Set<number>} */
  open = new Set();
  /** @type {Set<number>} */
  unfolded = new Set();
  #gone = false;
  #frame = 0;

  /** @param {any} ctx @param {string} sessionId @param {number} [depth] */
  constructor(ctx, sessionId, depth = 1) {
    super();
    this.ctx = ctx;
    this.sessionId = sessionId;
    this.depth = depth;
    this.className = 'session';
    this.state = h('p', { class: 'muted' }, 'Reading the session.');
    this.said = h('div', { class: 'session-rows' });
  }

  connectedCallback() {
    this.#gone = false;
    if (!this.firstChild) {
      this.append(h('p', null, h('a', { href: `#/c/${encodeURIComponent(this.sessionId)}` }, 'Open the session')), this.state, this.said);
    }
    void this.#read();
  }

  disconnectedCallback() {
    this.#gone = true;
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.conversation?.close();
    this.conversation = null;
  }

  async #read() {
    try {
      const [session, conversation] = await Promise.all([
        this.ctx.hub.call('getSession', { sessionId: this.sessionId }).catch(() => null),
        Conversation.open(this.ctx, this.sessionId),
      ]);
      if (this.#gone) {
        conversation.close();
        return;
      }
      this.conversation = conversation;
      this.session = session;
      conversation.listen((change) => {
        if (change.kind === 'events' || change.kind === 'snapshot') this.#soon();
      });
      this.#draw();
    } catch (err) {
      const reason = /** @type {any} */ (err)?.reason;
      replace(this.state, reason === 'not_found' || reason === 'forbidden'
        ? 'You take no part in this session: only what its parent was told of it is for you.'
        : `The session could not be read: ${visible(err instanceof Error ? err.message : String(err))}`);
    }
  }

  #soon() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    const c = this.conversation;
    if (!c) return;
    const scene = {
      ctx: this.ctx, conversation: c, lanes: new Lanes(c.snapshot.participants ?? []), open: this.open, raw: new Set(), menus: new Set(),
      jump: (/** @type {number} */ seq) => this.ctx.go(`/c/${encodeURIComponent(c.id)}/${seq}`),
      changed: () => this.#draw(),
      unfold: (/** @type {import('./layout.js').Row} */ row) => {
        for (const e of row.events) this.unfolded.add(e.seq);
        this.#draw();
      },
      refold: (/** @type {import('./layout.js').Row} */ row) => {
        for (const e of row.run ?? []) this.unfolded.delete(e.seq);
        this.#draw();
      },
      actions: () => [],
      child: (/** @type {string} */ id) => (this.depth < DEPTH ? new SessionView(this.ctx, id, this.depth + 1) : h('a', { href: `#/c/${encodeURIComponent(id)}` }, 'Open the session')),
    };
    const rows = rowsOf(c.events, this.unfolded, { traces: true, system: true });
    const shown = rows.slice(-MOST);
    const status = c.snapshot.status === 'closed' ? ended(c.snapshot.outcome) : this.session?.status ?? 'running';
    replace(this.state, h('span', { class: `chip status-${statusClass(status)}` }, visible(String(status))),
      rows.length > shown.length || !c.whole ? ` the last ${shown.length} rows` : null);
    replace(this.said, shown.map((row, i) => eventRow(scene, row, turnBefore(shown, i))),
      this.session?.result && c.snapshot.status !== 'closed' ? resultView(this.ctx, null, this.session.result) : null);
  }
}
define('parley-session', SessionView);

/** The status of a session by the outcome of its conversation. @param {any} outcome @returns {string} */
function ended(outcome) {
  if (outcome?.status === 'failed') return 'failed';
  return outcome?.status === 'canceled' ? 'stopped' : 'completed';
}
