// Which rows a timeline has, and where each stands. All of it is arithmetic: there is no page here.

import { isObject, kindOf, payloadOf } from './fold.js';

/**
 * @typedef {import('./fold.js').LogEvent} LogEvent
 * @typedef {{key: number, events: LogEvent[], fold: boolean, run?: LogEvent[]}} Row  One event or, where fold is true, a run of events that is shown as one line. key is the seq of the first.
 *   run is set at the first of a run that is shown one by one: all of its events.
 * @typedef {{traces: boolean, system: boolean}} Shown
 */

/** How many quiet events in a row are shown as one line. */
export const FOLD_FROM = 3;

/** Whether an event says little by itself: a trace that is no error, or that a claim was renewed. @param {LogEvent} e @returns {boolean} */
export function isQuiet(e) {
  if (e.type === 'trace') return kindOf(e) !== 'error';
  return e.type === 'system' && kindOf(e) === 'claim_renewed';
}

/** Whether two quiet events belong to one run: of one turn. @param {LogEvent} a @param {LogEvent} b @returns {boolean} */
function together(a, b) {
  return turnOf(a) === turnOf(b);
}

/** The turn that an event is of; 0: none. A system event about a turn is of that turn. @param {LogEvent} e @returns {number} */
export function turnOf(e) {
  if (e.turn !== undefined) return e.turn;
  const turn = payloadOf(e).turn;
  return e.type === 'system' && typeof turn === 'number' ? turn : 0;
}

/** @param {LogEvent} e @param {Shown} shown @returns {boolean} */
function isShown(e, shown) {
  if (e.type === 'trace') return shown.traces;
  if (e.type === 'system') return shown.system || kindOf(e) === 'note' || kindOf(e) === 'conversation_forked';
  return true;
}

/**
 * The rows of events: quiet ones in a run of FOLD_FROM or more are one row, unless one of them is open. An open one is a row of its own, and so is each of its run.
 * @param {LogEvent[]} events @param {Set<number>} open @param {Shown} shown @param {number} [begin] the index to begin at @returns {Row[]}
 */
export function rowsOf(events, open, shown, begin = 0) {
  /** @type {Row[]} */
  const rows = [];
  /** @type {LogEvent[]} */
  let run = [];
  const flush = () => {
    if (run.length >= FOLD_FROM && !run.some((e) => open.has(e.seq))) rows.push({ key: run[0].seq, events: run, fold: true });
    else run.forEach((e, i) => rows.push({ key: e.seq, events: [e], fold: false, ...(i === 0 && run.length >= FOLD_FROM ? { run } : {}) }));
    run = [];
  };
  for (let i = begin; i < events.length; i++) {
    const e = events[i];
    if (!isShown(e, shown)) continue;
    if (!isQuiet(e)) {
      flush();
      rows.push({ key: e.seq, events: [e], fold: false });
      continue;
    }
    if (run.length > 0 && !together(run[0], e)) flush();
    run.push(e);
  }
  flush();
  return rows;
}

/**
 * Where new events begin to change the rows: at the run that the last rows are, or behind them. Gives the index of the first row to make anew, and of the event to begin with.
 * @param {LogEvent[]} events all, the new ones included @param {Row[]} rows those of the events before @returns {{row: number, event: number}}
 */
export function seam(events, rows) {
  let row = rows.length;
  while (row > 0 && rows[row - 1].events.every(isQuiet)) row--;
  if (row < rows.length) return { row, event: indexOf(events, rows[row].key) };
  if (row === 0) return { row, event: 0 };
  const last = rows[row - 1].events;
  return { row, event: indexOf(events, last[last.length - 1].seq) + 1 };
}

/** The index of the first event with this seq or a later one. @param {LogEvent[]} events @param {number} seq @returns {number} */
export function indexOf(events, seq) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (events[mid].seq < seq) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** The index of the row that has the event seq, or of the last one before it; -1 where there is none. @param {Row[]} rows @param {number} seq @returns {number} */
export function rowAt(rows, seq) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (rows[mid].key <= seq) low = mid + 1;
    else high = mid;
  }
  return low - 1;
}

/** How many rows are looked back for a turn. */
const LOOK_BACK = 40;

/** The turn of the rows before one: of the last of them that is of a turn. What the hub says between the words of a turn does not end it. @param {Row[]} rows @param {number} index @returns {number} */
export function turnBefore(rows, index) {
  for (let i = index - 1; i >= 0 && i >= index - LOOK_BACK; i--) {
    const turn = turnOf(rows[i].events[rows[i].events.length - 1]);
    if (turn > 0) return turn;
  }
  return 0;
}

/** A guess at the height of a row that was never drawn, in pixels. @param {Row} row @returns {number} */
export function guess(row) {
  if (row.fold) return 30;
  const e = row.events[0];
  if (e.type !== 'message') return 32;
  const said = payloadOf(e).text;
  const length = typeof said === 'string' ? Math.min(said.length, 4000) : 0;
  return 64 + 20 * Math.ceil(length / 90);
}

/** Heights of rows in order, with sums in logarithmic time: a Fenwick tree. */
export class Heights {
  /** @param {number[]} heights */
  constructor(heights) {
    this.heights = heights;
    /** @type {number[]} */
    this.tree = [0];
    for (let i = 0; i < heights.length; i++) this.#grow(i);
  }

  get length() {
    return this.heights.length;
  }

