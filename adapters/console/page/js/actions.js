// What one may do to a conversation, and from one of its events.
import { define, h } from './dom.js';
import { visible } from './format.js';
import { key } from './hub.js';
import { ask, labelled, problem } from './dialog.js';
import { actor, seatsOf } from './seats.js';

/** @typedef {import('./app.js').Ctx} Ctx */
/** @typedef {import('./model.js').Conversation} Conversation */
/** @typedef {{name: string, why: (ctx: Ctx, c: Conversation) => string, open: (ctx: Ctx, c: Conversation) => void}} Action */

/** What one may do to a session: it is neither forked nor closed, and nobody is added to it. @type {Action[]} */
const ofSession = [
  { name: 'Interrupt turn…', why: whyNoInterrupt, open: interrupt },
  { name: 'Note…', why: whyNoNote, open: note },
  { name: 'Stop session…', why: whyNoStop, open: stop },
];

/** @type {Action[]} */
const ofConversation = [
  { name: 'Interrupt turn…', why: whyNoInterrupt, open: interrupt },
  { name: 'Note…', why: whyNoNote, open: note },
  { name: 'Add participant…', why: whyNoSeat, open: addParticipant },
  { name: 'Start session…', why: whyNoStart, open: (ctx, c) => void start(ctx, c) },
  { name: 'Fork…', why: whyNoFork, open: (ctx, c) => fork(ctx, c, lastShared(c)) },
  { name: 'Close…', why: whyNoClose, open: close },
];

class Actions extends HTMLElement {
  /** @param {Ctx} ctx @param {Conversation} conversation */
  constructor(ctx, conversation) {
    super();
    this.ctx = ctx;
    this.conversation = conversation;
    /** @type {number|undefined} */
    this.frame = undefined;
    this.all = conversation.snapshot.session ? ofSession : ofConversation;
    this.buttons = this.all.map((a) => h('button', { type: 'button', on: { click: () => this.press(a) } }, a.name));
  }

  connectedCallback() {
    if (!this.firstChild) this.append(h('div', { class: 'actions', role: 'group', 'aria-label': 'What you may do' }, this.buttons));
    this.off = this.conversation.listen((change) => {
      if (change.kind !== 'delta') this.soon();
    });
    this.show();
  }

  disconnectedCallback() {
    this.off?.();
    cancelAnimationFrame(this.frame ?? 0);
    this.frame = undefined;
  }

  soon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.show();
    });
  }

  show() {
    this.all.forEach((a, i) => {
      const button = this.buttons[i];
      if (!button) return;
      const why = a.why(this.ctx, this.conversation);
      button.setAttribute('aria-disabled', String(why !== '')); // not disabled: the focus reaches it, and the reason is told
      button.title = why;
      if (why) button.setAttribute('aria-description', why);
      else button.removeAttribute('aria-description');
    });
  }

  /** @param {Action} a */
  press(a) {
    const why = a.why(this.ctx, this.conversation);
    if (why) this.ctx.say(why, 'error');
    else a.open(this.ctx, this.conversation);
  }
}
define('parley-actions', Actions);

/** @param {Ctx} ctx @param {Conversation} c */
function acting(ctx, c) {
  return ctx.hub.as(actor(c.snapshot.participants, ctx.hub.me));
}

/** seated gives who adds to it: admins have no seat by being admins. @param {Ctx} ctx @param {Conversation} c */
function seated(ctx, c) {
  const seats = seatsOf(c.snapshot.participants, ctx.hub.me);
  return ctx.hub.as(seats.some((s) => s.id === ctx.hub.me.agentId) ? ctx.hub.me.agentId : seats[0]?.id ?? ctx.hub.me.agentId);
}

/** @param {Ctx} ctx @param {string} scope */
function whyNoScope(ctx, scope) {
  return ctx.hub.may(scope) ? '' : `Your token lacks the scope ${scope}.`;
}

/** @param {Ctx} ctx @param {Conversation} c */
function whyNoWrite(ctx, c) {
  if (c.snapshot.status === 'closed') return 'The conversation is closed.';
  return whyNoScope(ctx, 'write');
}

