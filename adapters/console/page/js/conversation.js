// The page of a conversation: its head, its events, why things are as they are, and the place to speak from.

import { define, h, listen, replace } from './dom.js';
import { count, visible } from './format.js';
import { statusClass } from './body.js';
import { actions, composer, eventActions } from './compose.js';
import { Floor } from './floor.js';
import { Conversation } from './model.js';
import { Search } from './search.js';
import { Timeline } from './timeline.js';
import { Why } from './why.js';
import { usedWords } from './words.js';

/** @typedef {import('./app.js').Ctx} Ctx */

/** @param {Ctx} ctx @param {string} id @param {number} [seq] @returns {HTMLElement} */
export function view(ctx, id, seq) {
  return new ConversationView(ctx, id, seq);
}

class ConversationView extends HTMLElement {
  /** @type {Conversation | null} */
  conversation = null;
  #gone = false;
  #frame = 0;
  #ended = new AbortController();

  /** @param {Ctx} ctx @param {string} id @param {number} [seq] */
  constructor(ctx, id, seq) {
    super();
    this.ctx = ctx;
    this.conversationId = id;
    this.seq = seq;
    this.className = 'conversation';
  }

  connectedCallback() {
    replace(this, h('p', { class: 'muted', role: 'status' }, 'Reading the conversation.'));
    this.ctx.title(this.conversationId);
    void this.#open();
  }

  disconnectedCallback() {
    this.#gone = true;
    this.#ended.abort();
    cancelAnimationFrame(this.#frame);
    this.conversation?.close();
  }

  async #open() {
    try {
      const conversation = await Conversation.open(this.ctx, this.conversationId);
      if (this.#gone) {
        conversation.close();
        return;
      }
      this.conversation = conversation;
      this.#show(conversation);
    } catch (err) {
      if (this.#gone) return;
      const found = /** @type {any} */ (err)?.reason !== 'not_found';
      replace(this, h('h1', null, found ? 'The conversation cannot be shown' : 'There is no such conversation'),
        h('p', { class: 'problem foreign', dir: 'auto' }, found ? visible(err instanceof Error ? err.message : String(err)) : 'It does not exist, or you take no part in it.'),
        h('p', null, h('a', { href: '#/' }, 'Conversations')));
    }
  }

  /** @param {Conversation} c */
  #show(c) {
    this.timeline = new Timeline(this.ctx, c, (e) => eventActions(this.ctx, c, e));
    this.why = new Why(this.ctx, c);
    this.why.hidden = true;
    this.heading = h('h1', { class: 'foreign', dir: 'auto' });
    this.facts = h('p', { class: 'facts-line' });
    const { timeline } = this;
    const floor = new Floor(this.ctx, c, (id) => timeline.lanes.classOf(id));
    const legend = h('div', { class: 'legend-of' });
    this.whyButton = h('button', { type: 'button', 'aria-expanded': 'false', on: { click: () => this.#explain(this.why?.hidden ?? false, undefined) } }, 'Why');
    replace(this,
      h('header', { class: 'conversation-head' },
        h('div', { class: 'titles' }, this.heading, h('div', { class: 'facts-of' }, this.facts, floor)),
        actions(this.ctx, c),
        legend,
        h('div', { class: 'tools' }, new Search(c, this.timeline), filter(this.timeline, 'traces', 'Traces'), filter(this.timeline, 'system', 'Turns and claims'), this.whyButton)),
      h('div', { class: 'conversation-body' }, h('section', { class: 'timeline-of', 'aria-label': 'What was said' }, this.timeline, composer(this.ctx, c)), this.why));
    const { signal } = this.#ended;
    listen(this, 'parley-explain', (/** @type {CustomEvent} */ e) => this.#explain(true, Number(e.detail?.seq) || undefined), signal);
    listen(this, 'parley-seats', () => replace(legend, this.timeline?.lanes.legend()), signal);
    listen(document, 'keydown', (/** @type {KeyboardEvent} */ e) => this.#pressed(e), signal);
    replace(legend, this.timeline.lanes.legend());
    c.listen((change) => {
      if (change.kind !== 'delta' && this.#frame === 0) this.#frame = requestAnimationFrame(() => this.#head(c));
    });
    this.#head(c);
    if (this.seq) void this.timeline.jump(this.seq);
  }

  /** @param {Conversation} c */
  #head(c) {
    this.#frame = 0;
    if (!this.heading || !this.facts) return;
    const s = c.snapshot;
    const name = s.title || c.id;
    if (this.heading.textContent !== visible(name)) replace(this.heading, visible(name));
    this.ctx.title(name);
    const used = c.fold.used();
    replace(this.facts,
      h('span', { class: `chip status-${statusClass(s.status === 'closed' ? s.outcome?.status : s.status)}` }, s.status === 'closed' ? `closed: ${visible(String(s.outcome?.status ?? ''))}` : 'active'),
      s.title ? h('code', { class: 'foreign', dir: 'auto' }, visible(c.id)) : null,
      s.session?.parent ? h('a', { href: `#/c/${encodeURIComponent(s.session.parent)}` }, 'session of ', h('span', { class: 'foreign', dir: 'auto' }, visible(s.session.parent))) : null,
      s.fork ? [h('a', { href: `#/c/${encodeURIComponent(s.fork.conversationId)}/${Number(s.fork.seq)}` }, 'fork of ', h('span', { class: 'foreign', dir: 'auto' }, visible(s.fork.conversationId)), ` at #${Number(s.fork.seq)}`),
        h('a', { href: `#/compare/${encodeURIComponent(s.fork.conversationId)}/${encodeURIComponent(c.id)}` }, 'compare')] : null,
      h('span', { class: 'muted' }, count(c.latestSeq, 'event')),
      used ? h('span', { class: 'muted' }, `${usedWords(used)}${c.whole ? '' : ', as far as it was read'}`) : null,
      c.refused ? h('span', { class: 'problem foreign', dir: 'auto' }, visible(c.refused.message)) : null);
    this.dataset.live = String(c.live);
    this.dataset.latest = String(c.latestSeq);
  }

  /** @param {boolean} open @param {number | undefined} seq */
  #explain(open, seq) {
    if (!this.why) return;
    this.why.hidden = !open;
    this.whyButton?.setAttribute('aria-expanded', String(open));
    if (!open) return;
    this.why.about(seq);
    if (seq !== undefined) this.why.focus();
  }

  /** @param {KeyboardEvent} e */
  #pressed(e) {
    const at = /** @type {HTMLElement | null} */ (document.activeElement);
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || !this.timeline || document.querySelector('dialog[open]')) return;
    if (at && (at.matches('input, textarea, select') || at.isContentEditable || this.timeline.contains(at))) return;
    if (e.key !== 'j' && e.key !== 'k') return;
    e.preventDefault();
    this.timeline.move(e.key === 'j' ? 1 : -1);
  }
}
define('parley-conversation', ConversationView);

/** @param {Timeline} timeline @param {'traces' | 'system'} kind @param {string} label @returns {HTMLElement} */
function filter(timeline, kind, label) {
  const box = h('input', { type: 'checkbox', checked: true });
  box.addEventListener('change', () => timeline.show(kind, box.checked));
  return h('label', { class: 'filter' }, box, label);
}
