// One row of a timeline: an event, or a run of quiet ones, as elements.

import { h } from './dom.js';
import { duration, shorten, time, visible } from './format.js';
import { isObject, kindOf, payloadOf, timeOf } from './fold.js';
import { turnOf } from './layout.js';
import { asked, files, labelled, linked, messageBody, statusClass } from './body.js';
import { jsonView, longText } from './tree.js';
import { gist, groupOf, groups, sentence, usedWords, withdrawn } from './words.js';

/**
 * @typedef {import('./fold.js').LogEvent} LogEvent
 * @typedef {import('./layout.js').Row} Row
 * @typedef {import('./dom.js').Child} Child
 * What a row needs of the timeline that it stands in. open has the seqs of what the reader has opened: traces, and children. raw those of which the JSON is shown.
 * @typedef {{ctx: any, conversation: any, lanes: import('./lanes.js').Lanes, open: Set<number>, raw: Set<number>, menus: Set<number>,
 *   jump: (seq: number) => void, changed: (seq: number) => void, unfold: (row: Row) => void, refold: (row: Row) => void, actions: (e: LogEvent) => HTMLElement[],
 *   child: (sessionId: string) => HTMLElement}} Scene
 */

/** What the look of a row depends on, beside its events: when this changes the row is made anew. @param {Scene} s @param {Row} row @param {number} turnBefore @returns {string} */
export function signature(s, row, turnBefore) {
  const e = row.events[0];
  const f = s.conversation.fold;
  /** @type {(string | number)[]} */
  const parts = [row.events.length, row.fold ? 1 : 0, row.run?.length ?? 0, turnBefore, s.lanes.columns, flags(s, e.seq)];
  const w = f.withdrawnBy(e);
  if (w) parts.push(`w${w.seq}`);
  if (e.type === 'system') parts.push(systemState(f, e));
  if (e.type === 'trace') {
    const tool = f.toolOf(e);
    if (tool) parts.push(tool.started, tool.ended);
  }
  if (f.matched.has(e.seq)) parts.push('m');
  const turn = turnOf(e);
  if (turn > 0 && turn !== turnBefore) parts.push(took(s, turn));
  return parts.join(' ');
}

/** @param {Scene} s @param {number} seq */
const flags = (s, seq) => (s.open.has(seq) ? 1 : 0) + (s.raw.has(seq) ? 2 : 0) + (s.menus.has(seq) ? 4 : 0);

/** @param {any} f @param {LogEvent} e @returns {string} */
function systemState(f, e) {
  const p = payloadOf(e);
  const session = f.sessions.get(p.sessionId);
  const approval = isObject(p.approval) ? f.approvals.get(p.approval.approvalId) : undefined;
  const claim = f.claims.get(p.claimHash);
  return `${session?.status ?? ''}${session?.callback ?? ''}${approval?.status ?? ''}${claim ? (claim === f.claim ? 'stands' : claim.ended) : ''}${claim?.deadlineMs ?? ''}${claim?.paused ?? ''}`;
}

/** Makes the element of a row. @param {Scene} s @param {Row} row @param {number} turnBefore the turn of the row before @returns {HTMLElement} */
export function eventRow(s, row, turnBefore) {
  const e = row.events[0];
  const turn = turnOf(e);
  const w = s.conversation.fold.withdrawnBy(e);
  const quiet = row.fold || e.type !== 'message';
  const label = row.fold ? `${row.events.length} quiet events` : `${groupLabel(e)} ${e.seq}`;
  const el = h('article', {
    class: `row ${row.fold ? 'run' : e.type} ${turn > 0 ? `band-${turn % 2}` : ''} ${w ? 'withdrawn' : ''} ${s.lanes.classOf(authorOf(s, e))}`,
    'data-seq': e.seq, 'data-last': row.events[row.events.length - 1].seq, tabindex: '-1', 'aria-label': label,
  },
  turn > 0 && turn !== turnBefore ? turnHead(s, turn, e.type === 'message' ? e.from : '') : null,
  h('div', { class: 'line-of' }, s.lanes.gutter(authorOf(s, e), quiet), h('div', { class: 'event' }, row.fold ? run(s, row) : [row.run ? unfolded(s, row, row.run) : null, single(s, e, w)])));
  return el;
}

