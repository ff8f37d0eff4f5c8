// Why things are as they are: what every seat is told and by which rule, whom an event has woken, and how the agent of a turn was set up.

import { define, h, replace } from './dom.js';
import { visible } from './format.js';
import { isObject, kindOf, payloadOf } from './fold.js';
import { turnOf } from './layout.js';
import { Lanes } from './lanes.js';
import { jsonView } from './tree.js';
import { configOf } from './config.js';

/** @typedef {import('./dom.js').Child} Child */

/** How long after a change the guidance of now is asked for again, in ms. */
const PAUSE = 400;

/** The panel beside a timeline. */
export class Why extends HTMLElement {
  /** The event that it is about; undefined: now. @type {number | undefined} */
  seq = undefined;
  #round = 0;
  #timer = 0;
  /** @type {() => void} */
  #off = () => {};

  /** @param {any} ctx @param {import('./model.js').Conversation} conversation */
  constructor(ctx, conversation) {
    super();
    this.ctx = ctx;
    this.conversation = conversation;
    this.className = 'why';
    this.tabIndex = -1;
    this.heading = h('h2', null, 'Why');
    this.now = h('button', { type: 'button', class: 'quiet', on: { click: () => this.about(undefined) } }, 'Now');
    this.closer = h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', on: { click: () => (this.hidden = true) } }, '×');
    this.seats = h('section', { 'aria-label': 'What every seat is told' });
    this.woken = h('section', { 'aria-label': 'Whom it wakes' });
    this.config = h('section', { 'aria-label': 'How the agent was set up' });
  }

  connectedCallback() {
    this.setAttribute('role', 'complementary');
    this.setAttribute('aria-label', 'Why');
    if (!this.firstChild) this.append(h('header', null, this.heading, this.now, this.closer), this.seats, this.woken, this.config);
    this.#off = this.conversation.listen((change) => {
      if (this.hidden || this.seq !== undefined || (change.kind !== 'events' && change.kind !== 'guidance')) return;
      if (this.#timer === 0) this.#timer = window.setTimeout(() => this.about(undefined), PAUSE);
    });
  }

  disconnectedCallback() {
    this.#off();
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.#round++;
  }

  /** Tells about an event, or about now. @param {number | undefined} seq */
  about(seq) {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (seq !== this.seq) replace(this.seats);
    this.seq = seq;
    this.hidden = false;
    const round = ++this.#round;
    this.heading.textContent = seq === undefined ? 'Why: now' : `Why: after event ${seq}`;
    this.now.hidden = seq === undefined;
    const e = seq === undefined ? null : this.conversation.at(seq);
    replace(this.woken);
    replace(this.config);
    void this.#part(round, this.seats, () => this.#seats());
    if (e && wakes(e)) void this.#part(round, this.woken, () => this.#woken(e.seq));
    const turn = e ? turnOf(e) : this.conversation.snapshot.turn ?? 0;
    const author = e && e.type !== 'system' ? e.from : this.conversation.fold.turns.get(turn)?.owner;
    if (turn > 0 && author && this.#isAgent(author)) void this.#part(round, this.config, () => this.#config(turn, author));
  }

  /** @param {string} id @returns {boolean} */
  #isAgent(id) {
    const seat = this.conversation.snapshot.participants?.find((/** @type {any} */ p) => p.id === id);
    return seat?.kind === 'agent';
  }

  /** @param {number} round @param {HTMLElement} place @param {() => Promise<Child>} make */
  async #part(round, place, make) {
    /** @type {Child} */
    let what;
    try {
      what = await make();
    } catch (err) {
      what = h('p', { class: 'muted foreign', dir: 'auto' }, `This cannot be told: ${visible(err instanceof Error ? err.message : String(err))}`);
    }
    if (round === this.#round) replace(place, what);
  }

  /** @returns {Promise<Child>} */
  async #seats() {
    const params = this.seq === undefined ? {} : { seq: this.seq };
    const { guidance } = await this.ctx.hub.call('explain', { conversationId: this.conversation.id, ...params });
    const lanes = new Lanes(this.conversation.snapshot.participants ?? []);
    return [h('h3', null, 'Who may speak'), guidance.map((/** @type {any} */ row) => this.#seat(lanes, row))];
  }

  /** @param {Lanes} lanes @param {{participantId: string, guidance: any}} row @returns {HTMLElement} */
  #seat(lanes, row) {
    const g = row.guidance;
    const may = g.kind === 'may_speak';
    return h('article', { class: `seat ${lanes.classOf(row.participantId)}`, 'data-seat': row.participantId },
      h('h4', null, h('span', { class: `who foreign ${lanes.classOf(row.participantId)}`, dir: 'auto' }, visible(row.participantId)),
        h('span', { class: `chip ${may ? 'status-completed' : ''}` }, may ? 'may speak' : g.kind === 'closed' ? 'closed' : 'waits')),
      h('p', { class: 'foreign', dir: 'auto' }, visible(String(g.reason ?? ''))),
      Array.isArray(g.rules) ? h('details', null, h('summary', null, `${g.rules.length} rules tried`), h('ol', { class: 'rules' }, g.rules.map((/** @type {any} */ r) => h('li', { class: r.decided ? 'decided' : '' },
        h('span', { class: 'foreign', dir: 'auto' }, visible(String(r.rule))), r.decided ? h('span', { class: 'chip status-completed' }, 'decided') : null,
        h('p', { class: 'muted foreign', dir: 'auto' }, visible(String(r.because ?? ''))))))) : null);
  }

  /** @param {number} seq @returns {Promise<Child>} */
  async #woken(seq) {
    const told = await this.ctx.hub.call('explainTriggers', { conversationId: this.conversation.id, seq });
    if (told.agents.length === 0) return [h('h3', null, 'Whom it wakes'), h('p', { class: 'muted' }, 'No agent here subscribes to anything.')];
    return [h('h3', null, `Whom event ${seq} wakes`), told.agents.map(agent), told.more ? h('p', { class: 'muted' }, `${told.more} more watch the workspace.`) : null];
  }

  /** @param {number} turn @param {string} agentId @returns {Promise<Child>} */
  async #config(turn, agentId) {
    const found = await configOf(this.ctx, this.conversation, turn, agentId);
    return [h('h3', null, `How `, h('span', { class: 'who foreign', dir: 'auto' }, visible(agentId)), ` was set up in turn ${turn}`),
      h('p', { class: 'foreign', dir: 'auto' }, visible(found.words)),
      found.config !== undefined ? jsonView(found.config) : null];
  }
}
define('parley-why', Why);

