// Who has the floor of a conversation, since when, and whether anybody is there to take it.

import { define, h, replace } from './dom.js';
import { duration, time, visible } from './format.js';

/** How often the hub is asked who runs an agent, while one has the floor and does not work, in ms. */
const LOOK = 5000;

/** A line in the head of a conversation. */
export class Floor extends HTMLElement {
  #since = h('span', { class: 'since muted' });
  #mark = h('span', { class: 'chip warn', hidden: true });
  #timer = 0;
  #looked = 0;
  /** The floor that was drawn, and that of which it is known whether somebody runs it. */
  #drawn = '';
  #known = '';
  /** @type {() => void} */
  #off = () => {};

  /** @param {any} ctx @param {import('./model.js').Conversation} conversation @param {(id: string) => string} laneOf */
  constructor(ctx, conversation, laneOf) {
    super();
    this.ctx = ctx;
    this.conversation = conversation;
    this.laneOf = laneOf;
  }

  connectedCallback() {
    this.#off = this.conversation.listen((change) => {
      if (change.kind !== 'delta') this.#draw();
    });
    this.#timer = window.setInterval(() => this.#draw(), 1000);
    this.#draw();
  }

  disconnectedCallback() {
    this.#off();
    clearInterval(this.#timer);
  }

  #draw() {
    const { snapshot: s, guidance } = this.conversation;
    this.hidden = s.status === 'closed';
    if (this.hidden) return;
    const speaker = guidance?.speaker ?? '';
    const floor = JSON.stringify([s.turn, speaker, s.openTurn?.claim?.attempt ?? 0]);
    if (floor !== this.#drawn) {
      this.#drawn = floor;
      this.#mark.hidden = true;
      this.#looked = 0;
      replace(this, speaker ? [h('span', { class: `who foreign ${this.laneOf(speaker)}`, dir: 'auto' }, visible(speaker)), ' has the floor '] : 'anyone may speak ', this.#since, ' ', this.#mark);
    }
    const since = this.#begin();
    const text = duration(Math.max(1000, this.ctx.hub.now() - since));
    if (since > 0 && this.#since.textContent !== text) this.#since.textContent = text;
    this.#since.title = `since ${time(since)}`;
    void this.#look(speaker, floor);
  }

  /** When the turn that is open now, or is next, could begin. @returns {number} */
  #begin() {
    const { snapshot: s, fold } = this.conversation;
    return fold.turns.get(s.turn - 1)?.at ?? fold.turns.get(s.turn)?.began ?? Date.parse(s.createdAt);
  }

  /** Looks whether somebody runs the agent that has the floor and has not claimed its turn. @param {string} speaker @param {string} floor */
  async #look(speaker, floor) {
    const { snapshot: s } = this.conversation;
    const seat = s.participants?.find((/** @type {any} */ p) => p.id === speaker);
    const waits = (seat?.kind === 'agent' || seat?.kind === 'tool') && !s.openTurn?.claim;
    if (!waits || document.visibilityState !== 'visible' || this.ctx.hub.state !== 'open' || Date.now() - this.#looked < LOOK) {
      if (!waits) this.#mark.hidden = true;
      return;
    }
    this.#looked = Date.now();
    const name = seat.agent || seat.id;
    const { agents } = await this.ctx.hub.call('listAgents').catch(() => ({ agents: null }));
    if (!agents || floor !== this.#drawn) return;
    const there = agents.some((/** @type {any} */ a) => a.online && (a.name === name || a.name.split('@', 1)[0] === name));
    if (!there && this.#known !== floor) replace(this.#mark, 'nobody runs it now');
    this.#known = there ? '' : floor;
    this.#mark.hidden = there;
  }
}
define('parley-floor', Floor);
