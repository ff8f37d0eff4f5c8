// The inbox of approvals: what agents ask before they do it.
import { define, h, listen, replace } from './dom.js';
import { ago, count, duration, json, time, visible } from './format.js';
import { key } from './hub.js';
import { problem } from './dialog.js';
import { schemaForm } from './form.js';

/** @typedef {import('./app.js').Ctx} Ctx */
/** @typedef {import('./hub.js').Hub} Hub */
/** @typedef {import('./protocol.js').Approval} Approval */

const pollMs = 2000;
/** How long one wait for a change lasts. */
const watchMs = 25_000;
const statuses = ['pending', 'approved', 'rejected', 'timed_out', 'canceled'];
/** As how many of its ids a token asks what it may answer. */
const maxSeats = 8;

class Approvals extends HTMLElement {
  /** @param {Ctx} ctx */
  constructor(ctx) {
    super();
    this.ctx = ctx;
    /** @type {Map<string, Card>} */
    this.cards = new Map();
    this.status = 'pending';
    this.round = 0;
    this.filter = /** @type {HTMLSelectElement} */ (h('select', { id: 'approval-status' }, statuses.map((s) => h('option', { value: s }, s.replace('_', ' ')))));
    this.counted = h('p', { class: 'muted', role: 'status' }, 'Reading.');
    this.list = h('div', { class: 'approvals' });
    this.empty = h('p', { class: 'empty', hidden: true });
  }

  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    if (!this.firstChild) {
      this.append(h('div', { class: 'view-head' }, h('h1', {}, 'Approvals'), h('div', { class: 'field inline' }, h('label', { for: 'approval-status' }, 'Show'), this.filter), this.counted), this.list, this.empty);
    }
    listen(this.filter, 'change', () => {
      this.status = this.filter.value;
      this.cards.clear();
      replace(this.list);
      this.look();
    }, signal);
    listen(document, 'visibilitychange', () => this.look(), signal);
    const poll = setInterval(() => this.look(), pollMs);
    const tick = setInterval(() => this.cards.forEach((card) => card.tick()), 1000);
    signal.addEventListener('abort', () => {
      clearInterval(poll);
      clearInterval(tick);
    });
    this.look();
    this.watch(signal);
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** watch looks as soon as a conversation has changed. Polling goes on: it is what is left where the hub does not tell. @param {AbortSignal} signal */
  async watch(signal) {
    let cursor = '';
    try {
      while (!signal.aborted) {
        const r = await this.ctx.hub.call('watchConversations', { ...(cursor ? { cursor, timeoutMs: watchMs } : {}), limit: 1 }, { signal });
        if (cursor !== '' && !r.timedOut) this.look();
        cursor = r.cursor;
        if (r.more) cursor = ''; // what else has changed does not matter: go on from now
      }
    } catch {
      // the hub is away, or does not serve it: polling finds what there is
    }
  }

  /** look reads the list, unless nobody sees it. */
  async look() {
    if (document.hidden || this.busy || !this.isConnected) return;
    this.busy = true;
    const { status } = this;
    try {
      const approvals = await listed(this.ctx.hub, status);
      if (status === this.status && this.isConnected) this.show(approvals);
    } catch (err) {
      if (this.isConnected) replace(this.counted, visible(problem(err)));
    } finally {
      this.busy = false;
    }
    if (status !== this.status) this.look();
  }

  /** show keeps the cards that are there: somebody may be writing in one. @param {{approval: Approval, hub: Hub}[]} found */
  show(found) {
    const ids = new Set(found.map((f) => f.approval.approvalId));
    for (const f of found) {
      const id = f.approval.approvalId;
      const card = this.cards.get(id);
      if (card) {
        card.update(f.approval);
        continue;
      }
      const made = new Card(this.ctx, f.hub, f.approval, () => this.dismiss(id));
      this.cards.set(id, made);
      this.list.append(made.element);
    }
    for (const [id, card] of this.cards) {
      if (!ids.has(id)) card.gone();
    }
    replace(this.counted, `${count(found.length, this.status === 'pending' ? 'question' : 'approval')}${this.status === 'pending' ? ' waiting' : ''}`);
    this.empty.hidden = this.cards.size > 0;
    replace(this.empty, this.status === 'pending' ? 'Nobody waits for an answer of yours.' : 'There are none.');
  }

