// Taking part: the place to speak from, below a conversation.
import { define, h, listen, replace } from './dom.js';
import { shorten, visible } from './format.js';
import { key } from './hub.js';
import { empty, load, save } from './draft.js';
import { firstSeat, seatsOf, takesHints } from './seats.js';
import { problem } from './dialog.js';
import { upload } from './upload.js';

export { actions, eventActions } from './actions.js';

/** @typedef {import('./app.js').Ctx} Ctx */
/** @typedef {import('./model.js').Conversation} Conversation */
/** @typedef {import('./protocol.js').Guidance} Guidance */

/** How often at most the guidance of all seats is asked for while the floor is where it was. */
const refreshMs = 500;

class Composer extends HTMLElement {
  /** @param {Ctx} ctx @param {Conversation} conversation */
  constructor(ctx, conversation) {
    super();
    this.ctx = ctx;
    this.conversation = conversation;
    this.draft = load(conversation.id);
    /** @type {Map<string, Guidance>} what each seat was told last */
    this.told = new Map();
    /** @type {File[]} */
    this.files = [];
    this.sending = false;
    this.asked = 0;
    this.floor = '';
    this.timer = 0;
    this.chosen = this.draft.seat !== '';
    this.seat = /** @type {HTMLSelectElement} */ (h('select', { id: 'speak-as' }));
    this.where = h('p', { class: 'guidance foreign', dir: 'auto', role: 'status' });
    this.warning = h('p', { class: 'warning' });
    this.text = /** @type {HTMLTextAreaElement} */ (h('textarea', { id: 'speak-text', rows: '2', placeholder: 'Message', dir: 'auto', value: this.draft.text }));
    this.data = /** @type {HTMLTextAreaElement} */ (h('textarea', { id: 'speak-data', rows: '4', class: 'code', spellcheck: 'false', value: this.draft.data }));
    this.schema = /** @type {HTMLInputElement} */ (h('input', { id: 'speak-schema', type: 'text', autocomplete: 'off', value: this.draft.schema }));
    this.picked = /** @type {HTMLInputElement} */ (h('input', { id: 'speak-files', type: 'file', multiple: true }));
    this.pickedList = h('ul', { class: 'files' });
    this.finality = choice('speak-finality', [['turn', 'End my turn'], ['none', 'Keep my turn'], ['conversation', 'End the conversation']], this.draft.finality);
    this.next = /** @type {HTMLSelectElement} */ (h('select', { id: 'speak-next' }));
    this.status = choice('speak-outcome', [['completed', 'completed'], ['failed', 'failed'], ['canceled', 'canceled']], this.draft.status);
    this.reason = /** @type {HTMLInputElement} */ (h('input', { id: 'speak-reason', type: 'text', maxlength: '1000', value: this.draft.reason }));
    this.send = h('button', { type: 'submit', class: 'primary', 'aria-keyshortcuts': 'Control+Enter' }, 'Send');
    this.refused = h('p', { class: 'refused foreign', dir: 'auto', role: 'alert' });
    this.nextField = field('Next', this.next);
    this.outcomeField = h('div', { class: 'fields' }, field('Outcome', this.status), field('Reason', this.reason));
    this.more = h('details', { class: 'more' }, h('summary', {}, 'Data and files'),
      field('Data (JSON)', this.data), field('Name of its schema', this.schema), field('Files', this.picked), this.pickedList);
    this.form = h('form', { class: 'composer-form' },
      h('div', { class: 'composer-head' }, field('Speak as', this.seat), this.where), this.warning,
      field('Message', this.text), this.more,
      h('div', { class: 'composer-foot' }, field('Then', this.finality), this.nextField, this.outcomeField, this.send), this.refused);
  }

  connectedCallback() {
    this.stop = new AbortController();
    const { signal } = this.stop;
    if (!this.firstChild) {
      this.append(h('section', { class: 'composer', 'aria-label': 'Speak' }, this.form));
    }
    this.more.open = this.draft.data !== '' || this.draft.schema !== '';
    listen(this.form, 'submit', (e) => {
      e.preventDefault();
      this.say();
    }, signal);
    listen(this.form, 'input', () => this.keep(), signal);
    listen(this.text, 'keydown', (e) => {
      if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      this.form.requestSubmit();
    }, signal);
    listen(this.seat, 'change', () => {
      this.chosen = true;
      this.keep();
      this.show();
    }, signal);
    listen(this.finality, 'change', () => this.show(), signal);
    listen(this.picked, 'change', () => this.pick(), signal);
    this.off = this.conversation.listen((change) => {
      if (change.kind === 'guidance') this.hear();
      if (change.kind !== 'delta') this.changed();
    });
    this.changed();
    this.show();
  }

  disconnectedCallback() {
    this.stop?.abort();
    this.off?.();
    clearTimeout(this.timer);
    this.timer = 0;
  }