/** Who a row is about: the participant that a system event names, where the hub wrote it. @param {Scene} s @param {LogEvent} e @returns {string} */
function authorOf(s, e) {
  if (e.from !== 'hub') return e.from;
  const p = payloadOf(e);
  if (typeof p.agentId === 'string') return p.agentId;
  return s.conversation.fold.claims.get(p.claimHash)?.agentId ?? 'hub';
}

/** @param {LogEvent} e @returns {string} */
function groupLabel(e) {
  return e.type === 'message' ? `Message of ${visible(e.from)},` : `${visible(groupOf(e)).replaceAll('_', ' ')},`;
}

/** @param {Scene} s @param {number} n @param {string} shown who stands in the row itself @returns {HTMLElement} */
function turnHead(s, n, shown) {
  const turn = s.conversation.fold.turns.get(n);
  const words = took(s, n);
  return h('h3', { class: 'turn' }, h('span', null, `Turn ${n}`),
    turn && turn.owner && turn.owner !== shown ? h('span', { class: `who foreign ${s.lanes.classOf(turn.owner)}`, dir: 'auto' }, visible(turn.owner)) : null,
    words ? h('span', { class: 'took' }, words) : null);
}

/** How long a turn took that is over, and what it used. @param {Scene} s @param {number} n @returns {string} */
function took(s, n) {
  const turn = s.conversation.fold.turns.get(n);
  if (!turn) return '';
  const ms = turn.ended ? turn.at - turn.began : 0;
  return [ms > 0 ? duration(ms) : '', turn.used ? usedWords(turn.used) : ''].filter(Boolean).join(' · ');
}

/** @param {Scene} s @param {Row} row @returns {Child[]} */
function run(s, row) {
  const last = row.events[row.events.length - 1];
  return [h('button', { type: 'button', class: 'quiet fold', 'aria-expanded': 'false', on: { click: () => s.unfold(row) } },
    h('span', { class: 'foreign', dir: 'auto' }, visible(groups(row.events))), h('span', { class: 'muted' }, ` #${row.key}–${last.seq}`))];
}

/** What folds a run again, at the first of it. @param {Scene} s @param {Row} row @param {LogEvent[]} all @returns {Child} */
function unfolded(s, row, all) {
  return h('button', { type: 'button', class: 'quiet fold refold', 'aria-expanded': 'true', on: { click: () => s.refold(row) } },
    h('span', { class: 'foreign', dir: 'auto' }, visible(groups(all))), h('span', { class: 'muted' }, ` #${row.key}–${all[all.length - 1].seq}`));
}

/** @param {Scene} s @param {LogEvent} e @param {import('./fold.js').Withdrawal | null} w @returns {Child[]} */
function single(s, e, w) {
  const body = e.type === 'message' ? message(s, e, w) : e.type === 'trace' ? trace(s, e) : system(s, e);
  return [body, s.menus.has(e.seq) ? menu(s, e) : null, s.raw.has(e.seq) ? raw(s, e) : null];
}

