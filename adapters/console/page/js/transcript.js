// A conversation as a plain document: every event in its place, all of them at once.
import { h } from './dom.js';
import { bytes, json, time, visible } from './format.js';
import { gist, sentence } from './words.js';

/** @typedef {{seq: number, turn?: number, type: string, from: string, at: string, finality?: string, outcome?: any, payload: any}} Said */
/**
 * What the events of a whole conversation say of one another.
 * @typedef {{lanes: Map<string, number>, withdrawn: Map<number, string>, names: Map<string, {name?: string, size?: number}>}} Around
 */
/** @typedef {(sha256: string, name: string) => HTMLElement|null} FileLink gives the link to a file that is at hand, under the name that the conversation gives it */

/** How many colours the lanes have. */
const colours = 8;

/**
 * around reads what is known of the participants, of what was withdrawn, and of files.
 * @param {Said[]} events
 * @returns {Around}
 */
export function around(events) {
  /** @type {Around} */
  const known = { lanes: new Map(), withdrawn: new Map(), names: new Map() };
  events.forEach((e, i) => {
    const p = object(e.payload);
    if (e.type !== 'system') {
      lane(known, e.from);
      return;
    }
    if (p.kind === 'conversation_created') list(p.participants).forEach((seat) => lane(known, String(object(seat).id ?? '')));
    if (p.kind === 'participant_added') lane(known, String(object(p.participant).id ?? ''));
    if (p.kind === 'attachment_added') known.names.set(String(p.sha256), { name: p.name, size: p.size });
    if (p.kind === 'claim_ended' && p.resetFrom) withdraw(known, events, i, p);
  });
  return known;
}

/** @param {Around} known @param {string} id */
function lane(known, id) {
  if (id !== '' && id !== 'hub' && !known.lanes.has(id)) known.lanes.set(id, known.lanes.size % colours);
}

/** What an attempt that has failed has said counts no more. @param {Around} known @param {Said[]} events @param {number} end @param {Record<string, any>} p */
function withdraw(known, events, end, p) {
  for (let i = end - 1; i >= 0; i--) {
    const e = events[i];
    if (!e || e.seq < p.resetFrom) return;
    if (e.turn === p.turn && e.type !== 'system') known.withdrawn.set(e.seq, String(p.reason));
  }
}

/**
 * transcript draws events. A band stands before each turn.
 * @param {{said: Said|null, seq: number, text: string}[]} records said is null for one that is no event
 * @param {Around} known
 * @param {FileLink} link
 * @returns {HTMLElement}
 */
export function transcript(records, known, link) {
  const rows = [];
  let turn = 0;
  for (const r of records) {
    if (r.said?.turn !== undefined && r.said.turn !== turn) {
      turn = r.said.turn;
      rows.push(h('li', { class: 'band' }, h('h2', {}, `Turn ${turn}`)));
    }
    rows.push(row(r, known, link));
  }
  return h('ol', { class: 'transcript' }, rows);
}

/** @param {{said: Said|null, seq: number, text: string}} r @param {Around} known @param {FileLink} link */
function row(r, known, link) {
  const e = r.said;
  if (!e) return h('li', { class: 'row', id: `seq-${r.seq}` }, h('p', { class: 'broken' }, `Record ${r.seq} is no event.`), stored(r.text));
  const color = known.lanes.get(e.from);
  const gone = known.withdrawn.get(e.seq);
  const at = Date.parse(e.at);
  const head = h('p', { class: 'row-head' },
    h('a', { class: 'seq', href: `#seq-${r.seq}`, 'aria-label': `Event ${r.seq}` }, `#${r.seq}`), ' ',
    h('strong', { class: 'foreign from', dir: 'auto' }, visible(e.from)), ' ',
    h('span', { class: 'muted' }, e.type === 'message' ? '' : kindOf(e), ' '),
    h('time', { class: 'muted', datetime: Number.isNaN(at) ? null : e.at, title: visible(String(e.at)) }, time(at)),
    gone ? h('span', { class: 'muted' }, ` · withdrawn: the attempt has ended as ${visible(gone)}`) : null);
  const classes = ['row', e.type, color === undefined ? 'lane-none' : `lane-${color}`, gone ? 'withdrawn' : ''].join(' ');
  return h('li', { class: classes, id: `seq-${r.seq}` }, head, body(e, known, link), stored(r.text));
}