/** @param {Ctx} ctx @param {Conversation} c whether the caller has made it, or is an admin */
function isCreator(ctx, c) {
  const { me } = ctx.hub;
  return ctx.hub.may('admin') || me.agentId === c.snapshot.createdBy || (me.agents?.includes(c.snapshot.createdBy) ?? false);
}

/** @param {Ctx} ctx @param {Conversation} c whether the caller has the seat of a person */
function isPerson(ctx, c) {
  const people = new Set(c.snapshot.participants.filter((/** @type {any} */ p) => p.kind === 'human').map((/** @type {any} */ p) => p.id));
  return seatsOf(c.snapshot.participants, ctx.hub.me).some((s) => people.has(s.id));
}

/** @param {Ctx} ctx @param {Conversation} c */
function whyNoInterrupt(ctx, c) {
  return whyNoWrite(ctx, c) || (c.snapshot.openTurn || c.guidance?.speaker ? '' : 'Nobody has the floor.');
}

/** @param {Ctx} ctx @param {Conversation} c */
function whyNoNote(ctx, c) {
  return whyNoWrite(ctx, c) || (seatsOf(c.snapshot.participants, ctx.hub.me).length > 0 ? '' : 'You have no seat here.');
}

/** @param {Ctx} ctx @param {Conversation} c */
function whyNoStart(ctx, c) {
  if (c.snapshot.status === 'closed') return 'The conversation is closed.';
  return whyNoScope(ctx, 'create') || (seatsOf(c.snapshot.participants, ctx.hub.me).length > 0 ? '' : 'You have no seat here.');
}

/** @param {Ctx} ctx @param {Conversation} c */
function whyNoSeat(ctx, c) {
  return whyNoWrite(ctx, c) || (isCreator(ctx, c) ? '' : 'Only its creator and admins add participants.');
}

/** @param {Ctx} ctx @param {Conversation} c */
function whyNoFork(ctx, c) {
  if (c.snapshot.session) return 'Sessions are not forked.';
  return whyNoScope(ctx, 'create') || (isCreator(ctx, c) || isPerson(ctx, c) ? '' : 'Only its creator, its human participants and admins fork it.');
}

/** whyNoStop leaves it to the hub who of the people around a session may stop it. @param {Ctx} ctx @param {Conversation} c */
function whyNoStop(ctx, c) {
  return c.snapshot.status === 'closed' ? 'The session ended.' : whyNoScope(ctx, 'write');
}

/** @param {Ctx} ctx @param {Conversation} c */
function whyNoClose(ctx, c) {
  return whyNoWrite(ctx, c) || (isCreator(ctx, c) || isPerson(ctx, c) ? '' : 'Only its creator, its human participants and admins close it.');
}

/** @param {Conversation} c */
function interrupted(c) {
  return c.snapshot.openTurn?.turn ?? c.guidance?.turn ?? c.snapshot.turn;
}

/** @param {Ctx} ctx @param {Conversation} c */
function interrupt(ctx, c) {
  const turn = interrupted(c);
  const who = c.snapshot.openTurn?.owner ?? c.guidance?.speaker ?? '';
  const reason = /** @type {HTMLInputElement} */ (h('input', { type: 'text', maxlength: '1000', autocomplete: 'off' }));
  ask({
    title: `Interrupt turn ${turn}`, action: 'Interrupt', danger: true,
    children: [
      h('p', {}, `The turn of `, h('bdi', { class: 'foreign' }, visible(who)), ' ends without its final message; what was said in it stays. The floor goes on.'),
      labelled('Reason', reason, 'All participants read it.'),
    ],
    run: async () => {
      await acting(ctx, c).call('cancelTurn', { conversationId: c.id, turn, ...(reason.value ? { reason: reason.value } : {}) });
      ctx.say(`Turn ${turn} was interrupted.`);
      return null;
    },
  });
}

