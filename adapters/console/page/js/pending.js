// How many approvals wait, told beside the way to the inbox.

import { h, replace } from './dom.js';

const everyMs = 5000;
/** More than these are not counted. */
const most = 99;

/** A count in a link, kept up to date while somebody looks at the page. */
export class Pending {
  #timer = 0;
  #asking = false;
  #ended = new AbortController();

  /** @param {import('./hub.js').Hub} hub @param {HTMLElement} link */
  constructor(hub, link) {
    this.hub = hub;
    this.link = link;
    this.name = link.textContent ?? '';
    this.#timer = window.setInterval(() => this.look(), everyMs);
    document.addEventListener('visibilitychange', () => this.look(), { signal: this.#ended.signal });
    this.look();
  }

  close() {
    clearInterval(this.#timer);
    this.#ended.abort();
    replace(this.link, this.name);
  }

  /** Counts again. */
  async look() {
    if (this.#asking || document.visibilityState !== 'visible' || this.hub.state !== 'open') return;
    this.#asking = true;
    try {
      const { approvals, nextCursor } = await this.hub.call('listApprovals', { status: 'pending', limit: most }, { signal: this.#ended.signal });
      if (!this.#ended.signal.aborted) this.#show(approvals.length, Boolean(nextCursor));
    } catch {
      // the hub is away, or does not tell: the next time is soon
    } finally {
      this.#asking = false;
    }
  }

  /** @param {number} n @param {boolean} more */
  #show(n, more) {
    const text = n === 0 ? '' : `${n}${more ? '+' : ''}`;
    if ((this.link.querySelector('.waiting')?.textContent ?? '') === text) return;
    replace(this.link, this.name, text ? [' ', h('span', { class: 'waiting', title: 'waiting for an answer' }, text)] : null);
  }
}
