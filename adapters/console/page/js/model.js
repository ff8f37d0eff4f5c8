// A conversation as this caller sees it, kept up to date for as long as it is open.

import { Fold, advance, foldAll } from './fold.js';

/**
 * @typedef {import('./fold.js').LogEvent} LogEvent
 * @typedef {{kind: 'events' | 'guidance' | 'delta' | 'snapshot' | 'state', from?: number}} Change  from is the seq of the first event that is new.
 */

/** How many events are read first, from the end; how many at once after that; and how many without being asked for. */
const TAIL = 200;
const PAGE = 500;
const BY_ITSELF = 20000;
/** The most of a delta that is kept: its end. */
const MAX_DELTA = 1 << 18;

/** What a caller is refused for good. */
const FINAL = new Set(['not_found', 'forbidden', 'unauthenticated', 'invalid_params', 'validation_failed', 'method_not_found']);

/** A conversation that is followed. Its events are read from the end first, then backwards, and live from then on. */
export class Conversation {
  /** The last event up to which the log was read: its seq. */
  #last = 0;
  /** The events behind this seq were read; those up to it were not. */
  #from = 0;
  /** @type {Set<(change: Change) => void>} */
  #listeners = new Set();
  /** @type {{close(): void} | null} */
  #subscription = null;
  /** @type {() => void} */
  #offState = () => {};
  #caughtUp = false;
  #closed = false;
  #round = 0;
  /** How far back somebody wants to read. */
  #wanted = Infinity;
  #filling = false;
  /** @type {Map<number, number>} the index of the last delta, by turn */
  #indexes = new Map();

  /** @param {any} ctx @param {string} id */
  constructor(ctx, id) {
    this.ctx = ctx;
    this.id = id;
    /** @type {Record<string, any>} */
    this.snapshot = {};
    /** @type {LogEvent[]} */
    this.events = [];
    this.fold = new Fold();
    /** @type {Record<string, any> | null} */
    this.guidance = null;
    /** @type {Map<number, {agentId: string, text: string}>} */
    this.deltas = new Map();
    /** Why the hub does not show it any more, or null. @type {Error | null} */
    this.refused = null;
  }

  /** Opens a conversation: what was said last is there when it answers. @param {any} ctx @param {string} id @returns {Promise<Conversation>} */
  static async open(ctx, id) {
    const c = new Conversation(ctx, id);
    c.#offState = ctx.hub.onState(() => c.#tell({ kind: 'state' }));
    try {
      await c.#load();
    } catch (err) {
      c.close();
      throw err;
    }
    return c;
  }

  get latestSeq() {
    return Math.max(this.snapshot.latestSeq ?? 0, this.#last);
  }

  /** Whether it is being told what happens. */
  get live() {
    return this.#caughtUp && this.ctx.hub.state === 'open' && this.refused === null;
  }

  /** Whether all of the log was read. */
  get whole() {
    return this.#from === 0;
  }

  /** The seq before the first event that was read. */
  get readFrom() {
    return this.#from;
  }

  /** Tells of each change. @param {(change: Change) => void} fn @returns {() => void} ends it */
  listen(fn) {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  /** The event with a seq, where it was read and is to be seen. @param {number} seq @returns {LogEvent | null} */
  at(seq) {
    let low = 0;
    let high = this.events.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.events[mid].seq < seq) low = mid + 1;
      else high = mid;
    }
    return this.events[low]?.seq === seq ? this.events[low] : null;
  }

  /** Reads everything again. */
  async reload() {
    await this.#load();
  }