/** @param {Ctx} ctx @param {Conversation} c */
function note(ctx, c) {
  const schema = /** @type {HTMLInputElement} */ (h('input', { type: 'text', value: 'remark', required: true, autocomplete: 'off' }));
  const text = /** @type {HTMLTextAreaElement} */ (h('textarea', { rows: '4', dir: 'auto', required: true }));
  const clientRequestId = key();
  ask({
    title: 'Add a note', action: 'Add the note',
    children: [
      h('p', {}, 'As ', h('bdi', { class: 'foreign' }, visible(seated(ctx, c).me.agentId)), '. All participants read it. It moves no turn, whoever has the floor.'),
      labelled('Note', text, 'Text, or JSON where it begins with { or [.'), labelled('Name of its schema', schema),
    ],
    run: async () => {
      await seated(ctx, c).call('sendNote', { conversationId: c.id, payload: { schema: schema.value, data: noted(text.value) }, clientRequestId });
      ctx.say('The note was added.');
      return null;
    },
  });
}

/** @param {string} text */
function noted(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch (err) {
    throw new Error(`The note is not JSON: ${err instanceof Error ? err.message : err}`);
  }
}

/** @param {Ctx} ctx @param {Conversation} c */
function addParticipant(ctx, c) {
  const id = /** @type {HTMLInputElement} */ (h('input', { type: 'text', required: true, autocomplete: 'off', maxlength: '64' }));
  const kind = /** @type {HTMLSelectElement} */ (h('select', {}, ['human', 'agent', 'tool', 'peer'].map((k) => h('option', { value: k }, k))));
  const agent = /** @type {HTMLInputElement} */ (h('input', { type: 'text', autocomplete: 'off', maxlength: '64' }));
  const role = /** @type {HTMLInputElement} */ (h('input', { type: 'text', autocomplete: 'off', maxlength: '64' }));
  ask({
    title: 'Add a participant', action: 'Add',
    children: [
      labelled('Id', id, 'What tokens speak as: letters, digits and . _ - , beginning with a letter or digit.'), labelled('Kind', kind),
      labelled('Agent', agent, 'The name of the agent that sits there, for agents and tools. Empty: the id.'), labelled('Role', role),
    ],
    run: async () => {
      const participant = { id: id.value.trim(), kind: kind.value, ...(agent.value ? { agent: agent.value.trim() } : {}), ...(role.value ? { role: role.value } : {}) };
      await acting(ctx, c).call('addParticipant', { conversationId: c.id, participant });
      ctx.say(`${visible(participant.id)} takes part now.`);
      return null;
    },
  });
}

/** start leads to the form of an agent, whose session is then one of this conversation. @param {Ctx} ctx @param {Conversation} c */
async function start(ctx, c) {
  /** @type {import('./protocol.js').AgentInfo[]} */
  let agents = [];
  try {
    ({ agents } = await ctx.hub.call('listAgents'));
  } catch (err) {
    ctx.say(problem(err), 'error');
    return;
  }
  if (agents.length === 0) {
    ctx.say('No agent is here that can be asked to do something.', 'error');
    return;
  }
  const agent = /** @type {HTMLSelectElement} */ (h('select', {}, agents.map((a) => h('option', { value: a.name }, `${visible(a.name)}${a.online ? '' : ' (not online)'}`))));
  ask({
    title: 'Start a session', action: 'Go on',
    children: [h('p', {}, 'This conversation is told of its start and of its end. What the agent takes is asked for next.'), labelled('Agent', agent)],
    run: async () => {
      ctx.go(`/start/${encodeURIComponent(agent.value)}?parent=${encodeURIComponent(c.id)}`);
      return null;
    },
  });
}

/** @param {Ctx} ctx @param {Conversation} c */
function close(ctx, c) {
  const status = /** @type {HTMLSelectElement} */ (h('select', {}, ['completed', 'failed', 'canceled'].map((s) => h('option', { value: s }, s))));
  const reason = /** @type {HTMLInputElement} */ (h('input', { type: 'text', maxlength: '1000', autocomplete: 'off' }));
  ask({
    title: 'Close the conversation', action: 'Close for good', danger: true,
    children: [h('p', {}, 'Nothing is added any more. Sessions that were started out of it are stopped.'), labelled('Outcome', status), labelled('Reason', reason, 'All participants read it.')],
    run: async () => {
      const outcome = { status: status.value, ...(reason.value ? { reason: reason.value } : {}) };
      await acting(ctx, c).call('closeConversation', { conversationId: c.id, outcome });
      return null;
    },
  });
}