/** @param {Scene} s @param {LogEvent} e @param {import('./fold.js').Withdrawal | null} w @returns {Child} */
function message(s, e, w) {
  const p = payloadOf(e);
  const head = h('header', null,
    h('span', { class: `who foreign ${s.lanes.classOf(e.from)}`, dir: 'auto' }, visible(e.from)),
    w ? h('span', { class: 'chip bad' }, visible(withdrawn(w))) : null,
    e.finality === 'none' ? h('span', { class: 'chip' }, 'goes on') : null,
    e.finality === 'conversation' ? h('span', { class: `chip status-${statusClass(e.outcome?.status ?? 'completed')}` }, `closes: ${visible(e.outcome?.status ?? 'completed')}`) : null,
    e.turnHint?.next ? h('span', { class: 'chip foreign', dir: 'auto' }, `next: ${visible(String(e.turnHint.next))}`) : null,
    e.cause ? caused(s, e.cause) : null,
    woke(s, e),
    Array.isArray(p.tags) ? p.tags.slice(0, 16).map((t) => h('span', { class: 'chip foreign', dir: 'auto' }, visible(shorten(String(t), 64)))) : null,
    place(s, e));
  return [head, h('div', { class: 'body' }, messageBody(s.ctx, s.conversation, e, s.jump)), e.outcome?.reason ? h('p', { class: 'muted foreign', dir: 'auto' }, visible(shorten(e.outcome.reason, 1024))) : null];
}

/** The way from an event to the record of whom it has woken. @param {Scene} s @param {LogEvent} e @returns {Child} */
function woke(s, e) {
  const at = s.conversation.fold.matched.get(e.seq);
  return at ? h('button', { type: 'button', class: 'chip', on: { click: () => s.jump(at) } }, `wakes: #${at}`) : null;
}

/** @param {Scene} s @param {{conversationId?: string, seq: number}} cause @returns {HTMLElement} */
function caused(s, cause) {
  if (cause.conversationId) {
    return h('a', { class: 'chip', href: `#/c/${encodeURIComponent(cause.conversationId)}/${Number(cause.seq)}` }, `woken by #${Number(cause.seq)} of ${visible(cause.conversationId)}`);
  }
  return h('button', { type: 'button', class: 'chip', on: { click: () => s.jump(Number(cause.seq)) } }, `woken by #${Number(cause.seq)}`);
}

/** @param {Scene} s @param {LogEvent} e @returns {Child} */
function trace(s, e) {
  const p = payloadOf(e);
  const open = s.open.has(e.seq);
  const tool = s.conversation.fold.toolOf(e);
  const started = kindOf(e) === 'llm_tool_started' && tool?.ended > 0;
  const toggle = () => {
    if (s.open.has(e.seq)) s.open.delete(e.seq);
    else s.open.add(e.seq);
    s.changed(e.seq);
  };
  const head = h('header', null,
    h('button', { type: 'button', class: 'quiet fold', 'aria-expanded': String(open), on: { click: toggle } },
      h('span', { class: `chip kind ${kindOf(e) === 'error' ? 'bad' : ''} foreign`, dir: 'auto' }, visible(shorten(groupOf(e), 40))),
      h('span', { class: 'gist foreign', dir: 'auto' }, visible(gist(e)))),
    started && tool ? h('button', { type: 'button', class: 'quiet', on: { click: () => s.jump(tool.ended) } }, `ended at #${tool.ended}`) : null,
    place(s, e));
  if (!open) return head;
  const others = Object.fromEntries(Object.entries(p).filter(([name]) => name !== 'kind' && name !== 'text'));
  return [head, h('div', { class: 'body' }, typeof p.text === 'string' && p.text !== '' ? longText(p.text, 4000, 'div', linked) : null,
    Object.keys(others).length > 0 ? jsonView(others.data !== undefined && Object.keys(others).length === 1 ? others.data : others) : null)];
}

