// The agents of the hub: what they take, who runs them, and what they are doing.

import { Changes } from './changes.js';
import { define, h, listen, replace } from './dom.js';
import { ago, bytes, count, duration, json, shorten, visible } from './format.js';
import { statusMark } from './list.js';

/** @typedef {import('./protocol.js').AgentInfo} AgentInfo */
/** @typedef {import('./protocol.js').ConversationSummary} Summary */
/** @typedef {import('./protocol.js').Stats} Stats */
/** @typedef {import('./protocol.js').ExecutorInfo} ExecutorInfo */

const againMs = 5_000;
const failuresShown = 5;
const lookedAt = 500; // how many of the newest conversations are counted
const running = new Set(['pending', 'running', 'input_required']);

class Agents extends HTMLElement {
  /** @type {import('./app.js').Ctx} */
  ctx = /** @type {any} */ (null);
  /** The one that is shown whole. @type {string | undefined} */
  chosen;

  #ended = new AbortController();
  #timer = 0;
  /** @type {AgentInfo[] | null} */
  #agents = null;
  /** Those that the caller is told of: its own, and for admins all. @type {ExecutorInfo[]} */
  #executors = [];
  #executorsMore = 0;
  /** Why sessions have failed, by id. @type {Map<string, string>} */
  #failures = new Map();
  /** @type {Stats | null} */
  #stats = null;
  /** @type {Changes | null} */
  #changes = null;
  #shown = '';

  #summary = h('p', { class: 'muted', role: 'status' }, 'Reading.');
  #content = h('div', { class: 'agents' });