  /** changed asks again what each seat is told: at once when somebody else may have the floor, and else not more often than every refreshMs. */
  changed() {
    const { turn, status, openTurn, participants } = this.conversation.snapshot;
    const floor = JSON.stringify([turn, status, openTurn?.owner, participants.length]);
    const moved = floor !== this.floor;
    this.floor = floor;
    if (moved) {
      clearTimeout(this.timer);
      this.timer = 0;
      this.show();
    }
    if (this.timer !== 0) return;
    const wait = moved ? 0 : Math.max(0, this.asked + refreshMs - Date.now());
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.asked = Date.now();
      this.ask();
    }, wait);
  }

  async ask() {
    const { hub } = this.ctx;
    try {
      const all = await hub.call('explain', { conversationId: this.conversation.id }, { signal: this.stop?.signal });
      this.told = new Map(all.guidance.map((/** @type {{participantId: string, guidance: Guidance}} */ row) => [row.participantId, row.guidance]));
    } catch {
      // what was told stands until the hub is back; the page says that it is away
    }
    if (this.isConnected) this.hear();
  }

  /** hear takes what the caller's own seat is told without asking, unless it is of a turn before. */
  hear() {
    const own = this.conversation.guidance;
    if (own && own.turn >= (this.told.get(this.ctx.hub.me.agentId)?.turn ?? 0)) this.told.set(this.ctx.hub.me.agentId, /** @type {Guidance} */ (own));
    this.show();
  }

  /** show draws what may be said now, and by whom. */
  show() {
    const { participants, policy, status } = this.conversation.snapshot;
    const { hub } = this.ctx;
    const seats = seatsOf(participants, hub.me);
    const maySpeak = (/** @type {string} */ id) => this.told.get(id)?.kind === 'may_speak';
    if (!this.chosen || !seats.some((s) => s.id === this.draft.seat)) this.draft.seat = firstSeat(seats, hub.me, maySpeak);
    options(this.seat, seats.map((s) => [s.id, s.id + (s.program ? ' (a program)' : '') + (maySpeak(s.id) ? ' — may speak' : '')]), this.draft.seat);
    const seat = seats.find((s) => s.id === this.draft.seat);
    const others = participants.filter((/** @type {{id: string}} */ p) => p.id !== seat?.id);
    options(this.next, [['', 'Not named'], ...others.map((/** @type {{id: string}} */ p) => /** @type {[string, string]} */ ([p.id, p.id]))], this.draft.next);
    const guidance = seat && this.told.get(seat.id);
    const why = this.whyNot(status, seat, guidance);
    replace(this.where, visible(why || guidance?.reason || ''));
    this.where.classList.toggle('may', why === '');
    replace(this.warning, seat?.program ? `You would speak in the place of ${visible(seat.id)}, which is a program. All participants read it as its words.` : null);
    this.warning.hidden = !seat?.program;
    this.nextField.hidden = !takesHints(policy) || this.finality.value !== 'turn';
    this.outcomeField.hidden = this.finality.value !== 'conversation';
    this.form.hidden = false;
    const closed = status === 'closed';
    for (const el of [this.text, this.data, this.schema, this.picked, this.finality]) el.disabled = closed || !seat;
    const old = (guidance?.turn ?? 0) < (this.conversation.snapshot.turn ?? 0); // the turn that it tells of is over: the next answer of the hub counts
    this.send.disabled = why !== '' || old || this.sending;
    this.send.title = why;
    this.classList.toggle('closed', closed);
  }

  /**
   * whyNot says why nothing can be sent, or is empty.
   * @param {string} status
   * @param {{id: string}|undefined} seat
   * @param {Guidance|undefined} guidance
   */
  whyNot(status, seat, guidance) {
    if (status === 'closed') return 'The conversation is closed.';
    if (!this.ctx.hub.may('write')) return 'Your token only reads: it lacks the scope write.';
    if (!seat) return 'You have no seat here: you read along.';
    if (!guidance) return 'Asking the hub whose turn it is.';
    return guidance.kind === 'may_speak' ? '' : guidance.reason;
  }

  keep() {
    Object.assign(this.draft, {
      seat: this.seat.value, text: this.text.value, data: this.data.value, schema: this.schema.value, finality: this.finality.value,
      next: this.next.value, status: this.status.value, reason: this.reason.value,
    });
    save(this.conversation.id, this.draft);
  }

  pick() {
    this.files.push(...(this.picked.files ?? []));
    this.picked.value = '';
    this.showFiles();
  }

  showFiles() {
    replace(this.pickedList, this.files.map((file) => h('li', {}, h('span', { class: 'foreign', dir: 'auto' }, visible(shorten(file.name, 80))), ' ',
      h('button', { type: 'button', class: 'quiet', 'aria-label': `Remove ${visible(file.name)}`, on: { click: () => {
        this.files = this.files.filter((f) => f !== file);
        this.showFiles();
        this.picked.focus();
      } } }, 'Remove'))));
  }

  async say() {
    if (this.sending || this.send.disabled) return;
    this.keep();
    replace(this.refused);
    this.sending = true;
    this.show();
    try {
      await this.post();
      this.said();
    } catch (err) {
      const now = /** @type {any} */ (err).data?.guidance;
      if (now) this.told.set(this.draft.seat, now);
      replace(this.refused, visible(whyRefused(err)), this.draft.text || this.files.length ? ' What you wrote is kept.' : null);
      this.changed();
    } finally {
      this.sending = false;
      this.show();
    }
  }

  async post() {
    const d = this.draft;
    const { id, latestSeq } = this.conversation;
    const turn = this.told.get(d.seat)?.turn; // as they stand when Send was pressed: uploads take time
    const hub = this.ctx.hub.as(d.seat);
    const attachments = [];
    for (const file of this.files) attachments.push(await upload(hub, id, file));
    const said = message(d, attachments, this.nextField.hidden);
    const print = JSON.stringify([d.seat, said]);
    if (d.key === '' || d.print !== print) Object.assign(d, { key: key(), print });
    save(id, d); // so that a page that is read again repeats this very message, and adds none
    await hub.call('sendMessage', { conversationId: id, ...said, ...(turn ? { turn } : {}), afterSeq: latestSeq, clientRequestId: d.key });
  }

  said() {
    const { seat, finality } = this.draft;
    this.draft = { ...empty(), seat: this.chosen ? seat : '', finality: finality === 'none' ? 'none' : 'turn' };
    for (const el of [this.text, this.data, this.schema, this.reason]) el.value = '';
    this.finality.value = this.draft.finality;
    this.files = [];
    this.showFiles();
    this.more.open = false;
    save(this.conversation.id, this.draft);
    this.text.focus();
  }
}
define('parley-composer', Composer);