  /** @param {string} id */
  dismiss(id) {
    this.cards.get(id)?.element.remove();
    this.cards.delete(id);
    this.empty.hidden = this.cards.size > 0;
    this.filter.focus();
  }
}
define('parley-approvals', Approvals);

/**
 * listed asks as each id of the token: what one may answer another may not. Each approval is answered as the id that may.
 * @param {Hub} hub
 * @param {string} status
 */
async function listed(hub, status) {
  const seats = [...new Set([hub.me.agentId, ...(hub.me.agents ?? [])])].slice(0, maxSeats);
  /** @type {Map<string, {approval: Approval, hub: Hub}>} */
  const found = new Map();
  for (const seat of seats) {
    const as = hub.as(seat);
    for (const approval of await pages(as, status)) {
      const before = found.get(approval.approvalId);
      if (!before || (approval.mayAnswer && !before.approval.mayAnswer)) found.set(approval.approvalId, { approval, hub: as });
    }
  }
  const all = [...found.values()];
  all.sort((a, b) => Date.parse(a.approval.requestedAt) - Date.parse(b.approval.requestedAt));
  return status === 'pending' ? all : all.reverse();
}

/** @param {Hub} hub @param {string} status @returns {Promise<Approval[]>} */
async function pages(hub, status) {
  const all = [];
  for (let cursor = '', page = 0; page < 5; page++) {
    const r = await hub.call('listApprovals', { status, limit: 200, ...(cursor ? { cursor } : {}) });
    all.push(...r.approvals);
    if (!r.nextCursor) break;
    cursor = r.nextCursor;
  }
  return all;
}

/** Card is one approval. */
class Card {
  /** @param {Ctx} ctx @param {Hub} hub @param {Approval} approval @param {() => void} dismiss */
  constructor(ctx, hub, approval, dismiss) {
    this.ctx = ctx;
    this.hub = hub;
    this.approval = approval;
    this.dismissed = dismiss;
    this.clientRequestId = key();
    this.asking = false;
    /** @type {ReturnType<typeof schemaForm>|null} */
    this.edited = null;
    const id = `approval-${approval.approvalId}`;
    this.left = h('span', {});
    this.since = h('span', {});
    this.answerPlace = h('div', { class: 'approval-edit' });
    this.comment = /** @type {HTMLInputElement} */ (h('input', { type: 'text', id: `${id}-comment`, maxlength: '1000', dir: 'auto', autocomplete: 'off' }));
    this.approve = h('button', { type: 'button', class: 'primary', on: { click: () => this.answer('approved') } }, 'Approve');
    this.reject = h('button', { type: 'button', class: 'danger', on: { click: () => this.answer('rejected') } }, 'Reject');
    this.edit = h('button', { type: 'button', on: { click: () => this.toggleEdit() } }, 'Edit the arguments');
    this.said = h('p', { class: 'approval-said foreign', dir: 'auto', role: 'status' });
    this.refused = h('p', { class: 'refused foreign', dir: 'auto', role: 'alert' });
    this.controls = h('div', { class: 'approval-controls' },
      h('div', { class: 'field' }, h('label', { for: `${id}-comment` }, 'Comment'), this.comment), this.approve, this.reject, this.edit);
    this.element = h('article', { class: 'approval', 'aria-labelledby': id, 'data-approval': approval.approvalId },
      h('h2', { id, class: 'foreign', dir: 'auto' }, visible(approval.title)), this.head(), body(approval), this.answerPlace, this.said, this.refused, this.controls);
    this.draw();
  }

  head() {
    const a = this.approval;
    const seq = seqOf(a.approvalId);
    return h('p', { class: 'approval-head muted' },
      h('bdi', { class: 'foreign' }, visible(a.agentId)), ` asks in turn ${a.turn}, `, this.since, '. ', this.left, ' ',
      h('a', { class: 'foreign', href: `#/c/${encodeURIComponent(a.conversationId)}/${seq}` }, `Conversation ${visible(a.conversationId)}, event ${seq}`));
  }