/** @param {Said} e */
function kindOf(e) {
  const { kind } = object(e.payload);
  const name = visible(typeof kind === 'string' ? kind : e.type).replaceAll('_', ' ');
  return e.type === 'system' ? name : `${e.type}: ${name}`; // what somebody calls a trace is not taken for the hub's word
}

/** @param {Said} e @param {Around} known @param {FileLink} link */
function body(e, known, link) {
  const p = object(e.payload);
  if (e.type !== 'message') return quiet(e, p, known, link);
  const result = object(p.result);
  return h('div', { class: 'row-body' },
    typeof p.text === 'string' ? words(p.text) : null,
    p.parameters === undefined ? null : part('Parameters', p.parameters),
    p.data === undefined ? null : part(typeof p.schema === 'string' ? p.schema : 'Data', p.data),
    p.result === undefined ? null : [typeof result.result_text === 'string' ? words(result.result_text) : null, part('Result', p.result)],
    files(list(p.attachments), known, link),
    e.finality === 'conversation' ? h('p', { class: 'ends' }, `The conversation ends: ${visible(outcome(e.outcome))}.`) : null);
}

/** What is no message is a line, and what it holds is folded. @param {Said} e @param {Record<string, any>} p @param {Around} known @param {FileLink} link */
function quiet(e, p, known, link) {
  const kind = e.type === 'system' ? p.kind : '';
  if (kind === 'attachment_added') return files([p], known, link);
  if (kind === 'note') return h('div', { class: 'row-body' }, part(word(p.schema) || 'Note', p.data));
  if (kind === 'participant_private' && typeof p.text === 'string') return h('div', { class: 'row-body' }, words(p.text));
  const said = e.type === 'system' ? sentence(e) : [gist(e)];
  return h('p', { class: 'row-body said' }, said.map((part) => (typeof part === 'string' && e.type === 'system' ? part : foreign(typeof part === 'string' ? part : part.foreign))));
}

/** @param {string} text */
function foreign(text) {
  return h('bdi', { class: 'foreign' }, visible(text));
}

/** @param {any[]} attachments @param {Around} known @param {FileLink} link */
function files(attachments, known, link) {
  if (attachments.length === 0) return null;
  return h('ul', { class: 'files' }, attachments.map((given) => {
    const a = object(given);
    const sha256 = word(a.sha256);
    const about = known.names.get(sha256);
    const size = about?.size ?? a.size;
    const name = word(a.name) || word(about?.name) || sha256.slice(0, 12);
    return h('li', {}, 'File ', h('bdi', { class: 'foreign' }, visible(name)), ' ',
      h('span', { class: 'muted foreign' }, visible([word(a.mediaType), typeof size === 'number' ? bytes(size) : ''].filter(Boolean).join(', '))), ' ',
      link(sha256, name) ?? h('span', { class: 'muted' }, 'not in this file'));
  }));
}

/** @param {string} text */
function words(text) {
  return h('div', { class: 'words foreign', dir: 'auto' }, visible(text));
}

/** @param {string} name @param {unknown} value */
function part(name, value) {
  return h('div', { class: 'part' }, h('p', { class: 'muted foreign', dir: 'auto' }, visible(name)), code(value));
}

/** @param {unknown} value */
function code(value) {
  return h('pre', { class: 'code foreign', dir: 'ltr' }, visible(json(value)));
}

/** @param {string} text the bytes of a record */
function stored(text) {
  return folded('As it is stored', () => h('pre', { class: 'code foreign', dir: 'ltr' }, visible(text)));
}

/** folded makes what is in it when it is opened. @param {string} name @param {() => Node} make */
function folded(name, make) {
  const d = h('details', { class: 'folded' }, h('summary', {}, name));
  d.addEventListener('toggle', () => d.append(make()), { once: true });
  return d;
}

/** @param {unknown} given */
function outcome(given) {
  const o = object(given);
  return o.reason ? `${o.status ?? 'completed'}, ${o.reason}` : String(o.status ?? 'completed');
}

/** @param {unknown} v @returns {Record<string, any>} */
function object(v) {
  return typeof v === 'object' && v !== null && !Array.isArray(v) ? v : {};
}

/** @param {unknown} v @returns {string} */
function word(v) {
  return typeof v === 'string' ? v : '';
}

/** @param {unknown} v @returns {any[]} */
function list(v) {
  return Array.isArray(v) ? v : [];
}
