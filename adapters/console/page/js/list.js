// The list of conversations: who has the floor since when, and what is stuck.

import { Changes } from './changes.js';
import { define, h, listen, replace } from './dom.js';
import { ago, duration, shorten, time, visible } from './format.js';

/** @typedef {import('./protocol.js').ConversationSummary} Summary */
/** @typedef {import('./changes.js').Filter} Filter */

/** What keeps a conversation, in words. @type {{[reason: string]: string}} */
export const stuckWords = {
  no_executor: 'nobody runs it',
  approval: 'waits for an approval',
  attempts: 'attempts used up',
};

const fields = /** @type {const} */ (['text', 'status', 'participant', 'workspace']);
const settleMs = 250;

class ConversationList extends HTMLElement {
  /** @type {import('./app.js').Ctx} */
  ctx = /** @type {any} */ (null);
  /** @type {URLSearchParams} */
  query = new URLSearchParams();

  /** @type {Changes | null} */
  #changes = null;
  #ended = new AbortController();
  #timer = 0;
  #typing = 0;
  #drawn = 0; // the frame in which it is drawn next
  /** The id of the row that the keys are at. */
  #at = '';
  /** @type {Map<string, HTMLTableRowElement>} */
  #rows = new Map();
  #collapsed = new Set();

  #body = h('tbody');
  #summary = h('p', { class: 'muted', role: 'status' });
  #more = h('button', { type: 'button', hidden: true, on: { click: () => this.#older() } }, 'Show older');

