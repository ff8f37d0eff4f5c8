// The events of a conversation, one below the other, live.

import { define, h, replace } from './dom.js';
import { count, shorten, visible } from './format.js';
import { countdown, eventRow, signature } from './event.js';
import { isQuiet, rowAt, rowsOf, seam, turnBefore } from './layout.js';
import { Lanes } from './lanes.js';
import { Rows } from './window.js';
import { SessionView } from './child.js';
import { announcement } from './words.js';

/**
 * @typedef {import('./fold.js').LogEvent} LogEvent
 * @typedef {import('./layout.js').Row} Row
 * @typedef {import('./model.js').Conversation} Conversation
 * @typedef {import('./model.js').Change} Change
 */

/** How much of what is being said is shown, from its end. */
const MAX_TELLING = 4000;

/** A timeline. It follows its conversation for as long as it is in the page. */
export class Timeline extends HTMLElement {
  /** What the reader has opened, by seq. @type {Set<number>} */
  open = new Set();
  /** The quiet events whose run is shown one by one. @type {Set<number>} */
  unfolded = new Set();
  /** @type {Set<number>} */
  raw = new Set();
  /** @type {Set<number>} */
  menus = new Set();
  shown = { traces: true, system: true };
  /** The event that is marked: the one of the link, of the search, or where the keys are. */
  current = 0;
  /** How many events the rows have taken, and the seq of the first of these. */
  #taken = 0;
  #first = 0;
  /** How many events have come since the reader has left the end. */
  #unseen = 0;
  /** Whether what stands below the last event is to be drawn anew. */
  #stale = true;
  /** @type {Set<number>} */
  #hits = new Set();
  /** @type {() => void} */
  #off = () => {};