/**
 * message makes what sendMessage takes of a draft.
 * @param {import('./draft.js').Draft} d
 * @param {import('./upload.js').Attachment[]} attachments
 * @param {boolean} noHint
 */
function message(d, attachments, noHint) {
  /** @type {Record<string, any>} */
  const payload = {};
  if (d.text !== '') payload.text = d.text;
  if (d.data.trim() !== '') payload.data = parsed(d.data);
  if (d.schema !== '') payload.schema = d.schema;
  if (attachments.length > 0) payload.attachments = attachments;
  if (payload.text === undefined && payload.data === undefined && attachments.length === 0) throw new Error('There is nothing to send yet.');
  /** @type {Record<string, any>} */
  const said = { payload, finality: d.finality };
  if (d.finality === 'conversation') said.outcome = { status: d.status, ...(d.reason ? { reason: d.reason } : {}) };
  if (d.finality === 'turn' && d.next !== '' && !noHint) said.turnHint = { next: d.next };
  return said;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`The data is not JSON: ${err instanceof Error ? err.message : err}`);
  }
}

/** @type {Record<string, string>} */
const refusals = {
  turn_conflict: 'Somebody has spoken meanwhile. Read it, and send again if you still mean it.',
  turn_closed: 'This turn has ended meanwhile.',
  not_your_turn: 'It is not the turn of this seat.',
  conversation_closed: 'The conversation was closed meanwhile.',
  outcome_unknown: 'The connection was lost before the hub has answered. Send again: it is said once.',
  unavailable: 'The hub is away. Send again when it is back: it is said once.',
};

/** @param {unknown} err */
function whyRefused(err) {
  const reason = /** @type {any} */ (err).reason;
  const known = typeof reason === 'string' ? refusals[reason] : undefined;
  return known ? `${known} (${problem(err)})` : problem(err);
}

/** @param {string} text @param {HTMLElement} control */
function field(text, control) {
  return h('div', { class: 'field' }, h('label', { for: control.id }, text), control);
}

/** @param {string} id @param {[string, string][]} all @param {string} value */
function choice(id, all, value) {
  const select = /** @type {HTMLSelectElement} */ (h('select', { id }));
  options(select, all, value);
  return select;
}

/** options gives a select its options, unless it has them: one that is open stays as it is. @param {HTMLSelectElement} select @param {[string, string][]} all @param {string} value */
function options(select, all, value) {
  const print = JSON.stringify(all);
  if (select.dataset.options !== print) {
    replace(select, all.map(([v, name]) => h('option', { value: v }, visible(name))));
    select.dataset.options = print;
  }
  select.value = all.some(([v]) => v === value) ? value : all[0]?.[0] ?? '';
}

/**
 * composer is the place to speak from.
 * @param {Ctx} ctx
 * @param {Conversation} conversation
 * @returns {HTMLElement}
 */
export function composer(ctx, conversation) {
  return new Composer(ctx, conversation);
}