  /** Cuts off what is behind n rows, and adds others. @param {number} n @param {number[]} more */
  replaceFrom(n, more) {
    this.heights.length = n;
    this.tree.length = n + 1;
    for (const h of more) {
      this.heights.push(h);
      this.#grow(this.heights.length - 1);
    }
  }

  /** @param {number} i @param {number} height */
  set(i, height) {
    const by = height - this.heights[i];
    if (by === 0) return;
    this.heights[i] = height;
    for (let k = i + 1; k < this.tree.length; k += k & -k) this.tree[k] += by;
  }

  /** The sum of the heights of the first n rows. @param {number} n @returns {number} */
  before(n) {
    let sum = 0;
    for (let k = n; k > 0; k -= k & -k) sum += this.tree[k];
    return sum;
  }

  get total() {
    return this.before(this.heights.length);
  }

  /** The row at a distance from the top; the last one behind the end, -1 where there are none. @param {number} y @returns {number} */
  at(y) {
    let k = 0;
    let left = y;
    let bit = 1;
    while (bit * 2 < this.tree.length) bit *= 2;
    for (; bit > 0; bit >>= 1) {
      const next = k + bit;
      if (next < this.tree.length && this.tree[next] <= left) {
        k = next;
        left -= this.tree[next];
      }
    }
    return Math.min(k, this.heights.length - 1);
  }

  /** @param {number} i */
  #grow(i) {
    const k = i + 1;
    let sum = this.heights[i];
    for (let j = 1; j < (k & -k); j <<= 1) sum += this.tree[k - j];
    this.tree[k] = sum;
  }
}

/** The most characters of one event that a search looks at. */
const MAX_SEARCHED = 1 << 20;

/** All texts of an event, for a search: its author, the names of its members and their values. @param {LogEvent} e @returns {string} */
export function wordsOf(e) {
  /** @type {string[]} */
  const words = [e.from];
  let left = MAX_SEARCHED;
  /** @param {unknown} v @param {number} depth */
  const walk = (v, depth) => {
    if (left <= 0 || depth > 80) return;
    if (Array.isArray(v)) for (const one of v) walk(one, depth + 1);
    else if (isObject(v)) {
      for (const [name, one] of Object.entries(v)) {
        words.push(name);
        walk(one, depth + 1);
      }
    } else if (v !== null && v !== undefined) {
      const word = String(v).slice(0, left);
      left -= word.length;
      words.push(word);
    }
  };
  walk(e.payload, 0);
  if (e.outcome) walk(e.outcome, 0);
  return words.join('\n');
}

/**
 * The seqs of the events that have a text, or that have it as their seq ("#12"), beginning at an index, until a time is over. next is where to go on; events.length: done.
 * @param {LogEvent[]} events @param {string} text @param {number} begin @param {() => boolean} over @returns {{seqs: number[], next: number}}
 */
export function search(events, text, begin, over) {
  const needle = text.toLowerCase();
  /** @type {number[]} */
  const seqs = [];
  let i = begin;
  for (; i < events.length; i++) {
    if (i > begin && over()) break;
    const e = events[i];
    if (needle === `#${e.seq}` || wordsOf(e).toLowerCase().includes(needle)) seqs.push(e.seq);
  }
  return { seqs, next: i };
}

/**
 * The events of two conversations side by side: those that both share first, then turn by turn, each with the one in the same place of the same turn.
 * @typedef {{a: LogEvent | null, b: LogEvent | null, turn: number, differs: boolean}} Pair
 * @param {LogEvent[]} a @param {LogEvent[]} b @returns {{shared: number, pairs: Pair[]}} shared is how many events from the first on are the same in both
 */
export function align(a, b) {
  let shared = 0;
  while (shared < a.length && shared < b.length && same(a[shared], b[shared])) shared++;
  const left = byTurn(a.slice(shared));
  const right = byTurn(b.slice(shared));
  const turns = [...new Set([...left.keys(), ...right.keys()])].sort((x, y) => x - y);
  /** @type {Pair[]} */
  const pairs = [];
  for (const turn of turns) {
    const l = left.get(turn) ?? [];
    const r = right.get(turn) ?? [];
    for (let i = 0; i < Math.max(l.length, r.length); i++) {
      const [x, y] = [l[i] ?? null, r[i] ?? null];
      pairs.push({ a: x, b: y, turn, differs: x === null || y === null || !saysTheSame(x, y) });
    }
  }
  return { shared, pairs };
}

/** @param {LogEvent} x @param {LogEvent} y @returns {boolean} */
function same(x, y) {
  return x === y || JSON.stringify(x) === JSON.stringify(y);
}

/** Whether the same was said by the same, whenever that was. @param {LogEvent} x @param {LogEvent} y @returns {boolean} */
export function saysTheSame(x, y) {
  const of = (/** @type {LogEvent} */ e) => JSON.stringify([e.type, e.from, e.finality, e.outcome ?? null, e.turnHint ?? null, e.payload]);
  return of(x) === of(y);
}

/** The messages and notes by turn. What is in no turn goes with the turn before. @param {LogEvent[]} events @returns {Map<number, LogEvent[]>} */
function byTurn(events) {
  /** @type {Map<number, LogEvent[]>} */
  const turns = new Map();
  let turn = 0;
  for (const e of events) {
    if (e.turn !== undefined) turn = e.turn;
    const counts = e.type === 'message' || (e.type === 'system' && ['note', 'turn_ended', 'participant_added', 'attachment_added'].includes(kindOf(e)));
    if (!counts) continue;
    const of = turns.get(turn) ?? [];
    of.push(e);
    turns.set(turn, of);
  }
  return turns;
}