/** @param {Scene} s @param {LogEvent} e @returns {Child} */
function system(s, e) {
  const p = payloadOf(e);
  const f = s.conversation.fold;
  const claim = f.claims.get(p.claimHash);
  const session = kindOf(e) === 'session_started' ? f.sessions.get(p.sessionId) : undefined;
  const approval = isObject(p.approval) ? f.approvals.get(p.approval.approvalId) : undefined;
  const head = h('header', null,
    h('span', { class: 'sentence' }, sentence(e, claim?.attempt).map((part) => word(s, part))),
    kindOf(e) === 'turn_claimed' && claim && claim === f.claim ? countdown(s, claim) : null,
    session ? h('span', { class: `chip status-${statusClass(session.status)}` }, visible(session.status)) : null,
    kindOf(e) === 'approval_requested' && approval ? h('span', { class: `chip status-${statusClass(approval.status)}` }, visible(approval.status.replace('_', ' '))) : null,
    kindOf(e) === 'approval_requested' && approval ? answered(s, approval) : null,
    woke(s, e),
    place(s, e));
  return [head, systemBody(s, e, p, session)];
}

/** @param {Scene} s @param {LogEvent} e @param {Record<string, any>} p @param {import('./fold.js').SessionOf | undefined} session @returns {Child} */
function systemBody(s, e, p, session) {
  switch (kindOf(e)) {
    case 'note':
      return h('div', { class: 'body' }, Array.isArray(p.tags) ? p.tags.slice(0, 16).map((t) => h('span', { class: 'chip foreign', dir: 'auto' }, visible(shorten(String(t), 64)))) : null,
        p.data !== undefined ? jsonView(p.data) : null);
    case 'participant_private':
      return h('div', { class: 'body private' }, longText(String(p.text ?? ''), 4000, 'div', linked));
    case 'attachment_added':
      return h('div', { class: 'body' }, files(s.ctx, s.conversation, [p]));
    case 'approval_details':
      return h('div', { class: 'body' }, p.approval?.details !== undefined ? asked(p.approval.details) : null);
    case 'approval_answer':
      return h('div', { class: 'body' }, p.approval?.answer !== undefined ? jsonView(p.approval.answer) : null);
    case 'session_started':
      return session ? child(s, e, session) : null;
    case 'conversation_created':
      return s.open.has(e.seq) ? labelled('As it was created', jsonView(p)) : null;
  }
  return null;
}

/** The way from a question to its answer: where one gives it, and where it stands. @param {Scene} s @param {import('./fold.js').ApprovalOf} approval @returns {Child} */
function answered(s, approval) {
  if (approval.resolved > 0) return h('button', { type: 'button', class: 'quiet', on: { click: () => s.jump(approval.resolved) } }, `answered at #${approval.resolved}`);
  return approval.status === 'pending' ? h('a', { href: '#/approvals' }, 'Answer it in the inbox') : null;
}

/** A session below the event that has started it. @param {Scene} s @param {LogEvent} e @param {import('./fold.js').SessionOf} session @returns {Child} */
function child(s, e, session) {
  const open = s.open.has(e.seq);
  const toggle = () => {
    if (open) s.open.delete(e.seq);
    else s.open.add(e.seq);
    s.changed(e.seq);
  };
  return h('div', { class: 'body' },
    h('button', { type: 'button', class: 'quiet fold', 'aria-expanded': String(open), on: { click: toggle } }, open ? 'Hide the session' : 'Show the session'),
    session.ended > 0 ? h('button', { type: 'button', class: 'quiet', on: { click: () => s.jump(session.ended) } }, `ended at #${session.ended}`) : null,
    session.callback > 0 ? h('button', { type: 'button', class: 'quiet', on: { click: () => s.jump(session.callback) } }, `called back at #${session.callback}`) : null,
    open ? s.child(session.sessionId) : null);
}

/** @param {Scene} s @param {import('./words.js').Part} part @returns {Child} */
export function word(s, part) {
  if (typeof part === 'string') return part;
  const text = visible(part.foreign);
  if (part.conversation) {
    return h('a', { class: 'foreign', dir: 'auto', href: `#/c/${encodeURIComponent(part.conversation)}${part.seq ? `/${part.seq}` : ''}` }, text);
  }
  const { seq } = part;
  if (seq) return h('button', { type: 'button', class: 'quiet link', on: { click: () => s.jump(seq) } }, text);
  return h('span', { class: part.who ? `who foreign ${s.lanes.classOf(part.foreign)}` : 'foreign', dir: 'auto' }, text);
}