  connectedCallback() {
    this.#ended = new AbortController();
    this.ctx.title('Conversations');
    const table = h('table', { class: 'conversations' },
      h('caption', { class: 'visually-hidden' }, 'Conversations, those made last first'),
      h('thead', null, h('tr', null,
        ...['Conversation', 'Status', 'Floor', 'Participants'].map((t) => h('th', { scope: 'col' }, t)),
        h('th', { scope: 'col', class: 'num' }, 'Events'), h('th', { scope: 'col', class: 'num' }, 'Changed'))),
      this.#body);
    replace(this,
      h('div', { class: 'view-head' }, h('h1', null, 'Conversations'), this.#summary),
      this.#filters(), h('div', { class: 'panel scroll', tabindex: '0', role: 'region', 'aria-label': 'Conversations' }, table),
      h('div', { class: 'buttons' }, this.#more));
    this.#timer = window.setInterval(() => this.#tick(), 1000);
    listen(document, 'keydown', (e) => this.#press(e), this.#ended.signal);
    this.#read();
  }

  disconnectedCallback() {
    this.#ended.abort();
    this.#changes?.close();
    clearInterval(this.#timer);
    clearTimeout(this.#typing);
    cancelAnimationFrame(this.#drawn);
    this.#drawn = 0;
  }

  // ---- the filter

  /** @returns {Filter} */
  get filter() {
    /** @type {Filter} */
    const f = {};
    for (const name of fields) {
      const value = this.query.get(name)?.trim();
      if (value) f[name] = value;
    }
    return f;
  }

  #filters() {
    const set = (/** @type {string} */ name, /** @type {string} */ value) => {
      clearTimeout(this.#typing);
      this.#typing = window.setTimeout(() => this.#choose(name, value), settleMs);
    };
    /** @param {string} name @param {string} label @param {import('./dom.js').Props} [more] */
    const field = (name, label, more) => h('label', { class: 'field' }, h('span', null, label), h('input', {
      type: 'text', name, value: this.query.get(name) ?? '', autocomplete: 'off', spellcheck: 'false', maxlength: 64,
      on: { input: (/** @type {InputEvent} */ e) => set(name, /** @type {HTMLInputElement} */ (e.target).value) }, ...more,
    }));
    const status = h('select', { name: 'status', on: { change: (/** @type {Event} */ e) => this.#choose('status', /** @type {HTMLSelectElement} */ (e.target).value) } },
      ...[['', 'all'], ['active', 'active'], ['closed', 'closed']].map(([value, text]) => h('option', { value, selected: value === (this.query.get('status') ?? '') }, text)));
    return h('search', { class: 'filters' },
      field('text', 'Search', { type: 'search', placeholder: 'title or id', maxlength: 200, 'aria-keyshortcuts': '/' }),
      h('label', { class: 'field' }, h('span', null, 'Status'), status),
      field('participant', 'Participant', { placeholder: 'id' }), field('workspace', 'Workspace', { placeholder: 'name' }));
  }

  /**
   * Takes a value of the filter, which stands in the address, and reads the list anew.
   * @param {string} name
   * @param {string} value
   */
  #choose(name, value) {
    if (value.trim() === '') this.query.delete(name);
    else this.query.set(name, value.trim());
    const query = this.query.toString();
    history.replaceState(null, '', `#/${query ? `?${query}` : ''}`);
    this.#read();
  }

  #read() {
    this.#changes?.close();
    replace(this.#summary, 'Reading.');
    this.#changes = new Changes(this.ctx.hub, this.filter, {
      changed: () => this.#draw(),
      failed: (err) => {
        replace(this.#summary, h('span', { class: 'problem' }, visible(err.message)));
        if (err.reason !== 'unavailable') replace(this.#body);
        this.#rows.clear();
      },
    });
  }

  async #older() {
    this.#more.disabled = true;
    try {
      await this.#changes?.older();
    } catch (err) {
      this.ctx.say(String(err instanceof Error ? err.message : err), 'error');
    } finally {
      this.#more.disabled = false;
    }
  }

  // ---- the rows

  #draw() {
    if (this.#drawn !== 0) return;
    this.#drawn = requestAnimationFrame(() => {
      this.#drawn = 0;
      this.#drawNow();
    });
  }

  #drawNow() {
    const changes = this.#changes;
    if (!changes?.read) return;
    const nested = nest([...changes.rows.values()]);
    const shown = new Map();
    for (const { c, depth, hidden } of nested) {
      if (hidden.some((id) => this.#collapsed.has(id))) continue;
      const old = this.#rows.get(c.conversationId);
      const children = nested.some((n) => n.hidden.at(-1) === c.conversationId);
      const key = JSON.stringify([c, depth, children, this.#collapsed.has(c.conversationId)]);
      shown.set(c.conversationId, old && old.dataset.key === key ? old : this.#row(c, depth, children, key));
    }
    const focused = this.contains(document.activeElement) ? document.activeElement?.closest('tr')?.dataset.id : undefined;
    this.#rows = shown;
    const want = [...shown.values()];
    if (want.length !== this.#body.children.length || want.some((row, i) => row !== this.#body.children[i])) replace(this.#body, ...want);
    if (focused) shown.get(focused)?.querySelector('a')?.focus({ preventScroll: true });
    if (want.length === 0) {
      replace(this.#body, h('tr', null, h('td', { colspan: 6, class: 'empty' }, this.query.size > 0 ? 'No conversation is like that.' : 'There are no conversations yet.')));
    }
    const n = changes.rows.size;
    replace(this.#summary, `${n}${changes.more ? '+' : ''} ${n === 1 ? 'conversation' : 'conversations'}`);
    this.#more.hidden = !changes.more;
    this.#tick();
  }

  /**
   * @param {Summary} c
   * @param {number} depth
   * @param {boolean} children
   * @param {string} key what it shows: a row is made anew when that changes
   */
  #row(c, depth, children, key) {
    const row = h('tr', { 'data-id': c.conversationId, 'data-key': key, 'data-since': c.floor?.since, on: { click: (/** @type {MouseEvent} */ e) => this.#click(e, c.conversationId) } },
      h('td', { class: 'name' },
        h('div', { class: 'title' }, children && this.#fold(c),
          h('a', { class: 'foreign', dir: 'auto', href: `#/c/${encodeURIComponent(c.conversationId)}` }, visible(shorten(nameOf(c), 120)))),
        h('div', { class: 'muted small' }, c.title ? h('span', { class: 'mono' }, c.conversationId) : null, ...origin(c, depth > 0))),
      h('td', null, statusMark(c)),
      h('td', { class: 'floor' }, ...floorCell(c)),
      h('td', { class: 'seats foreign', dir: 'auto', title: c.participants.join(', ') }, shorten(c.participants.join(', '), 60)),
      h('td', { class: 'num' }, c.latestSeq.toLocaleString()),
      h('td', { class: 'num' }, h('time', { datetime: c.updatedAt, title: time(c.updatedAt) })));
    row.style.setProperty('--depth', String(depth));
    return row;
  }

  /** @param {Summary} c */
  #fold(c) {
    const folded = this.#collapsed.has(c.conversationId);
    const toggle = () => {
      if (folded) this.#collapsed.delete(c.conversationId);
      else this.#collapsed.add(c.conversationId);
      this.#draw();
    };
    return h('button', { type: 'button', class: 'quiet fold', 'aria-expanded': String(!folded), 'aria-label': 'Sessions of this conversation', on: { click: toggle } }, folded ? '\u25b8' : '\u25be');
  }

  /**
   * @param {MouseEvent} e
   * @param {string} id
   */
  #click(e, id) {
    if (/** @type {Element} */ (e.target).closest('a, button') || getSelection()?.toString()) return;
    this.ctx.go(`/c/${encodeURIComponent(id)}`);
  }

  /** Brings the times up to date. */
  #tick() {
    const now = this.ctx.hub.now();
    for (const row of this.#rows.values()) {
      const changed = row.querySelector('td:last-child time');
      if (changed) write(changed, ago(changed.getAttribute('datetime') ?? '', now));
      const since = row.querySelector('.since');
      if (since) write(since, duration(Math.max(1000, now - Date.parse(row.dataset.since ?? ''))));
    }
  }

  // ---- the keys

  /** @param {KeyboardEvent} e */
  #press(e) {
    const target = /** @type {HTMLElement} */ (e.target);
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
    if (['INPUT', 'SELECT', 'TEXTAREA'].includes(target.tagName)) {
      if (e.key === 'Escape') target.blur();
      return;
    }
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
    if (step === undefined) return;
    const rows = [...this.#rows.values()];
    if (rows.length === 0) return;
    const here = rows.findIndex((r) => r.contains(document.activeElement) || r.dataset.id === this.#at);
    const row = rows[Math.max(0, Math.min(rows.length - 1, here + step))];
    if (!row) return;
    e.preventDefault();
    this.#at = row.dataset.id ?? '';
    row.querySelector('a')?.focus();
  }
}

/**
 * @param {Element} el
 * @param {string} text
 */
function write(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

/**
 * Puts sessions below the conversation out of which they were started, where that is in the list too.
 * @param {Summary[]} all
 * @returns {{c: Summary, depth: number, hidden: string[]}[]} hidden has the conversations above it, from the top
 */
export function nest(all) {
  const known = new Set(all.map((c) => c.conversationId));
  /** @type {Map<string, Summary[]>} */
  const below = new Map();
  for (const c of all) {
    const parent = c.session?.parent;
    if (parent && known.has(parent)) below.set(parent, [...(below.get(parent) ?? []), c]);
  }
  /** @type {{c: Summary, depth: number, hidden: string[]}[]} */
  const out = [];
  const seen = new Set();
  const put = (/** @type {Summary} */ c, /** @type {string[]} */ above) => {
    if (seen.has(c.conversationId)) return;
    seen.add(c.conversationId);
    out.push({ c, depth: Math.min(above.length, 8), hidden: above });
    for (const child of below.get(c.conversationId) ?? []) put(child, [...above, c.conversationId]);
  };
  for (const c of all) {
    const parent = c.session?.parent;
    if (!parent || !known.has(parent)) put(c, []);
  }
  for (const c of all) put(c, []); // of a circle, which no hub makes
  return out;
}

/** What a conversation is called: a session to which nobody has given a title, by its agent. @param {Summary} c */
function nameOf(c) {
  if (c.session && (!c.title || c.title === `session of ${c.session.agent}`)) return c.session.agent;
  return c.title || c.conversationId;
}

/** @param {Summary} c @param {boolean} nested whether it stands below its parent */
function origin(c, nested) {
  const out = [];
  if (c.session) {
    out.push(h('span', { class: 'mark accent' }, nameOf(c) === c.session.agent ? ['session for ', h('bdi', null, visible(c.session.caller))] : ['session of ', h('bdi', null, visible(c.session.agent))]));
    if (c.session.parent && !nested) out.push(' ', h('a', { href: `#/c/${encodeURIComponent(c.session.parent)}` }, 'parent'));
  }
  if (c.fork) {
    out.push(h('a', { class: 'mark', href: `#/c/${encodeURIComponent(c.fork.conversationId)}/${c.fork.seq}`, title: `fork of ${c.fork.conversationId} at ${c.fork.seq}` }, `fork at ${c.fork.seq}`));
  }
  if (c.workspace) out.push(h('span', { class: 'mark' }, c.workspace));
  return out;
}

/** How each status looks. @type {{[status: string]: string}} */
const looks = { active: 'accent', running: 'accent', input_required: 'warn', completed: 'ok', failed: 'bad', canceled: 'warn', stopped: 'warn' };

/**
 * The status of a conversation or session, with how it ended.
 * @param {Summary} c
 */
export function statusMark(c) {
  const status = c.session?.status ?? c.outcome?.status ?? c.status;
  const look = looks[status] ?? '';
  const reason = c.outcome?.reason;
  return h('span', { class: `mark ${look}`, title: reason ? visible(reason) : null }, visible(status.replaceAll('_', ' ')));
}

/** @param {Summary} c */
function floorCell(c) {
  const f = c.floor;
  if (!f || c.status !== 'active') {
    const reason = c.outcome?.reason;
    return [h('span', { class: 'muted foreign', dir: 'auto' }, reason ? visible(shorten(reason, 60)) : '\u2013')];
  }
  const who = f.speaker ? h('span', { class: 'foreign', dir: 'auto' }, visible(f.speaker)) : h('span', { class: 'muted' }, 'anyone');
  const doing = f.claim ? 'works' : f.open ? 'is speaking' : '';
  const out = [h('div', null, who, ' ', doing && h('span', { class: 'muted' }, doing, ' '), h('span', { class: 'since muted', title: `since ${time(f.since)}` }))];
  if (f.stuck) out.push(h('div', null, h('span', { class: 'mark warn' }, stuckWords[f.stuck] ?? f.stuck)));
  else if (f.attempts) out.push(h('div', null, h('span', { class: 'mark warn' }, `${f.attempts} failed ${f.attempts === 1 ? 'attempt' : 'attempts'}`)));
  return out;
}

define('parley-list', ConversationList);

/**
 * @param {import('./app.js').Ctx} ctx
 * @param {URLSearchParams} query
 * @returns {HTMLElement}
 */
export function view(ctx, query) {
  const el = /** @type {ConversationList} */ (document.createElement('parley-list'));
  el.ctx = ctx;
  el.query = query;
  return el;
}
