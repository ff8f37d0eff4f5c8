// A long list of which only what is to be seen is in the page. Rows have any height: a guess until they were drawn, then what was measured. What the reader looks at stays where it is
// when rows above it turn out taller, are added, or open.

import { h } from './dom.js';
import { Heights, guess, rowAt } from './layout.js';

/** @typedef {import('./layout.js').Row} Row */

/** How far beyond what is to be seen rows are drawn, in pixels; and how near to the end counts as being there. */
const BEYOND = 500;
const NEAR = 48;

/** The rows of a scroller. */
export class Rows {
  /** @type {Row[]} */
  rows = [];
  /** Whether the end is followed. */
  following = true;
  #heights = new Heights([]);
  /** What was measured, by key. @type {Map<number, number>} */
  #measured = new Map();
  /** @type {Map<number, {el: HTMLElement, sig: string, height: number}>} */
  #drawn = new Map();
  #frame = 0;
  #timer = 0;
  /** What the reader looks at: a row, and how far it is above the edge. */
  #anchor = { key: 0, offset: 0 };
  /** Where the scroller was put last. */
  #put = -1;
  #sizes;
  #edges;
  #stopped = new AbortController();

  /**
   * @param {HTMLElement} scroller @param {HTMLElement} list where the rows go
   * @param {{signature: (row: Row, index: number) => string, draw: (row: Row, index: number) => HTMLElement, before: () => void, drawn: () => void}} o
   */
  constructor(scroller, list, o) {
    this.scroller = scroller;
    this.list = list;
    this.o = o;
    this.above = h('div', { class: 'space', 'aria-hidden': 'true' });
    this.below = h('div', { class: 'space', 'aria-hidden': 'true' });
    list.append(this.above, this.below);
    this.#sizes = new ResizeObserver((entries) => this.#resized(entries));
    this.#edges = new ResizeObserver(() => this.soon());
    this.#edges.observe(scroller);
    scroller.addEventListener('scroll', () => this.#scrolled(), { signal: this.#stopped.signal, passive: true });
  }

  stop() {
    this.#stopped.abort();
    this.#sizes.disconnect();
    this.#edges.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
  }

  /** Takes the rows from an index on. @param {number} from @param {Row[]} rows */
  replaceFrom(from, rows) {
    this.rows.length = from;
    for (const row of rows) this.rows.push(row);
    this.#heights.replaceFrom(from, rows.map((row) => this.#measured.get(row.key) ?? guess(row)));
    this.soon();
  }

  /** Takes all rows. @param {Row[]} rows */
  replaceAll(rows) {
    this.rows = rows;
    this.#heights = new Heights(rows.map((row) => this.#measured.get(row.key) ?? guess(row)));
    this.soon();
  }

  /** Draws in the next frame; in a page that nobody sees, which has no frames, a little later. */
  soon() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => this.draw());
    this.#timer = window.setTimeout(() => this.draw(), 250);
  }

  /** The element of the row with a seq, where it is drawn. @param {number} seq @returns {HTMLElement | null} */
  element(seq) {
    const row = this.rows[rowAt(this.rows, seq)];
    return row ? this.#drawn.get(row.key)?.el ?? null : null;
  }

  /** Scrolls to a seq, and draws. @param {number} seq @returns {HTMLElement | null} its row */
  show(seq) {
    const row = this.rows[rowAt(this.rows, seq)];
    if (!row) return null;
    this.following = false;
    this.#anchor = { key: row.key, offset: -Math.min(120, this.scroller.clientHeight / 4) };
    this.#put = -1;
    this.draw();
    return this.element(seq);
  }

  /** Scrolls as little as needed for a row to be seen, and draws. @param {number} index @returns {HTMLElement | null} */
  reveal(index) {
    const row = this.rows[index];
    if (!row) return null;
    const el = this.#drawn.get(row.key)?.el;
    const box = this.scroller.getBoundingClientRect();
    const at = el?.getBoundingClientRect();
    if (at && at.top >= box.top && at.bottom <= box.bottom) return el ?? null;
    if (!at || at.top < box.top || at.height > box.height) return this.show(row.key);
    this.following = index === this.rows.length - 1;
    this.#anchor = { key: row.key, offset: at.height + 8 - box.height };
    this.#put = -1;
    this.draw();
    return this.#drawn.get(row.key)?.el ?? null;
  }

  /** Goes to the end, and stays there. */
  end() {
    this.following = true;
    this.#put = -1;
    this.draw();
  }

  /** Draws what is to be seen now. */
  draw() {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
    this.#frame = 0;
    if (!this.scroller.isConnected) return;
    this.o.before();
    this.#readAnchor();
    for (let round = 0; round < 4; round++) {
      const done = this.#window();
      this.#restore();
      if (done) break;
    }
    this.o.drawn();
  }

  /** Where the reader has scrolled to since, if that was not this class. */
  #readAnchor() {
    if (this.#put >= 0 && Math.abs(this.scroller.scrollTop - this.#put) > 1) this.#look();
  }

  /** Takes what is at the upper edge as what the reader looks at. */
  #look() {
    const top = this.scroller.scrollTop - this.list.offsetTop;
    const i = this.#heights.at(Math.max(0, top));
    const row = this.rows[i];
    this.#anchor = row ? { key: row.key, offset: top - this.#heights.before(i) } : { key: 0, offset: 0 };
    this.#put = this.scroller.scrollTop;
  }

  /** Draws the rows around the anchor and measures them; false when the heights have changed, so that others may be to be seen. @returns {boolean} */
  #window() {
    const n = this.rows.length;
    const view = this.scroller.clientHeight;
    const top = this.following ? this.#heights.total - view : this.#top();
    const first = Math.max(0, this.#heights.at(Math.max(0, top - BEYOND)));
    let last = n === 0 ? -1 : this.#heights.at(Math.max(0, top + view + BEYOND));
    if (this.following) last = n - 1;
    /** @type {Set<number>} */
    const wanted = new Set();
    for (let i = first; i <= last; i++) wanted.add(this.rows[i].key);
    for (const [key, one] of this.#drawn) if (!wanted.has(key)) this.#remove(key, one.el);
    /** @type {{i: number, el: HTMLElement}[]} */
    const fresh = [];
    let after = /** @type {Element} */ (this.above);
    for (let i = first; i <= last; i++) {
      const el = this.#row(i, fresh);
      if (after.nextElementSibling !== el) after.after(el);
      after = el;
    }
    const changed = this.#measure(fresh);
    this.above.style.height = `${this.#heights.before(first)}px`;
    this.below.style.height = `${Math.max(0, this.#heights.total - this.#heights.before(last + 1))}px`;
    return !changed;
  }

  /** @param {number} i @param {{i: number, el: HTMLElement}[]} fresh @returns {HTMLElement} */
  #row(i, fresh) {
    const row = this.rows[i];
    const sig = this.o.signature(row, i);
    const drawn = this.#drawn.get(row.key);
    if (drawn && drawn.sig === sig) {
      drawn.el.setAttribute('aria-posinset', String(i + 1));
      return drawn.el;
    }
    const el = this.o.draw(row, i);
    el.setAttribute('aria-posinset', String(i + 1));
    if (drawn) {
      const focused = focusIn(drawn.el);
      drawn.el.replaceWith(el);
      this.#sizes.unobserve(drawn.el);
      focused(el);
    }
    this.#drawn.set(row.key, { el, sig, height: -1 });
    this.#sizes.observe(el);
    fresh.push({ i, el });
    return el;
  }

  /** @param {{i: number, el: HTMLElement}[]} fresh @returns {boolean} whether a height is another than was thought */
  #measure(fresh) {
    let changed = false;
    const heights = fresh.map(({ el }) => el.getBoundingClientRect().height);
    fresh.forEach(({ i }, k) => {
      const { key } = this.rows[i];
      if (Math.abs(this.#heights.heights[i] - heights[k]) > 0.5) changed = true;
      this.#measured.set(key, heights[k]);
      this.#heights.set(i, heights[k]);
      const drawn = this.#drawn.get(key);
      if (drawn) drawn.height = heights[k];
    });
    return changed;
  }

  /** Where the upper edge is, in the list. @returns {number} */
  #top() {
    const i = rowAt(this.rows, this.#anchor.key);
    return (i < 0 ? 0 : this.#heights.before(i)) + this.#anchor.offset;
  }

  /** Puts the scroller where the reader looks. */
  #restore() {
    const to = this.following ? this.scroller.scrollHeight : this.#top() + this.list.offsetTop;
    if (this.following || Math.abs(this.scroller.scrollTop - to) > 0.9) this.scroller.scrollTop = to;
    this.#put = this.scroller.scrollTop;
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    if (Math.abs(scrollTop - this.#put) <= 1) return; // it was put there
    this.following = scrollHeight - scrollTop - clientHeight < NEAR;
    this.#look();
    this.soon();
  }

  /** @param {ResizeObserverEntry[]} entries */
  #resized(entries) {
    let changed = false;
    for (const entry of entries) {
      const key = Number(/** @type {HTMLElement} */ (entry.target).dataset.seq);
      const drawn = this.#drawn.get(key);
      if (!drawn || drawn.el !== entry.target) continue;
      const height = entry.target.getBoundingClientRect().height;
      if (height === 0 || Math.abs(height - drawn.height) <= 0.5) continue;
      drawn.height = height;
      this.#measured.set(key, height);
      const i = rowAt(this.rows, key);
      if (this.rows[i]?.key === key) this.#heights.set(i, height);
      changed = true;
    }
    if (!changed) return;
    this.#restore(); // at once, so that nothing jumps; the rows that come into sight are drawn in the next frame
    this.soon();
  }

  /** @param {number} key @param {HTMLElement} el */
  #remove(key, el) {
    if (el.contains(document.activeElement)) this.scroller.focus({ preventScroll: true });
    this.#sizes.unobserve(el);
    el.remove();
    this.#drawn.delete(key);
  }
}

/** Keeps the focus where it was in an element that is made anew. @param {HTMLElement} el @returns {(now: HTMLElement) => void} */
function focusIn(el) {
  const active = document.activeElement;
  if (!(active instanceof HTMLElement) || !el.contains(active)) return () => {};
  if (active === el) return (now) => now.focus({ preventScroll: true });
  const label = active.getAttribute('aria-label') ?? active.textContent;
  const index = [...el.querySelectorAll(active.tagName)].indexOf(active);
  return (now) => {
    const all = /** @type {HTMLElement[]} */ ([...now.querySelectorAll(active.tagName)]);
    (all.find((one) => (one.getAttribute('aria-label') ?? one.textContent) === label) ?? all[index] ?? now).focus({ preventScroll: true });
  };
}