/** Seq, time and menu of an event. @param {Scene} s @param {LogEvent} e @returns {HTMLElement} */
function place(s, e) {
  const toggle = () => {
    if (s.menus.has(e.seq)) s.menus.delete(e.seq);
    else s.menus.add(e.seq);
    s.changed(e.seq);
  };
  const ms = timeOf(e);
  return h('span', { class: 'place' },
    h('a', { class: 'seq', href: `#/c/${encodeURIComponent(s.conversation.id)}/${e.seq}`, title: 'Link to this event',
      on: { click: (/** @type {MouseEvent} */ ev) => follow(s, e, ev) } }, `#${e.seq}`),
    h('time', { datetime: e.at, title: e.at }, time(ms)),
    h('button', { type: 'button', class: 'quiet dots', 'aria-label': `Actions for event ${e.seq}`, 'aria-expanded': String(s.menus.has(e.seq)), on: { click: toggle } }, '⋯'));
}

/** @param {Scene} s @param {LogEvent} e @param {MouseEvent} ev */
function follow(s, e, ev) {
  if (ev.ctrlKey || ev.metaKey || ev.shiftKey || ev.button !== 0) return;
  ev.preventDefault();
  s.jump(e.seq);
}

/** @param {Scene} s @param {LogEvent} e @returns {HTMLElement} */
function menu(s, e) {
  const shown = s.raw.has(e.seq);
  const toggle = () => {
    if (shown) s.raw.delete(e.seq);
    else s.raw.add(e.seq);
    s.changed(e.seq);
  };
  return h('div', { class: 'menu', role: 'group', 'aria-label': `Actions for event ${e.seq}` },
    h('button', { type: 'button', 'aria-expanded': String(shown), on: { click: toggle } }, shown ? 'Hide JSON' : 'JSON'),
    s.actions(e));
}

/** @param {Scene} s @param {LogEvent} e @returns {HTMLElement} */
function raw(s, e) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(JSON.stringify(e, null, 2));
      s.ctx.say('Copied.');
    } catch {
      s.ctx.say('The browser did not let the page copy.', 'error');
    }
  };
  return h('div', { class: 'raw' }, h('button', { type: 'button', class: 'quiet', on: { click: copy } }, 'Copy JSON'), jsonView(e));
}

/** How long a claim still stands. @param {{ctx: any}} s @param {import('./fold.js').Claim} claim @returns {HTMLElement} */
export function countdown(s, claim) {
  if (claim.paused) return h('span', { class: 'chip' }, 'waits for an approval: its time stands still');
  const el = /** @type {Countdown} */ (document.createElement('parley-countdown'));
  el.run(claim.deadlineMs, () => s.ctx.hub.now());
  return el;
}

/** Counts down to a time of the hub. */
class Countdown extends HTMLElement {
  #timer = 0;
  #deadline = 0;
  /** @type {() => number} */
  #now = Date.now;

  /** @param {number} deadline @param {() => number} now */
  run(deadline, now) {
    this.#deadline = deadline;
    this.#now = now;
    this.className = 'chip countdown';
    this.setAttribute('role', 'timer');
    this.#draw();
  }

  connectedCallback() {
    this.#timer = window.setInterval(() => this.#draw(), 1000);
    this.#draw();
  }

  disconnectedCallback() {
    clearInterval(this.#timer);
  }

  #draw() {
    const left = this.#deadline - this.#now();
    const text = left > 0 ? `${duration(left < 1000 ? 1000 : left)} left` : 'its time is over';
    if (this.textContent !== text) this.textContent = text;
    this.classList.toggle('bad', left <= 0);
    this.classList.toggle('warn', left > 0 && left < 10_000);
  }
}

if (!customElements.get('parley-countdown')) customElements.define('parley-countdown', Countdown);