  /** Reads back until the event seq is there. @param {number} seq @returns {Promise<void>} */
  async reach(seq) {
    this.#wanted = Math.min(this.#wanted, seq);
    if (this.#from < seq) return;
    void this.#fill(this.#round);
    await new Promise((done) => {
      const off = this.listen(() => {
        if (this.#from >= seq && !this.#closed && this.refused === null) return;
        off();
        done(null);
      });
    });
  }

  close() {
    this.#closed = true;
    this.#round++;
    this.#offState();
    this.#subscription?.close();
    this.#subscription = null;
    this.#tell({ kind: 'state' });
    this.#listeners.clear();
  }

  async #load() {
    const round = ++this.#round;
    this.#subscription?.close();
    const snapshot = await this.ctx.hub.call('getConversation', { conversationId: this.id, limit: 1 });
    if (this.#closed || round !== this.#round) return;
    this.snapshot = snapshot;
    this.guidance = snapshot.guidance ?? null;
    this.events = [];
    this.fold = new Fold();
    this.deltas.clear();
    this.#indexes.clear();
    this.refused = null;
    this.#caughtUp = false;
    this.#from = this.#last = Math.max(0, snapshot.latestSeq - TAIL);
    this.#tell({ kind: 'snapshot' });
    await this.#follow(round);
    void this.#fill(round);
  }

  /** Subscribes, and waits until what there was is read. @param {number} round @returns {Promise<void>} */
  #follow(round) {
    return new Promise((done, fail) => {
      this.#subscription = this.ctx.hub.subscribe(this.id, this.#last, {
        event: (/** @type {LogEvent} */ e) => this.#event(round, e),
        guidance: (/** @type {Record<string, any>} */ g) => {
          if (round !== this.#round) return;
          this.guidance = g;
          this.#tell({ kind: 'guidance' });
        },
        delta: (/** @type {any} */ d) => this.#delta(round, d),
        caughtUp: () => {
          if (round !== this.#round) return;
          this.#caughtUp = true;
          this.#tell({ kind: 'state' });
          done();
        },
        refused: (/** @type {Error} */ err) => {
          if (round !== this.#round) return;
          this.refused = err;
          this.#tell({ kind: 'state' });
          fail(err);
        },
      });
    });
  }

  /** @param {number} round @param {LogEvent} e */
  #event(round, e) {
    if (round !== this.#round || e.seq <= this.#last) return;
    this.#last = e.seq;
    this.events.push(e);
    this.fold.step(e);
    advance(this.snapshot, e);
    this.#forgetDeltas(e);
    this.#tell({ kind: 'events', from: e.seq });
  }

  /** A message holds what the deltas before it have told, and what is withdrawn is no more. @param {LogEvent} e */
  #forgetDeltas(e) {
    const turn = e.turn ?? e.payload?.turn;
    if (turn === undefined || e.type === 'trace' || !this.deltas.has(turn)) return;
    if (e.type === 'system' && e.payload?.kind !== 'claim_ended' && e.payload?.kind !== 'turn_ended') return;
    this.deltas.delete(turn);
    this.#indexes.delete(turn);
  }

  /** @param {number} round @param {{turn: number, from: string, index: number, text: string}} d */
  #delta(round, d) {
    if (round !== this.#round) return;
    const before = this.deltas.get(d.turn);
    const index = this.#indexes.get(d.turn) ?? -1;
    const begins = !before || before.agentId !== d.from || d.index <= index;
    const skipped = begins ? d.index > 0 : d.index > index + 1;
    const text = (begins ? '' : before.text) + (skipped ? ' … ' : '') + d.text;
    this.deltas.set(d.turn, { agentId: d.from, text: text.slice(-MAX_DELTA) });
    this.#indexes.set(d.turn, d.index);
    this.#tell({ kind: 'delta' });
  }

  /** Reads backwards, page by page, up to what was wanted. @param {number} round */
  async #fill(round) {
    if (this.#filling) return;
    this.#filling = true;
    try {
      while (round === this.#round && this.#from > 0 && (this.events.length < BY_ITSELF || this.#from >= this.#wanted)) {
        await this.#page(round);
        await idle();
      }
    } finally {
      this.#filling = false;
      if (round === this.#round) this.#tell({ kind: 'state' });
      else if (!this.#closed && this.#from > 0) void this.#fill(this.#round);
    }
  }

  /** Reads the page before what was read. @param {number} round */
  async #page(round) {
    const to = this.#from;
    const begin = Math.max(0, to - PAGE);
    /** @type {LogEvent[]} */
    const events = [];
    for (let since = begin; since < to; ) {
      const page = await this.#tail(round, since, to - since);
      if (page === null) return;
      for (const e of page.events) if (e.seq <= to) events.push(e);
      since = page.nextSeq > since ? page.nextSeq : to;
    }
    if (round !== this.#round) return;
    this.events = events.concat(this.events);
    this.fold = foldAll(this.events);
    this.#from = begin;
    this.#tell({ kind: 'events', from: begin + 1 });
  }

  /** One page of the log, asked for until the hub answers; null when nobody wants it any more. @param {number} round @param {number} since @param {number} limit */
  async #tail(round, since, limit) {
    for (;;) {
      try {
        const page = await this.ctx.hub.call('tail', { conversationId: this.id, sinceSeq: since, limit });
        return round === this.#round ? page : null;
      } catch (err) {
        if (round !== this.#round) return null;
        if (FINAL.has(/** @type {any} */ (err)?.reason)) {
          this.refused = /** @type {Error} */ (err);
          this.#round++;
          this.#tell({ kind: 'state' });
          return null;
        }
        await new Promise((done) => setTimeout(done, 500));
      }
    }
  }

  /** @param {Change} change */
  #tell(change) {
    for (const fn of [...this.#listeners]) fn(change);
  }
}

/** Leaves the page time to draw. @returns {Promise<void>} */
function idle() {
  return new Promise((done) => {
    if (typeof requestIdleCallback === 'function') requestIdleCallback(() => done(), { timeout: 50 });
    else setTimeout(done, 0);
  });
}