  connectedCallback() {
    this.#ended = new AbortController();
    this.ctx.title(this.chosen ? `Agent ${this.chosen}` : 'Agents');
    const head = this.chosen
      ? h('h1', null, h('a', { href: '#/agents' }, 'Agents'), h('span', { class: 'muted', 'aria-hidden': 'true' }, ' / '), h('span', { class: 'foreign', dir: 'auto' }, visible(this.chosen)))
      : h('h1', null, 'Agents');
    replace(this, h('div', { class: 'view-head' }, head, this.#summary), this.#content);
    const filter = this.chosen ? { participant: seatOf(this.chosen) } : {};
    this.#changes = new Changes(this.ctx.hub, filter, { changed: () => this.#draw(), failed: (err) => this.ctx.say(err.message, 'error') }, lookedAt);
    this.#read();
    this.#timer = window.setInterval(() => {
      if (document.visibilityState === 'visible' && this.ctx.hub.state === 'open') this.#read();
    }, againMs);
    listen(document, 'keydown', (e) => this.#press(e), this.#ended.signal);
  }

  disconnectedCallback() {
    this.#ended.abort();
    this.#changes?.close();
    clearInterval(this.#timer);
  }

  async #read() {
    const { hub } = this.ctx;
    const { signal } = this.#ended;
    try {
      const [list, stats] = await Promise.all([
        hub.call('listAgents', { includeExecutors: true, ...(this.chosen ? { includeConfig: true } : {}) }, { signal }),
        hub.may('admin') ? hub.call('stats', {}, { signal }) : null,
      ]);
      this.#agents = list.agents;
      this.#executors = list.executors ?? [];
      this.#executorsMore = list.executorsMore ?? 0;
      this.#stats = stats;
      this.#draw();
    } catch (err) {
      if (signal.aborted) return;
      replace(this.#summary, h('span', { class: 'problem' }, visible(err instanceof Error ? err.message : String(err))));
    }
  }

  /** Asks why a session has failed: the list has but a word for it. @param {Summary} c */
  async #whyFailed(c) {
    if (this.#failures.has(c.conversationId)) return;
    this.#failures.set(c.conversationId, '');
    try {
      const { result } = await this.ctx.hub.call('getSession', { sessionId: c.conversationId }, { signal: this.#ended.signal });
      const code = typeof result?.exit_code === 'number' ? `exit code ${result.exit_code}` : '';
      this.#failures.set(c.conversationId, [code, result?.error ?? ''].filter(Boolean).join(': '));
    } catch {
      return; // who may not read the session sees how it stands in the list
    }
    this.#draw();
  }

  #draw() {
    if (!this.#agents) return;
    const rows = [...(this.#changes?.rows.values() ?? [])];
    const sessions = rows.filter((c) => c.session);
    const shown = json([this.#agents, this.#executors, this.#stats, this.chosen ? rows : sessions, [...this.#failures.values()], this.#changes?.read, this.#bound()]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (this.chosen) {
      const agent = this.#agents.find((a) => a.name === this.chosen);
      replace(this.#summary);
      replace(this.#content, agent ? this.#whole(agent, rows) : h('p', { class: 'empty' }, 'There is no such agent, or it is away.'));
      return;
    }
    const online = this.#agents.filter((a) => a.online).length;
    replace(this.#summary, `${count(this.#agents.length, 'agent')}, ${online} online`);
    const focused = this.contains(document.activeElement) ? document.activeElement?.closest('tr')?.dataset.name : undefined;
    replace(this.#content, this.#table(this.#agents, sessions), executorTable(this.#executors, this.#executorsMore, this.#agents), this.#hub());
    const row = focused && [...this.#content.querySelectorAll('tr')].find((r) => r.dataset.name === focused);
    if (row) row.querySelector('a')?.focus({ preventScroll: true });
  }

  /**
   * @param {AgentInfo[]} agents
   * @param {Summary[]} sessions
   */
  #table(agents, sessions) {
    if (agents.length === 0) {
      return h('div', { class: 'panel empty' }, 'No agent is here that can be asked to do something.');
    }
    const counted = (/** @type {number} */ n) => (this.#changes?.read ? n.toLocaleString() : '\u2013');
    const bound = this.#bound();
    return h('div', null, h('div', { class: 'panel scroll', tabindex: '0', role: 'region', 'aria-label': 'Agents' }, h('table', null,
      h('caption', { class: 'visually-hidden' }, 'Agents by name'),
      h('thead', null, h('tr', null, ...['Agent', 'State', 'Type', 'Run by'].map((t) => h('th', { scope: 'col' }, t)),
        h('th', { scope: 'col', class: 'num' }, 'Running'), h('th', { scope: 'col', class: 'num' }, 'Failed'), h('th', { scope: 'col' }, h('span', { class: 'visually-hidden' }, 'Start')))),
      h('tbody', null, ...agents.map((a) => {
        const own = sessions.filter((c) => c.session?.agent === a.name);
        return h('tr', { 'data-name': a.name },
          h('td', null,
            h('a', { class: 'foreign strong', dir: 'auto', href: `#/agents/${encodeURIComponent(a.name)}` }, visible(a.name)),
            h('div', { class: 'muted small foreign', dir: 'auto' }, visible(shorten(a.description, 140)))),
          h('td', null, stateMark(a)),
          h('td', null, a.type),
          h('td', { class: 'foreign', dir: 'auto' }, runBy(a), h('div', { class: 'muted small load' }, this.#load(a))),
          h('td', { class: 'num running' }, counted(own.filter((c) => running.has(c.session?.status ?? '')).length)),
          h('td', { class: 'num failed' }, counted(own.filter((c) => c.session?.status === 'failed').length)),
          h('td', { class: 'num' }, this.#start(a)));
      })))), bound && h('p', { class: 'muted small bound' }, `Running and failed are counted among ${bound}.`));
  }

  /** How much of what its executors may hold they hold, as far as the caller is told. @param {AgentInfo} a */
  #load(a) {
    const own = this.#executors.filter((x) => runs(x, a));
    if (own.length === 0) return '';
    const sum = (/** @type {(x: ExecutorInfo) => number} */ of) => own.reduce((n, x) => n + of(x), 0);
    const held = `${sum((x) => x.claims).toLocaleString()} of ${sum((x) => x.capacity).toLocaleString()} turns`;
    return own.length === 1 ? held : `${own.length} executors, ${held}`;
  }

  /** What the sessions are of, where the hub has more; else nothing. */
  #bound() {
    return this.#changes?.more ? `the newest ${this.#changes.rows.size.toLocaleString()} conversations${this.chosen ? ' in which it has a seat' : ''}` : '';
  }

  /** @param {AgentInfo} a */
  #start(a) {
    if (!this.ctx.hub.may('create')) return null;
    return h('a', { class: 'button', href: `#/start/${encodeURIComponent(a.name)}`, 'aria-label': `Start ${visible(a.name)}` }, 'Start');
  }

  /**
   * @param {AgentInfo} a
   * @param {Summary[]} rows
   */
  #whole(a, rows) {
    const own = rows.filter((c) => c.session?.agent === a.name);
    const now = own.filter((c) => running.has(c.session?.status ?? ''));
    const failed = own.filter((c) => c.session?.status === 'failed').slice(0, failuresShown);
    for (const c of failed) void this.#whyFailed(c);
    const failing = rows.filter((c) => c.floor?.speaker === seatOf(a.name) && ((c.floor.attempts ?? 0) > 0 || c.floor.stuck === 'attempts')).slice(0, failuresShown);
    const load = this.#load(a);
    const labels = Object.entries(a.labels ?? {});
    const bound = this.#bound();
    const none = (/** @type {string} */ text) => (this.#changes?.read ? text : 'Reading.');
    return [
      h('section', { class: 'panel panel-body', 'aria-label': 'About' },
        h('p', { class: 'foreign', dir: 'auto' }, visible(a.description)),
        h('dl', { class: 'facts' },
          h('dt', null, 'State'), h('dd', null, stateMark(a)),
          h('dt', null, 'Type'), h('dd', null, a.type),
          h('dt', null, 'Run by'), h('dd', { class: 'foreign', dir: 'auto' }, runBy(a)),
          load && [h('dt', null, 'Load'), h('dd', { class: 'load' }, load)],
          labels.length > 0 && [h('dt', null, 'Labels'), h('dd', null, ...labels.flatMap(([k, v]) => [h('span', { class: 'mark' }, visible(`${k}: ${v}`)), ' ']))]),
        h('div', { class: 'buttons' }, this.#start(a))),
      h('section', { 'aria-labelledby': 'agent-running' }, h('h2', { id: 'agent-running' }, 'Running now'), sessionList(now, none('No session of it runs.'), this.ctx.hub.now())),
      h('section', { 'aria-labelledby': 'agent-failed' }, h('h2', { id: 'agent-failed' }, 'Last failures'), sessionList(failed, none('No session of it has failed.'), this.ctx.hub.now(), this.#failures)),
      failing.length > 0 && h('section', { 'aria-labelledby': 'agent-failing' }, h('h2', { id: 'agent-failing' }, 'Turns that it fails at now'), failingList(failing)),
      bound && h('p', { class: 'muted small bound' }, `These are among ${bound}.`),
      ...schemaParts(a),
    ];
  }

  /** What the hub has counted, for its admins. */
  #hub() {
    const s = this.#stats;
    if (!s) return null;
    return h('section', { 'aria-labelledby': 'hub-counts' }, h('h2', { id: 'hub-counts' }, 'This hub'), h('div', { class: 'panel panel-body' }, h('dl', { class: 'facts columns' }, ...facts(s))));
  }

  /** @param {KeyboardEvent} e */
  #press(e) {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[e.key];
    if (step === undefined || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || document.querySelector('dialog[open]')) return;
    const links = /** @type {HTMLElement[]} */ ([...this.querySelectorAll('tr[data-name] a.strong')]);
    if (links.length === 0) return;
    const here = links.findIndex((a) => a.closest('tr')?.contains(document.activeElement));
    e.preventDefault();
    links[Math.max(0, Math.min(links.length - 1, here + step))]?.focus();
  }
}

/**
 * How the hub stands, and what it is doing.
 * @param {Stats} s
 * @returns {import('./dom.js').Child[]}
 */
function facts(s) {
  const rows = /** @type {[string, string][]} */ ([
    ['State', s.state.replaceAll('_', ' ')], ['Version', s.version], ['Up for', duration(s.uptimeMs)],
    ['Executors', s.executors.toLocaleString()], ['Claims that stand', s.claims.toLocaleString()],
    ['Turns of agents', `${s.turns.count.toLocaleString()}${mean(s.turns)}`], ['Waits for a claim', `${s.claimWaits.count.toLocaleString()}${mean(s.claimWaits)}`],
    ['Claims that failed', failed(s.claimsEnded)],
    ['Open conversations', s.conversationsOpen.toLocaleString()], ['Readers', s.subscribers.toLocaleString()],
    ['Connections', s.sockets.toLocaleString()], ['Log', bytes(s.journalBytes)],
  ]);
  return rows.map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, visible(value))));
}

/** @param {import('./protocol.js').Durations} d */
function mean(d) {
  return d.count === 0 ? '' : `, ${duration(d.sumMs / d.count)} each`;
}

/** @param {{[end: string]: number}} ended */
function failed(ended) {
  const ends = ['expired', 'declined', 'silent', 'failed', 'disconnected'].filter((end) => ended[end] > 0);
  return ends.length === 0 ? 'none' : ends.map((end) => `${ended[end]} ${end}`).join(', ');
}

/** @param {AgentInfo} a */
function stateMark(a) {
  if (a.stale) return h('span', { class: 'mark warn' }, 'away');
  return a.online ? h('span', { class: 'mark ok' }, 'online') : h('span', { class: 'mark' }, 'offline');
}

/**
 * The id under which an agent has a seat in its sessions: its name without that of its runner.
 * @param {string} name
 */
function seatOf(name) {
  return name.split('@', 1)[0] ?? name;
}

/** @param {AgentInfo} a */
function runBy(a) {
  if (!a.runner) return 'the hub';
  return visible(a.runner_id ? `${a.runner} (${shorten(a.runner_id, 24)})` : a.runner);
}

/**
 * @param {Summary[]} list
 * @param {string} none
 * @param {number} now
 * @param {Map<string, string>} [why] why they have failed, by id
 */
function sessionList(list, none, now, why) {
  if (list.length === 0) return h('p', { class: 'muted' }, none);
  return h('ul', { class: 'panel rows' }, ...list.map((c) => h('li', null,
    h('a', { class: 'foreign', dir: 'auto', href: `#/c/${encodeURIComponent(c.conversationId)}` }, visible(shorten(c.title || c.conversationId, 100))), ' ',
    statusMark(c), ' ', h('span', { class: 'muted small' }, `for ${visible(c.session?.caller ?? '')}, ${ago(c.updatedAt, now)}`),
    (why?.get(c.conversationId) || c.outcome?.reason) && h('div', { class: 'muted small foreign why-failed', dir: 'auto' }, visible(shorten(why?.get(c.conversationId) || (c.outcome?.reason ?? ''), 300))))));
}

/** @param {Summary[]} list conversations in which the agent has the floor, and has failed */
function failingList(list) {
  return h('ul', { class: 'panel rows' }, ...list.map((c) => h('li', null,
    h('a', { class: 'foreign', dir: 'auto', href: `#/c/${encodeURIComponent(c.conversationId)}` }, visible(shorten(c.title || c.conversationId, 100))), ' ',
    h('span', { class: 'mark warn' }, c.floor?.stuck === 'attempts' ? 'attempts used up' : count(c.floor?.attempts ?? 0, 'failed attempt')), ' ',
    h('span', { class: 'muted small' }, `turn ${c.floor?.turn ?? c.turn}`))));
}

/** Whether an executor runs an agent: as the runner that has registered it, or by its name. @param {ExecutorInfo} x @param {AgentInfo} a */
function runs(x, a) {
  if (a.runner_id) return x.executorId === a.runner_id && (a.runner ? x.registeredBy === a.runner : x.internal === true);
  return x.agents.includes(a.name);
}

/** The connections that run agents, with what they hold. @param {ExecutorInfo[]} all @param {number} more @param {AgentInfo[]} agents */
function executorTable(all, more, agents) {
  if (all.length === 0) return null;
  const names = (/** @type {ExecutorInfo} */ x) => [...new Set([...x.agents, ...agents.filter((a) => runs(x, a)).map((a) => a.name)])].join(', ');
  return h('section', { 'aria-labelledby': 'executors' }, h('h2', { id: 'executors' }, 'Runners'), h('div', { class: 'panel scroll', tabindex: '0', role: 'region', 'aria-label': 'Runners and their load' }, h('table', { class: 'executors' },
    h('caption', { class: 'visually-hidden' }, 'Connections that run agents now'),
    h('thead', null, h('tr', null, ...['Runner', 'Of', 'Runs'].map((t) => h('th', { scope: 'col' }, t)), h('th', { scope: 'col', class: 'num' }, 'Load'))),
    h('tbody', null, ...all.map((x) => h('tr', { 'data-executor': x.executorId },
      h('td', null, h('span', { class: 'strong foreign', dir: 'auto' }, visible(x.executorId)), Object.entries(x.labels ?? {}).map(([k, v]) => [' ', h('span', { class: 'mark foreign' }, visible(`${k}: ${v}`))])),
      h('td', { class: 'foreign', dir: 'auto' }, x.internal ? 'the hub' : visible(x.registeredBy)),
      h('td', { class: 'foreign', dir: 'auto' }, visible(shorten(names(x) || '\u2013', 200)), x.mode === 'pull' ? h('span', { class: 'muted small' }, ' (asks by itself)') : null),
      h('td', { class: 'num load' }, `${x.claims.toLocaleString()} of ${x.capacity.toLocaleString()}`, h('meter', { min: 0, max: x.capacity, value: x.claims, 'aria-hidden': 'true' }))))))),
  more > 0 && h('p', { class: 'muted small' }, `${more.toLocaleString()} more are not listed.`));
}

/** @param {AgentInfo} a */
function schemaParts(a) {
  /** @type {[string, unknown][]} */
  const parts = [
    ['What it takes', a.parameters_schema], ['What it gives', a.output_schema], ['Subscriptions', a.subscriptions], ['Configuration', a.agent_config],
  ];
  return parts.filter(([, v]) => v !== undefined && v !== null).map(([title, v], i) => h('section', null,
    h('details', { class: 'panel', open: i === 0 }, h('summary', null, h('h2', null, title)),
      h('pre', { class: 'panel-body', tabindex: '0', role: 'region', 'aria-label': title }, visible(json(v))))));
}

define('parley-agents', Agents);

/**
 * @param {import('./app.js').Ctx} ctx
 * @param {string} [name]
 * @returns {HTMLElement}
 */
export function view(ctx, name) {
  const el = /** @type {Agents} */ (document.createElement('parley-agents'));
  el.ctx = ctx;
  el.chosen = name;
  return el;
}
