// Two conversations side by side: what both share, and then turn by turn what is the same and what is not.

import { define, h, replace } from './dom.js';
import { count, time, visible } from './format.js';
import { kindOf, timeOf } from './fold.js';
import { align } from './layout.js';
import { Conversation } from './model.js';
import { Lanes } from './lanes.js';
import { messageBody, statusClass } from './body.js';
import { sentence, withdrawn } from './words.js';
import { word } from './event.js';

/** How many rows are drawn at once. */
const PAGE = 300;

/** @typedef {import('./fold.js').LogEvent} LogEvent */

/** How many rows differ of those behind what both share. @param {number} all @param {number} differ @returns {string} */
function told(all, differ) {
  if (all === 0) return '.';
  if (differ === 0) return `; after that ${all === 1 ? 'one row says' : `all ${all} rows say`} the same in both.`;
  return `; after that ${count(differ, 'row')} of ${all} differ${differ === 1 ? 's' : ''}.`;
}

/** @param {import('./app.js').Ctx} ctx @param {string} a @param {string} b @returns {HTMLElement} */
export function view(ctx, a, b) {
  return new Compare(ctx, a, b);
}

class Compare extends HTMLElement {
  /** @type {Conversation[]} */
  both = [];
  #gone = false;
  #frame = 0;
  #showShared = false;
  #most = PAGE;

  /** @param {any} ctx @param {string} a @param {string} b */
  constructor(ctx, a, b) {
    super();
    this.ctx = ctx;
    this.ids = [a, b];
    this.className = 'compare';
    this.head = h('header', { class: 'compare-head' });
    this.rows = h('div', { class: 'compare-rows' });
  }

  connectedCallback() {
    this.ctx.title('Compare');
    replace(this, h('h1', null, 'Two conversations side by side'), this.head, this.rows);
    replace(this.head, h('p', { class: 'muted', role: 'status' }, 'Reading both.'));
    void this.#open();
  }

  disconnectedCallback() {
    this.#gone = true;
    cancelAnimationFrame(this.#frame);
    for (const c of this.both) c.close();
  }

  async #open() {
    const opened = await Promise.allSettled(this.ids.map((id) => Conversation.open(this.ctx, id)));
    const both = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    if (this.#gone || both.length < 2) {
      for (const c of both) c.close();
      const failed = opened.find((one) => one.status === 'rejected');
      replace(this.head, h('p', { class: 'problem foreign', dir: 'auto' }, `They cannot be compared: ${visible(failed?.status === 'rejected' ? String(failed.reason?.message ?? failed.reason) : '')}`));
      return;
    }
    this.both = both;
    for (const c of both) {
      c.listen((change) => {
        if (change.kind === 'events' || change.kind === 'snapshot') this.#soon();
      });
    }
    await Promise.all(both.map((c) => c.reach(1)));
    if (!this.#gone) this.#draw();
  }

  #soon() {
    if (this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.#frame = 0;
    const [a, b] = this.both;
    if (!a || !b || !a.whole || !b.whole) return;
    const { shared, pairs } = align(a.events, b.events);
    const differ = pairs.filter((p) => p.differs).length;
    replace(this.head,
      h('div', { class: 'pair' }, this.both.map((c) => this.#title(c))),
      h('p', { role: 'status' }, `${shared === 0 ? 'They share no events' : `The first ${count(shared, 'event')} ${shared === 1 ? 'is' : 'are'} the same`}${told(pairs.length, differ)}`));
    const rows = [];
    if (shared > 0) rows.push(this.#sharedRow(a, shared));
    if (this.#showShared) for (const e of a.events.slice(0, shared).filter(counts)) rows.push(h('div', { class: 'pair same whole' }, this.#cell(a, e)));
    let turn = -1;
    for (const p of pairs.slice(0, this.#most)) {
      if (p.turn !== turn && p.turn > 0) rows.push(h('h2', { class: 'turn' }, `Turn ${p.turn}`));
      turn = p.turn;
      rows.push(h('div', { class: `pair ${p.differs ? 'differs' : 'same'}` }, this.#cell(a, p.a), this.#cell(b, p.b)));
    }
    if (pairs.length > this.#most) rows.push(h('button', { type: 'button', on: { click: () => this.#more() } }, `${pairs.length - this.#most} more rows`));
    replace(this.rows, rows);
  }

  #more() {
    this.#most += PAGE;
    this.#draw();
  }

  /** @param {Conversation} c @returns {HTMLElement} */
  #title(c) {
    const s = c.snapshot;
    return h('div', { class: 'cell' }, h('h2', null, h('a', { class: 'foreign', dir: 'auto', href: `#/c/${encodeURIComponent(c.id)}` }, visible(s.title || c.id))),
      h('p', { class: 'muted' }, h('code', { class: 'foreign', dir: 'auto' }, visible(c.id)), ' ',
        h('span', { class: `chip status-${statusClass(s.status === 'closed' ? s.outcome?.status : s.status)}` }, s.status === 'closed' ? `closed: ${visible(String(s.outcome?.status ?? ''))}` : 'active'),
        s.fork ? ` fork of ${visible(s.fork.conversationId)} at #${Number(s.fork.seq)}` : null));
  }

  /** @param {Conversation} c @param {number} shared @returns {HTMLElement} */
  #sharedRow(c, shared) {
    const toggle = () => {
      this.#showShared = !this.#showShared;
      this.#draw();
    };
    const last = c.events[shared - 1];
    return h('p', { class: 'shared' }, h('button', { type: 'button', class: 'quiet', 'aria-expanded': String(this.#showShared), on: { click: toggle } },
      this.#showShared ? 'Hide what both share' : `Show what both share, up to #${last.seq}`));
  }

  /** @param {Conversation} c @param {LogEvent | null} e @returns {HTMLElement} */
  #cell(c, e) {
    if (e === null) return h('div', { class: 'cell none' }, h('span', { class: 'muted' }, 'nothing here'));
    const lanes = new Lanes(c.snapshot.participants ?? []);
    const w = c.fold.withdrawnBy(e);
    const jump = (/** @type {number} */ seq) => this.ctx.go(`/c/${encodeURIComponent(c.id)}/${seq}`);
    const scene = /** @type {any} */ ({ ctx: this.ctx, conversation: c, lanes, jump });
    return h('div', { class: `cell ${w ? 'withdrawn' : ''}` },
      h('header', null,
        e.type === 'message' ? h('span', { class: `who foreign ${lanes.classOf(e.from)}`, dir: 'auto' }, visible(e.from)) : h('span', { class: 'sentence' }, sentence(e).map((part) => word(scene, part))),
        w ? h('span', { class: 'chip bad' }, visible(withdrawn(w))) : null,
        e.finality === 'conversation' ? h('span', { class: `chip status-${statusClass(e.outcome?.status ?? 'completed')}` }, `closes: ${visible(e.outcome?.status ?? 'completed')}`) : null,
        h('span', { class: 'place' }, h('a', { class: 'seq', href: `#/c/${encodeURIComponent(c.id)}/${e.seq}` }, `#${e.seq}`), h('time', { datetime: e.at, title: e.at }, time(timeOf(e))))),
      e.type === 'message' ? h('div', { class: 'body' }, messageBody(this.ctx, c, e, jump)) : null);
  }
}
define('parley-compare', Compare);

/** @param {LogEvent} e @returns {boolean} */
function counts(e) {
  return e.type === 'message' || kindOf(e) === 'note';
}
