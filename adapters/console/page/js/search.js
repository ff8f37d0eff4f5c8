// The search in a conversation: over all that was read, drawn or not.

import { define, h, listen } from './dom.js';
import { search } from './layout.js';

/** How long one step of a search may take, in ms, before the page gets time to draw; and how long after the last key it begins. */
const STEP = 8;
const PAUSE = 150;

/** The field, how many were found, and the way from one to the next. */
export class Search extends HTMLElement {
  /** @type {number[]} */
  found = [];
  #at = -1;
  #next = 0;
  #timer = 0;
  #text = '';
  #whole = false;

  /** @param {import('./model.js').Conversation} conversation @param {import('./timeline.js').Timeline} timeline */
  constructor(conversation, timeline) {
    super();
    this.conversation = conversation;
    this.timeline = timeline;
    this.className = 'search';
    this.input = h('input', { type: 'search', placeholder: 'Search the conversation', 'aria-label': 'Search the conversation', autocomplete: 'off', spellcheck: 'false', dir: 'auto' });
    this.said = h('span', { class: 'muted found', role: 'status' });
    this.up = h('button', { type: 'button', class: 'quiet', 'aria-label': 'Previous found event', disabled: true, on: { click: () => this.go(-1) } }, '↑');
    this.down = h('button', { type: 'button', class: 'quiet', 'aria-label': 'Next found event', disabled: true, on: { click: () => this.go(1) } }, '↓');
  }

  connectedCallback() {
    if (!this.firstChild) this.append(this.input, this.said, this.up, this.down);
    this.stopped = new AbortController();
    const { signal } = this.stopped;
    listen(this.input, 'input', () => this.#soon(PAUSE), signal);
    listen(this.input, 'keydown', (/** @type {KeyboardEvent} */ e) => {
      if (e.key !== 'Enter') return;
      e.preventDefault();
      if (this.#text !== this.input.value.trim()) this.#begin();
      this.go(e.shiftKey ? -1 : 1);
    }, signal);
    this.off = this.conversation.listen((change) => {
      if (change.kind !== 'events' && change.kind !== 'snapshot') return;
      if (this.#text === '') return;
      const first = this.conversation.events[0]?.seq ?? 0;
      if (change.kind === 'snapshot' || (change.from ?? 0) <= first) this.#soon(PAUSE);
      else this.#soon(0, true);
    });
  }

  disconnectedCallback() {
    this.stopped?.abort();
    this.off?.();
    clearTimeout(this.#timer);
  }

  /** Goes to the next found event, or the one before. @param {number} by */
  go(by) {
    const n = this.found.length;
    if (n === 0) return;
    if (this.#at < 0) this.#at = by > 0 ? this.found.findIndex((seq) => seq > this.timeline.current) : this.found.filter((seq) => seq < this.timeline.current).length - 1;
    else this.#at += by;
    this.#at = (this.#at + n) % n;
    this.timeline.mark(this.found[this.#at], false);
    this.#tell();
  }

  /** @param {number} ms @param {boolean} [on] goes on where it was */
  #soon(ms, on = false) {
    if (on && this.#timer !== 0) return;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => (on ? this.#step() : this.#begin()), ms);
  }

  #begin() {
    clearTimeout(this.#timer);
    this.#text = this.input.value.trim();
    this.found = [];
    this.#at = -1;
    this.#next = 0;
    this.#step();
  }

  #step() {
    this.#timer = 0;
    const { events } = this.conversation;
    if (this.#text !== '') {
      const until = performance.now() + STEP;
      const { seqs, next } = search(events, this.#text, this.#next, () => performance.now() > until);
      for (const seq of seqs) this.found.push(seq);
      this.#next = next;
      if (next < events.length) this.#timer = window.setTimeout(() => this.#step(), 0);
    }
    this.#whole = this.#next >= events.length;
    this.timeline.hits(this.found);
    this.#tell();
  }

  #tell() {
    const n = this.found.length;
    const place = this.#at >= 0 ? `${this.#at + 1} of ${n}` : `${n} found`;
    const rest = this.conversation.whole ? '' : ', earlier ones are not read';
    this.said.textContent = this.#text === '' ? '' : this.#whole ? place + rest : `${place}, searching`;
    this.up.disabled = this.down.disabled = n === 0;
  }
}
define('parley-search', Search);