  /** @param {any} ctx @param {Conversation} conversation @param {(e: LogEvent) => HTMLElement[]} actions */
  constructor(ctx, conversation, actions) {
    super();
    this.ctx = ctx;
    this.conversation = conversation;
    this.actions = actions;
    this.className = 'timeline';
    this.earlier = h('button', { type: 'button', class: 'quiet earlier', hidden: true, on: { click: () => void conversation.reach(Math.max(1, conversation.readFrom - 5000)) } }, 'Show earlier events');
    this.list = h('div', { class: 'rows', role: 'feed', 'aria-label': 'Events' });
    this.tail = h('div', { class: 'tail' });
    this.scroller = h('div', { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': 'Timeline' }, this.earlier, this.list, this.tail);
    this.jumper = h('button', { type: 'button', class: 'primary newer', hidden: true, on: { click: () => this.end() } });
    this.voice = h('div', { class: 'visually-hidden', role: 'log', 'aria-live': 'polite', 'aria-label': 'New messages' });
    this.lanes = new Lanes(conversation.snapshot.participants ?? []);
    /** @type {import('./event.js').Scene} */
    this.scene = {
      ctx, conversation, lanes: this.lanes, open: this.open, raw: this.raw, menus: this.menus, actions,
      jump: (seq) => void this.jump(seq),
      changed: () => this.rows.draw(),
      unfold: (row) => this.#unfold(row),
      refold: (row) => this.#refold(row),
      child: (id) => new SessionView(ctx, id),
    };
    /** @type {Rows} */
    this.rows = new Rows(this.scroller, this.list, {
      signature: (row, index) => `${signature(this.scene, row, turnBefore(this.rows.rows, index))} ${this.#marks(row)}`,
      draw: (row, index) => this.#draw(row, index),
      before: () => this.#telling(),
      drawn: () => this.#drawn(),
    });
  }

  connectedCallback() {
    if (!this.firstChild) this.append(this.scroller, this.jumper, this.voice);
    this.#off = this.conversation.listen((change) => this.#changed(change));
    this.scroller.addEventListener('keydown', this.#pressed);
    this.#all();
  }

  disconnectedCallback() {
    this.#off();
    this.scroller.removeEventListener('keydown', this.#pressed);
    this.rows.stop();
  }

  /** Goes to an event, reads back to it if needed, and marks it. @param {number} seq @param {boolean} [focus] */
  async jump(seq, focus = true) {
    await this.conversation.reach(seq);
    if (!this.isConnected) return;
    this.mark(seq, focus);
  }

  /** Marks an event that was read, and scrolls to it. @param {number} seq @param {boolean} focus @returns {boolean} whether it is there */
  mark(seq, focus) {
    const e = this.conversation.at(seq);
    if (!e) {
      this.ctx.say(`You do not see event ${seq} of this conversation, or there is none.`, 'error');
      return false;
    }
    this.current = seq;
    if (isQuiet(e) && !this.unfolded.has(seq)) {
      this.unfolded.add(seq);
      this.#all();
    }
    const el = this.rows.show(seq);
    if (focus) el?.focus({ preventScroll: true });
    history.replaceState(history.state, '', `#/c/${encodeURIComponent(this.conversation.id)}/${seq}`);
    return true;
  }

  /** Goes to the end and follows it. */
  end() {
    this.#unseen = 0;
    this.rows.end();
    this.scroller.focus({ preventScroll: true });
  }

  /** Shows or hides a kind of events. @param {'traces' | 'system'} kind @param {boolean} on */
  show(kind, on) {
    this.shown[kind] = on;
    this.#all();
  }

  /** Marks the events that a search has found. @param {number[]} seqs */
  hits(seqs) {
    this.#hits = new Set(seqs);
    this.rows.soon();
  }

  /** Moves to the next event, or the one before. @param {number} by */
  move(by) {
    const { rows } = this.rows;
    if (rows.length === 0) return;
    this.#here();
    const at = this.current === 0 ? (by > 0 ? -1 : rows.length) : rowAt(rows, this.current);
    const i = Math.min(Math.max(at + by, 0), rows.length - 1);
    this.current = rows[i].key;
    this.rows.reveal(i)?.focus({ preventScroll: true });
  }

  /** @param {KeyboardEvent} e */
  #pressed = (e) => {
    const onRow = e.target === this.scroller || (e.target instanceof HTMLElement && e.target.matches('.row'));
    if (e.ctrlKey || e.metaKey || e.altKey || e.shiftKey || (e.target instanceof HTMLElement && e.target.matches('input, textarea, select'))) return;
    const moves = { j: 1, k: -1, ...(onRow ? { ArrowDown: 1, ArrowUp: -1 } : {}) };
    const by = /** @type {Record<string, number>} */ (moves)[e.key];
    if (by) {
      e.preventDefault();
      this.move(by);
    } else if (e.key === 'Enter' && onRow) {
      e.preventDefault();
      this.#enter();
    } else if (e.key === 'End' && onRow) {
      e.preventDefault();
      this.end();
    } else if (e.key === 'Home' && onRow && this.rows.rows.length > 0) {
      e.preventDefault();
      this.current = this.rows.rows[0].key;
      this.rows.reveal(0)?.focus({ preventScroll: true });
    }
  };

  /** Takes the row that has the focus as the place where the keys are: it may have been clicked. */
  #here() {
    const row = document.activeElement?.closest('.rows > .row');
    if (row instanceof HTMLElement && this.list.contains(row)) this.current = Number(row.dataset.seq);
  }

  /** Opens the event where the keys are: a run and a trace, a session, and of others their JSON. */
  #enter() {
    this.#here();
    const el = this.rows.element(this.current);
    const fold = /** @type {HTMLElement | null} */ (el?.querySelector('.fold:not(.refold)') ?? null);
    if (fold) {
      fold.click();
      return;
    }
    const set = this.raw;
    if (set.has(this.current)) set.delete(this.current);
    else set.add(this.current);
    this.rows.draw();
  }

  /** Shows the events of a run one by one. @param {Row} row */
  #unfold(row) {
    for (const e of row.events) this.unfolded.add(e.seq);
    this.#all();
    this.rows.draw();
    this.rows.element(row.key)?.focus({ preventScroll: true });
  }

