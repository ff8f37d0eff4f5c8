// The lane of each participant: a column in the gutter and a colour, in the order in which they were named.

import { h } from './dom.js';
import { visible } from './format.js';

/** How many colours there are, and how many columns the gutter has at most. */
export const COLOURS = 8;
const COLUMNS = 10;

/** @typedef {import('./fold.js').Participant} Participant */

/** The lanes of the participants. The hub is in none. */
export class Lanes {
  /** @param {Participant[]} participants */
  constructor(participants) {
    this.participants = participants;
    /** @type {Map<string, number>} */
    this.index = new Map(participants.map((p, i) => [p.id, i]));
    this.columns = Math.min(Math.max(participants.length, 1), COLUMNS);
  }

  /** The colour of a participant; -1 for the hub and strangers. @param {string} id @returns {number} */
  colour(id) {
    const i = this.index.get(id);
    return i === undefined ? -1 : i % COLOURS;
  }

  /** The column of a participant: those over the last one share it; -1 for the hub and strangers. @param {string} id @returns {number} */
  column(id) {
    const i = this.index.get(id);
    return i === undefined ? -1 : Math.min(i, COLUMNS - 1);
  }

  /** The class that gives an element the colour of a participant. @param {string} id @returns {string} */
  classOf(id) {
    const c = this.colour(id);
    return c < 0 ? 'lane-none' : `lane-${c}`;
  }

  /** The gutter of a row: a line for each lane, and a dot where the author is. @param {string} id @param {boolean} quiet @returns {HTMLElement} */
  gutter(id, quiet) {
    const at = this.column(id);
    const lines = [];
    for (let i = 0; i < this.columns; i++) {
      const colour = i % COLOURS;
      lines.push(h('span', { class: `line lane-${colour}${i === at ? (quiet ? ' here quiet' : ' here') : ''}` }));
    }
    return h('div', { class: 'gutter', 'aria-hidden': 'true' }, lines);
  }

  /** The participants with their colours. @returns {HTMLElement} */
  legend() {
    return h('ul', { class: 'legend', 'aria-label': 'Participants' }, this.participants.map((p) => h('li', { class: this.classOf(p.id) },
      h('span', { class: 'dot', 'aria-hidden': 'true' }),
      h('span', { class: 'foreign', dir: 'auto' }, visible(p.id)),
      h('span', { class: 'muted' }, [p.kind, p.agent && p.agent !== p.id ? visible(p.agent) : '', p.role ? visible(p.role) : ''].filter(Boolean).join(' · ')))));
  }
}
