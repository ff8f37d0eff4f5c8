// Starting a session of an agent, with a form made of what it takes.
import { define, h, listen, replace } from './dom.js';
import { visible } from './format.js';
import { key } from './hub.js';
import { problem } from './dialog.js';
import { schemaForm } from './form.js';
import { seatsOf } from './seats.js';

/** @typedef {import('./app.js').Ctx} Ctx */
/** @typedef {import('./protocol.js').AgentInfo} AgentInfo */

/** What an agent takes that says nothing else. */
const promptOnly = { type: 'object', properties: { prompt: { type: 'string', minLength: 1, description: 'What it is to do.' } }, required: ['prompt'] };

class Start extends HTMLElement {
  /** @param {Ctx} ctx @param {string} name @param {string} parent */
  constructor(ctx, name, parent) {
    super();
    this.ctx = ctx;
    this.name = name;
    this.clientRequestId = key();
    this.print = '';
    this.busy = false;
    /** @type {ReturnType<typeof schemaForm>|null} */
    this.parameters = null;
    this.about = h('p', { class: 'muted foreign', dir: 'auto' }, 'Reading.');
    this.place = h('div', {});
    this.parent = /** @type {HTMLInputElement} */ (h('input', { type: 'text', id: 'start-parent', autocomplete: 'off', maxlength: '64', value: parent }));
    this.mode = /** @type {HTMLSelectElement} */ (h('select', { id: 'start-mode' },
      h('option', { value: 'async_poll' }, 'Begin, and follow it here'), h('option', { value: 'async_callback' }, 'Tell the parent conversation when it has ended')));
    this.button = h('button', { type: 'submit', class: 'primary' }, 'Start');
    this.refused = h('p', { class: 'refused foreign', dir: 'auto', role: 'alert' });
    this.form = h('form', { class: 'start-form', hidden: true },
      h('h2', {}, 'Parameters'), this.place,
      h('h2', {}, 'How'), h('div', { class: 'fields' },
        h('div', { class: 'field' }, h('label', { for: 'start-parent' }, 'Parent conversation'), this.parent,
          h('p', { class: 'field-hint', id: 'start-parent-about' }, 'It is told of the start and of the end. Empty: none.')),
        h('div', { class: 'field' }, h('label', { for: 'start-mode' }, 'Mode'), this.mode)),
      this.refused, this.button);
    this.parent.setAttribute('aria-describedby', 'start-parent-about');
  }

  connectedCallback() {
    this.stop = new AbortController();
    if (!this.firstChild) {
      this.append(h('div', { class: 'view-head' }, h('h1', {}, 'Start ', h('bdi', { class: 'foreign' }, visible(this.name)))), this.about, this.form);
    }
    listen(this.form, 'submit', (e) => {
      e.preventDefault();
      this.start();
    }, this.stop.signal);
    listen(this.parent, 'input', () => this.agree(), this.stop.signal);
    this.agree();
    this.read();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  /** agree offers the callback where there is somebody to call. */
  agree() {
    const callback = this.mode.options[1];
    if (!callback) return;
    callback.disabled = this.parent.value.trim() === '';
    if (callback.disabled) this.mode.value = 'async_poll';
  }

  async read() {
    if (this.parameters) return;
    try {
      const { agents } = await this.ctx.hub.call('listAgents', {}, { signal: this.stop?.signal });
      const agent = named(agents, this.name);
      if (!agent) {
        replace(this.about, 'There is no agent of this name now.');
        return;
      }
      this.show(agent);
    } catch (err) {
      if (this.isConnected) replace(this.about, visible(problem(err)));
    }
  }

  /** @param {AgentInfo} agent */
  show(agent) {
    replace(this.about, visible(agent.description || 'It says nothing of itself.'), agent.online ? null : ' It is not online: the session waits for it.');
    this.parameters = schemaForm(agent.parameters_schema ?? promptOnly, undefined);
    replace(this.place, this.parameters.element);
    this.form.hidden = false;
    const why = this.ctx.hub.may('create') ? '' : 'Your token lacks the scope create: it starts nothing.';
    this.button.disabled = why !== '';
    replace(this.refused, why);
  }

  async start() {
    if (!this.parameters || this.busy) return;
    replace(this.refused);
    const { value, errors } = this.parameters.value();
    if (this.wrong(errors)) return;
    const parent = this.parent.value.trim();
    const params = { agentName: this.name, parameters: value, mode: this.mode.value, ...(parent ? { parentConversationId: parent } : {}) };
    const print = JSON.stringify(params);
    if (print !== this.print) Object.assign(this, { print, clientRequestId: key() }); // the same call again is the same session
    this.busy = true;
    this.button.disabled = true;
    try {
      const session = await (await this.caller(parent)).call('startSession', { ...params, clientRequestId: this.clientRequestId });
      this.ctx.go(`/c/${encodeURIComponent(session.sessionId)}`);
    } catch (err) {
      const told = /** @type {any} */ (err).data?.validation_errors;
      if (!Array.isArray(told) || !this.wrong(told)) replace(this.refused, visible(problem(err)));
    } finally {
      this.busy = false;
      this.button.disabled = false;
    }
  }

  /** caller gives who starts it: one that takes part in the parent. @param {string} parent */
  async caller(parent) {
    const { hub } = this.ctx;
    if (parent === '') return hub;
    const { participants } = await hub.call('getConversation', { conversationId: parent, limit: 1 });
    const seats = seatsOf(participants, hub.me);
    return hub.as(seats.some((s) => s.id === hub.me.agentId) ? hub.me.agentId : seats[0]?.id ?? hub.me.agentId);
  }

  /** wrong shows errors at their fields, and says whether there were any. @param {{path: string, message: string}[]} errors */
  wrong(errors) {
    const rest = this.parameters?.show(errors) ?? errors;
    if (errors.length === 0) return false;
    replace(this.refused, visible(['Some parameters are not right yet.', ...rest.map((e) => `${e.path}: ${e.message}`)].join(' ')));
    return true;
  }
}
define('parley-start', Start);

/** @param {AgentInfo[]} agents @param {string} name */
function named(agents, name) {
  return agents.find((a) => a.name === name) ?? agents.find((a) => `${a.name}@${a.runner_id}` === name);
}

/**
 * view is the page that starts an agent; parent is the conversation out of which.
 * @param {Ctx} ctx
 * @param {string} name
 * @param {string|URLSearchParams} [parent]
 * @returns {HTMLElement}
 */
export function view(ctx, name, parent) {
  ctx.title(`Start ${name}`);
  const from = parent instanceof URLSearchParams ? parent.get('parent') : parent;
  return new Start(ctx, name, from ?? '');
}
