// Who has the floor of a conversation, since when, and what keeps it.

import { define, h, replace } from './dom.js';
import { duration, time, visible } from './format.js';

/** How often the hub is asked what a turn waits for, while an agent has the floor and does not work, in ms. */
const LOOK = 5000;

/** What guidance says of it (protocol.md, section 7), and how that is told here. @type {[RegExp, string][]} */
const keeps = [[/ No executor of \S+ is registered\.$/, 'nobody runs it now'], [/ The \d+ attempts at turn \d+ have failed\.$/, 'attempts used up']];

/** A line in the head of a conversation. */
export class Floor extends HTMLElement {
  #since = h('span', { class: 'since muted' });
  #mark = h('span', { class: 'chip warn', hidden: true });
  #timer = 0;
  #looked = 0;
  /** The floor that was drawn. */
  #drawn = '';
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

  /** Looks what keeps an agent that has the floor and has not claimed its turn. Who is there is no event, so the hub has to be asked. @param {string} speaker @param {string} floor */
  async #look(speaker, floor) {
    const { snapshot: s } = this.conversation;
    const seat = s.participants?.find((/** @type {any} */ p) => p.id === speaker);
    const waits = (seat?.kind === 'agent' || seat?.kind === 'tool') && !s.openTurn?.claim;
    if (!waits || document.visibilityState !== 'visible' || this.ctx.hub.state !== 'open' || Date.now() - this.#looked < LOOK) {
      if (!waits) this.#mark.hidden = true;
      return;
    }
    this.#looked = Date.now();
    const told = await this.ctx.hub.call('getGuidance', { conversationId: this.conversation.id }).catch(() => null);
    if (!told || floor !== this.#drawn) return;
    const found = keeps.find(([said]) => said.test(told.guidance.reason));
    this.#mark.hidden = !found;
    if (found && this.#mark.textContent !== found[1]) replace(this.#mark, found[1]);
  }
}
define('parley-floor', Floor);