  tick() {
    const now = this.hub.now();
    replace(this.since, ago(Date.parse(this.approval.requestedAt), now));
    const left = Date.parse(this.approval.expiresAt) - now;
    const pending = this.approval.status === 'pending';
    replace(this.left, pending ? (left > 0 ? `${duration(left)} are left.` : 'Its time is over.') : null);
    this.left.classList.toggle('urgent', pending && left < 60_000);
  }

  /** @param {Approval} approval */
  update(approval) {
    const was = this.approval;
    this.approval = approval;
    if (was.status !== approval.status || was.mayAnswer !== approval.mayAnswer) this.draw();
  }

  /** gone finds out what became of one that is listed no more. */
  async gone() {
    if (this.asking || this.approval.status !== 'pending') return;
    this.asking = true;
    try {
      this.update(await this.hub.call('getApproval', { approvalId: this.approval.approvalId }));
    } catch (err) {
      if (/** @type {any} */ (err).reason === 'not_found') this.dismissed();
    } finally {
      this.asking = false;
    }
  }

  draw() {
    const a = this.approval;
    this.tick();
    this.element.dataset.status = a.status;
    const pending = a.status === 'pending';
    const why = !pending ? '' : a.mayAnswer ? '' : this.whyNot();
    this.controls.hidden = !pending || why !== '';
    this.edit.hidden = a.answerSchema === undefined;
    if (!pending) {
      this.edited = null;
      replace(this.answerPlace, a.answer === undefined ? null : [h('h3', {}, 'Answered with'), code(a.answer)]);
    }
    replace(this.said, pending ? why : [visible(outcome(a, this.hub.now())), ' ', h('button', { type: 'button', class: 'quiet', on: { click: this.dismissed } }, 'Dismiss')]);
  }

  whyNot() {
    if (!this.hub.may('approve')) return 'You may not answer: your token lacks the scope approve.';
    return 'You may not answer this one: only people and peers of the conversation may, and nobody whose token may speak as who asks.';
  }

  toggleEdit() {
    if (this.edited) {
      this.edited = null;
      replace(this.answerPlace);
      replace(this.edit, 'Edit the arguments');
      replace(this.approve, 'Approve');
      return;
    }
    const details = /** @type {any} */ (this.approval.details);
    this.edited = schemaForm(this.approval.answerSchema, details?.arguments);
    replace(this.answerPlace, h('h3', {}, 'Instead, with these arguments'), this.edited.element);
    replace(this.edit, 'Leave the arguments as they are');
    replace(this.approve, 'Approve with these arguments');
    /** @type {HTMLElement|null} */ (this.answerPlace.querySelector('input, textarea, select'))?.focus();
  }

  /** @param {'approved'|'rejected'} decision */
  async answer(decision) {
    if (this.asking) return;
    replace(this.refused);
    /** @type {Record<string, any>} */
    const params = { approvalId: this.approval.approvalId, decision, clientRequestId: this.clientRequestId };
    if (this.comment.value) params.comment = this.comment.value;
    if (decision === 'approved' && this.edited) {
      const { value, errors } = this.edited.value();
      const rest = this.edited.show(errors);
      if (errors.length > 0) {
        replace(this.refused, visible(['Some arguments are not right yet.', ...rest.map((e) => `${e.path}: ${e.message}`)].join(' ')));
        return;
      }
      params.answer = value;
    }
    this.asking = true;
    this.approve.disabled = this.reject.disabled = true;
    try {
      this.update(await this.hub.call('resolveApproval', params));
    } catch (err) {
      this.clientRequestId = /** @type {any} */ (err).reason === 'outcome_unknown' ? this.clientRequestId : key();
      await this.wasRefused(err);
    } finally {
      this.asking = false;
      this.approve.disabled = this.reject.disabled = false;
    }
  }

  /** wasRefused says why, and who was first where somebody was. @param {unknown} err */
  async wasRefused(err) {
    if (/** @type {any} */ (err).reason !== 'already_resolved') {
      replace(this.refused, visible(problem(err)));
      return;
    }
    replace(this.refused, 'Somebody was first.');
    try {
      this.update(await this.hub.call('getApproval', { approvalId: this.approval.approvalId }));
    } catch {
      replace(this.refused, visible(problem(err)));
    }
  }
}