/** @param {Ctx} ctx @param {Conversation} c */
function stop(ctx, c) {
  const reason = /** @type {HTMLInputElement} */ (h('input', { type: 'text', maxlength: '1000', autocomplete: 'off' }));
  const starter = c.snapshot.createdBy;
  const caller = ctx.hub.may('admin') || !ctx.hub.maySpeakAs(starter) ? ctx.hub : ctx.hub.as(starter);
  ask({
    title: 'Stop the session', action: 'Stop for good', danger: true,
    children: [
      h('p', {}, 'Its agent is told to end, and what it has said so far stays. Sessions that it has started are stopped too, and the conversation that it was started out of is told.'),
      labelled('Reason', reason, 'Who has started it reads it.'),
    ],
    run: async () => {
      await caller.call('stopSession', { sessionId: c.id, ...(reason.value ? { reason: reason.value } : {}) });
      return null;
    },
  });
}

/** lastShared is the last seq that a fork may share: the event that closes a conversation stays behind. @param {Conversation} c */
function lastShared(c) {
  return c.snapshot.status === 'closed' ? Math.max(1, c.latestSeq - 1) : c.latestSeq;
}

/** @param {Ctx} ctx @param {Conversation} c @param {number} seq */
function fork(ctx, c, seq) {
  const title = /** @type {HTMLInputElement} */ (h('input', { type: 'text', maxlength: '250', autocomplete: 'off', dir: 'auto', value: c.snapshot.title ?? '' }));
  const at = /** @type {HTMLInputElement} */ (h('input', { type: 'number', min: '1', max: String(lastShared(c)), required: true, value: String(seq) }));
  const clientRequestId = key();
  ask({
    title: 'Fork the conversation', action: 'Fork',
    children: [
      h('p', {}, 'A new conversation begins with the same events, byte for byte, and goes on by itself. This one stays as it is.'),
      labelled('Up to event', at), labelled('Title', title),
    ],
    run: async () => {
      const named = title.value !== '' && title.value !== c.snapshot.title ? { title: title.value } : {};
      const made = await acting(ctx, c).call('forkConversation', { conversationId: c.id, seq: Number(at.value), ...named, clientRequestId });
      const id = encodeURIComponent(made.conversationId);
      return [
        h('p', {}, `The fork shares ${at.value} events with this conversation.`),
        h('p', { class: 'links' }, h('a', { href: `#/c/${id}` }, 'Open the fork'), h('a', { href: `#/compare/${encodeURIComponent(c.id)}/${id}` }, 'Compare side by side')),
      ];
    },
  });
}

/**
 * actions are the buttons in the head of a conversation.
 * @param {Ctx} ctx
 * @param {Conversation} conversation
 * @returns {HTMLElement}
 */
export function actions(ctx, conversation) {
  return new Actions(ctx, conversation);
}

/**
 * eventActions are what stands in the menu of an event.
 * @param {Ctx} ctx
 * @param {Conversation} conversation
 * @param {{seq: number}} event
 * @returns {HTMLElement[]}
 */
export function eventActions(ctx, conversation, event) {
  const whyNot = event.seq > lastShared(conversation) ? 'A fork does not share the event that closes.' : whyNoFork(ctx, conversation);
  return [
    h('button', { type: 'button', disabled: whyNot !== '', title: whyNot, on: { click: () => fork(ctx, conversation, event.seq) } }, 'Fork from here…'),
    h('button', { type: 'button', on: { click: () => copyLink(ctx, conversation, event.seq) } }, 'Copy link'),
    h('button', {
      type: 'button', on: { click: (/** @type {any} */ e) => e.currentTarget.dispatchEvent(new CustomEvent('parley-explain', { bubbles: true, composed: true, detail: { seq: event.seq } })) },
    }, 'Explain'),
  ];
}

/** @param {Ctx} ctx @param {Conversation} c @param {number} seq */
async function copyLink(ctx, c, seq) {
  const url = new URL(location.href);
  url.hash = `/c/${encodeURIComponent(c.id)}/${seq}`;
  try {
    await navigator.clipboard.writeText(url.href);
    ctx.say(`The link to event ${seq} was copied.`);
  } catch {
    ctx.go(`/c/${encodeURIComponent(c.id)}/${seq}`);
    ctx.say('The browser does not let this page copy: the link stands in the address bar.');
  }
}