/** Whether an event can wake anybody: a note, and a message that ends a turn. @param {import('./fold.js').LogEvent} e @returns {boolean} */
function wakes(e) {
  if (e.type === 'system') return kindOf(e) === 'note';
  return e.type === 'message' && e.finality !== 'none' && e.finality !== undefined && isObject(payloadOf(e));
}

/** @param {any} a @returns {HTMLElement} */
function agent(a) {
  const state = a.woken ? 'woken' : a.wouldWake ? 'would wake now' : 'not woken';
  return h('article', { class: 'seat' },
    h('h4', null, h('span', { class: 'who foreign', dir: 'auto' }, visible(String(a.agentId || a.agent))), h('span', { class: `chip ${a.woken ? 'status-completed' : ''}` }, state),
      a.state ? h('span', { class: 'chip' }, visible(String(a.state))) : null),
    h('p', { class: 'foreign', dir: 'auto' }, visible(String(a.because ?? ''))),
    a.sessionId ? h('p', null, h('a', { class: 'foreign', dir: 'auto', href: `#/c/${encodeURIComponent(a.sessionId)}` }, visible(a.sessionId))) : null,
    Array.isArray(a.selectors) && a.selectors.length > 0 ? h('details', null, h('summary', null, `${a.selectors.length} selectors`), h('ol', { class: 'rules', start: 0 }, a.selectors.map((/** @type {any} */ s) =>
      h('li', { class: s.matched ? 'decided' : '' }, `${visible(String(s.role))}: ${s.matched ? 'matched' : 'not matched'}`, h('p', { class: 'muted foreign', dir: 'auto' }, visible(String(s.because ?? ''))))))) : null);
}