/** body shows what is to be decided on. @param {Approval} a */
function body(a) {
  const d = /** @type {any} */ (a.details);
  if (d === undefined || d === null) return h('p', { class: 'muted' }, 'There is no more to it than its title.');
  if (typeof d.tool !== 'string') return h('div', { class: 'approval-body' }, h('h3', {}, 'What it is about'), code(d), inexact(d));
  const { tool, agent, arguments: args, injected_args: injected, ...rest } = d;
  if (injected !== undefined && !isFull(injected)) rest.injected_args = injected; // nothing is left out of what is decided on
  if (agent !== undefined && typeof agent !== 'string') rest.agent = agent;
  return h('div', { class: 'approval-body' },
    h('p', {}, 'Tool ', h('code', { class: 'foreign tool' }, visible(tool)), typeof agent === 'string' ? [' of agent ', h('bdi', { class: 'foreign' }, visible(agent))] : null),
    h('h3', {}, 'Arguments'), args === undefined ? h('p', { class: 'muted' }, 'There are none.') : code(args),
    inexact(d),
    isFull(injected) ? h('div', { class: 'injected' }, h('h3', {}, 'What the agent says of it'),
      h('p', { class: 'muted' }, 'These are for you: the tool does not get them.'), injectedRows(injected)) : null,
    Object.keys(rest).length > 0 ? [h('h3', {}, 'Besides'), code(rest)] : null);
}

/** isInexact reports whether a value has a number of which a browser keeps less than was written. @param {unknown} v @returns {boolean} */
function isInexact(v) {
  if (typeof v === 'number') return !Number.isFinite(v) || (Number.isInteger(v) && !Number.isSafeInteger(v));
  return typeof v === 'object' && v !== null && Object.values(v).some(isInexact);
}

/** inexact says that a number is not shown as it was written. @param {unknown} d */
function inexact(d) {
  return isInexact(d) ? h('p', { class: 'warning' }, 'A number here is larger than a browser can show exactly: read it with parley tail before you answer.') : null;
}

/** @param {unknown} v */
function isFull(v) {
  return typeof v === 'object' && v !== null && Object.keys(v).length > 0;
}

/** @param {Record<string, unknown>} injected */
function injectedRows(injected) {
  return h('dl', {}, Object.entries(injected).map(([name, value]) => [
    h('dt', { class: 'foreign' }, visible(name)), h('dd', { class: 'foreign', dir: 'auto' }, typeof value === 'string' ? visible(value) : code(value))]));
}

/** @param {unknown} value */
function code(value) {
  return h('pre', { class: 'code foreign', dir: 'ltr', tabindex: '0', role: 'region', 'aria-label': 'JSON' }, visible(json(value)));
}

/** outcome says how one has ended. @param {Approval} a @param {number} now */
function outcome(a, now) {
  const when = a.resolvedAt ? ` ${ago(Date.parse(a.resolvedAt), now)} (${time(Date.parse(a.resolvedAt))})` : '';
  const comment = a.comment ? `: “${a.comment}”` : '';
  switch (a.status) {
    case 'approved':
      return `${a.by ?? 'Somebody'} has approved it${a.answer === undefined ? '' : ' with other arguments'}${when}${comment}`;
    case 'rejected':
      return `${a.by ?? 'Somebody'} has rejected it${when}${comment}`;
    case 'timed_out':
      return `Nobody has answered in time: it is not approved${when}.`;
    case 'canceled':
      return `Its turn has ended: nobody needs an answer${when}.`;
  }
  return a.status;
}

/** @param {string} approvalId */
function seqOf(approvalId) {
  return Number(approvalId.slice(approvalId.lastIndexOf('.') + 1)) || 1;
}

/**
 * view is the inbox.
 * @param {Ctx} ctx
 * @returns {HTMLElement}
 */
export function view(ctx) {
  ctx.title('Approvals');
  return new Approvals(ctx);
}