  /** Shows the events of a run as one line again. @param {Row} row */
  #refold(row) {
    for (const e of row.run ?? []) this.unfolded.delete(e.seq);
    if (row.run?.some((e) => e.seq === this.current)) this.current = row.key;
    this.#all();
    this.rows.draw();
    this.rows.element(row.key)?.focus({ preventScroll: true });
  }

  /** @param {Change} change */
  #changed(change) {
    if (change.kind === 'snapshot') {
      this.#taken = 0;
      this.#all();
    } else if (change.kind === 'events') {
      this.#events(change.from ?? 1);
    }
    if (change.kind === 'guidance') return;
    this.#stale = true;
    this.rows.soon();
  }

  /** @param {number} from */
  #events(from) {
    const { events } = this.conversation;
    if (this.#taken === 0 || events[0]?.seq !== this.#first || from <= this.#first) {
      this.#all();
      return;
    }
    const fresh = events.slice(this.#taken);
    if (fresh.some((e) => e.type === 'system' && e.payload?.kind === 'participant_added')) this.#seats();
    if (!this.rows.following) this.#unseen += fresh.length;
    const { row, event } = seam(events, this.rows.rows);
    this.rows.replaceFrom(row, rowsOf(events, this.unfolded, this.shown, event));
    this.#taken = events.length;
    if (!this.conversation.live) return;
    for (const e of fresh) this.#announce(e);
  }

  /** Makes all rows anew. */
  #all() {
    const { events } = this.conversation;
    this.#seats();
    this.rows.replaceAll(rowsOf(events, this.unfolded, this.shown));
    this.#taken = events.length;
    this.#first = events[0]?.seq ?? 0;
  }

  #seats() {
    const now = this.conversation.snapshot.participants ?? [];
    if (now.length === this.lanes.participants.length) return;
    this.lanes = this.scene.lanes = new Lanes(now);
    this.dispatchEvent(new CustomEvent('parley-seats', { bubbles: true }));
  }

  /** @param {LogEvent} e */
  #announce(e) {
    const words = announcement(e);
    if (words === '') return;
    this.voice.append(h('p', { class: 'foreign', dir: 'auto' }, visible(words)));
    while (this.voice.childElementCount > 5) this.voice.firstElementChild?.remove();
  }

  /** @param {Row} row @returns {string} */
  #marks(row) {
    const has = (/** @type {number} */ seq) => row.events.some((e) => e.seq === seq);
    return `${this.current > 0 && has(this.current) ? 'c' : ''}${this.#hits.size > 0 && row.events.some((e) => this.#hits.has(e.seq)) ? 'h' : ''}`;
  }

  /** @param {Row} row @param {number} index @returns {HTMLElement} */
  #draw(row, index) {
    const el = eventRow(this.scene, row, turnBefore(this.rows.rows, index));
    const marks = this.#marks(row);
    el.classList.toggle('current', marks.includes('c'));
    el.classList.toggle('hit', marks.includes('h'));
    if (marks.includes('c')) el.setAttribute('aria-current', 'true');
    el.setAttribute('aria-setsize', this.conversation.whole ? String(this.rows.rows.length) : '-1');
    return el;
  }

  #drawn() {
    if (this.rows.following) this.#unseen = 0;
    const text = this.#unseen > 0 ? `${count(this.#unseen, 'new event')}` : 'To the end';
    this.jumper.hidden = this.rows.following;
    if (this.jumper.textContent !== text) this.jumper.textContent = text;
    this.list.setAttribute('aria-busy', String(!this.conversation.whole));
    this.earlier.hidden = this.conversation.whole;
  }

  /** What stands below the last event: what is being said now, the claim, and how it ended. */
  #telling() {
    if (!this.#stale) return;
    this.#stale = false;
    const { deltas, snapshot, fold } = this.conversation;
    const parts = [...deltas].map(([turn, d]) => h('div', { class: `row telling ${this.lanes.classOf(d.agentId)}`, 'data-turn': turn },
      h('div', { class: 'line-of' }, this.lanes.gutter(d.agentId, false), h('div', { class: 'event' },
        h('header', null, h('span', { class: `who foreign ${this.lanes.classOf(d.agentId)}`, dir: 'auto' }, visible(d.agentId)), h('span', { class: 'chip' }, `says in turn ${turn}`)),
        h('div', { class: 'body text foreign', dir: 'auto' }, visible(d.text.length > MAX_TELLING ? `…${d.text.slice(-MAX_TELLING)}` : d.text))))));
    if (fold.claim && snapshot.status !== 'closed') {
      const { agentId, attempt, turn } = fold.claim;
      parts.push(h('p', { class: 'standing' }, h('span', { class: `who foreign ${this.lanes.classOf(agentId)}`, dir: 'auto' }, visible(agentId)),
        ` works on turn ${turn}, attempt ${attempt} `, countdown(this.scene, fold.claim)));
    }
    if (snapshot.status === 'closed') {
      const reason = snapshot.outcome?.reason;
      parts.push(h('p', { class: 'ending' }, `Closed: ${visible(String(snapshot.outcome?.status ?? 'completed'))}`,
        reason ? h('span', { class: 'foreign', dir: 'auto' }, ` · ${visible(shorten(String(reason), 1024))}`) : null));
    }
    replace(this.tail, ...parts);
  }
}
define('parley-timeline', Timeline);
