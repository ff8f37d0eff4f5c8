// What the events of a conversation say together: its turns, claims, attempts, sessions, approvals and tool calls. All of it follows from the log alone: there is no page and no
// clock here.

/**
 * @typedef {{seq: number, turn?: number, type: string, from: string, at: string, finality?: string, outcome?: Outcome, turnHint?: {next: string}, payload: any,
 *   clientRequestId?: string, cause?: {conversationId?: string, seq: number}, hops?: number, traceparent?: string}} LogEvent
 * @typedef {{status: string, reason?: string}} Outcome
 * @typedef {{id: string, kind: string, agent?: string, executor?: string, role?: string}} Participant
 * @typedef {{turn: number, hash: string, agentId: string, executorId?: string, runner?: string, attempt: number, seq: number, deadlineMs: number, paused: boolean, ended?: string,
 *   endedSeq?: number}} Claim
 * @typedef {{turn: number, from: number, to: number, attempt: number, reason: string, seq: number}} Withdrawal
 * What a turn has used: tokens, and USD where the price is known; whole is true once the agent has told the sum itself.
 * @typedef {{input: number, output: number, cost: number, whole: boolean}} Used
 * @typedef {{turn: number, owner: string, first: number, last: number, began: number, at: number, used: Used | null, ended?: string}} Turn
 * @typedef {{sessionId: string, agent: string, agentId: string, mode: string, started: number, ended: number, status: string, callback: number}} SessionOf
 * @typedef {{approvalId: string, title: string, agentId: string, requested: number, resolved: number, status: string, by?: string, expiresAt?: string}} ApprovalOf
 * @typedef {{conversationId: string, seq: number, hash: string}} ForkOf
 */

/** The time of an event, in Unix ms. @param {LogEvent} e @returns {number} */
export function timeOf(e) {
  const ms = Date.parse(e.at);
  return Number.isFinite(ms) ? ms : 0;
}

/** Whether v is an object that is no list. @param {unknown} v @returns {v is Record<string, any>} */
export function isObject(v) {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

/** The payload as an object, whatever it is. @param {LogEvent} e @returns {Record<string, any>} */
export function payloadOf(e) {
  return isObject(e.payload) ? e.payload : {};
}

/** The kind of a system event or trace. @param {LogEvent} e @returns {string} */
export function kindOf(e) {
  const kind = payloadOf(e).kind;
  return typeof kind === 'string' ? kind : '';
}

/** The callbacks that a message of the hub brings, none where it is another message. @param {LogEvent} e @returns {Record<string, any>[]} */
export function callbacksOf(e) {
  if (e.type !== 'message' || e.from !== 'hub') return [];
  const data = payloadOf(e).data;
  if (!isObject(data) || !Array.isArray(data.callbacks)) return [];
  return data.callbacks.filter(isObject);
}

/** @param {unknown} v @returns {string} */
const text = (v) => (typeof v === 'string' ? v : '');
/** @param {unknown} v @returns {number} */
const number = (v) => (typeof v === 'number' && Number.isFinite(v) ? v : 0);

/** A fold of events in the order of their seqs. It may begin in the middle of a log: then it knows less, and says nothing wrong. */
export class Fold {
  constructor() {
    /** @type {Map<number, Turn>} */
    this.turns = new Map();
    /** @type {Map<string, Claim>} */
    this.claims = new Map();
    /** The claim that stands. @type {Claim | null} */
    this.claim = null;
    /** What was withdrawn, by turn. @type {Map<number, Withdrawal[]>} */
    this.withdrawals = new Map();
    /** @type {Map<string, SessionOf>} */
    this.sessions = new Map();
    /** @type {Map<string, ApprovalOf>} */
    this.approvals = new Map();
    /** The seq of the trigger_matched that belongs to an event. @type {Map<number, number>} */
    this.matched = new Map();
    /** The seqs of traces of a tool, by turn and key. @type {Map<string, {started: number, ended: number}>} */
    this.tools = new Map();
    /** The agent configurations that turns ran with, by turn: the last one told. @type {Map<number, {seq: number, data: Record<string, any>}>} */
    this.configs = new Map();
    /** The files that were added, by SHA-256. @type {Map<string, {size: number, name: string, mediaType: string}>} */
    this.files = new Map();
    /** The seqs that a fork shares with the other: up to this one. */
    this.shared = 0;
    /** @type {ForkOf | null} */
    this.fork = null;
    this.last = 0;
  }

  /** Takes the next event. @param {LogEvent} e */
  step(e) {
    this.last = e.seq;
    if (e.type === 'message' || e.type === 'trace') this.#said(e);
    else if (e.type === 'system') this.#system(e, payloadOf(e));
  }

  /** What all turns have used, or null where none has said so. @returns {Used | null} */
  used() {
    /** @type {Used | null} */
    let sum = null;
    for (const { used } of this.turns.values()) if (used) sum = plus(sum, used);
    return sum;
  }

  /** What has withdrawn an event, or null. @param {LogEvent} e @returns {Withdrawal | null} */
  withdrawnBy(e) {
    if (e.type === 'system' || e.turn === undefined) return null;
    const all = this.withdrawals.get(e.turn);
    return all?.find((w) => e.seq >= w.from && e.seq <= w.to) ?? null;
  }

  /** The traces of one tool call. @param {LogEvent} e @returns {{started: number, ended: number} | undefined} */
  toolOf(e) {
    return this.tools.get(toolKey(e));
  }

  /** @param {LogEvent} e */
  #said(e) {
    if (e.turn === undefined) return;
    const turn = this.#turn(e.turn, e.from, e);
    if (e.type === 'trace') {
      this.#traced(e, turn);
      return;
    }
    for (const c of callbacksOf(e)) {
      const session = this.sessions.get(text(c.child_session_id));
      if (session) session.callback = e.seq;
    }
    if (e.finality !== 'turn' && e.finality !== 'conversation') return;
    turn.ended = e.finality;
    if (this.claim) this.#end(this.claim, e.finality === 'turn' ? 'final' : 'closed', e.seq);
  }

  /** @param {LogEvent} e @param {Turn} turn */
  #traced(e, turn) {
    const kind = kindOf(e);
    const data = payloadOf(e).data;
    const used = kind === 'llm_step' || kind === 'llm_usage' ? usedBy(data) : null;
    if (used && kind === 'llm_usage') turn.used = { ...used, whole: true }; // of the whole turn, earlier attempts too
    else if (used && !turn.used?.whole) turn.used = plus(turn.used, used);
    if (kind === 'llm_tool_started' || kind === 'llm_tool_result') {
      const at = this.tools.get(toolKey(e)) ?? { started: 0, ended: 0 };
      if (kind === 'llm_tool_started') at.started = e.seq;
      else at.ended = e.seq;
      this.tools.set(toolKey(e), at);
    }
    if (kind === 'llm_step' && isObject(data) && data.config_sha256) this.configs.set(e.turn ?? 0, { seq: e.seq, data: { sha256: data.config_sha256, model: data.model, provider: data.provider } });
  }

  /** @param {LogEvent} e @param {Record<string, any>} p */
  #system(e, p) {
    switch (p.kind) {
      case 'turn_claimed':
        return this.#claimed(e, p);
      case 'claim_renewed': {
        const claim = this.claims.get(text(p.claimHash));
        if (claim) claim.deadlineMs = timeOf(e) + number(p.durationMs);
        return;
      }
      case 'claim_ended':
        return this.#claimEnded(e, p);
      case 'turn_ended': {
        this.#turn(number(p.turn), text(p.agentId), e).ended = text(p.reason);
        if (this.claim) this.#end(this.claim, 'turn_ended', e.seq);
        return;
      }
      case 'session_started':
        this.sessions.set(text(p.sessionId), {
          sessionId: text(p.sessionId), agent: text(p.agent), agentId: text(p.agentId), mode: text(p.mode), started: e.seq, ended: 0, status: 'running', callback: 0,
        });
        return;
      case 'session_ended': {
        const session = this.sessions.get(text(p.sessionId));
        if (session) Object.assign(session, { ended: e.seq, status: text(p.status) });
        return;
      }
      case 'approval_requested':
      case 'approval_resolved':
        return this.#approval(e, p);
      case 'trigger_matched':
        if (isObject(p.trigger)) this.matched.set(number(p.trigger.seq), e.seq);
        return;
      case 'attachment_added':
        if (!this.files.has(text(p.sha256))) this.files.set(text(p.sha256), { size: number(p.size), name: text(p.name), mediaType: text(p.mediaType) });
        return;
      case 'conversation_forked':
        return this.#forked(e, p);
    }
  }

  /** @param {LogEvent} e @param {Record<string, any>} p */
  #claimed(e, p) {
    const claim = {
      turn: number(p.turn), hash: text(p.claimHash), agentId: text(p.agentId), executorId: text(p.executorId), runner: text(p.runner), attempt: number(p.attempt), seq: e.seq,
      deadlineMs: timeOf(e) + number(p.durationMs), paused: false,
    };
    this.claims.set(claim.hash, claim);
    this.claim = claim;
    this.#turn(claim.turn, claim.agentId, e);
  }

  /** @param {LogEvent} e @param {Record<string, any>} p */
  #claimEnded(e, p) {
    const claim = this.claims.get(text(p.claimHash));
    if (claim) this.#end(claim, text(p.reason), e.seq);
    const from = number(p.resetFrom);
    if (from === 0) return;
    const turn = number(p.turn);
    const all = this.withdrawals.get(turn) ?? [];
    all.push({ turn, from, to: e.seq, attempt: claim?.attempt ?? 0, reason: text(p.reason), seq: e.seq });
    this.withdrawals.set(turn, all);
  }

  /** @param {LogEvent} e @param {Record<string, any>} p */
  #approval(e, p) {
    const a = isObject(p.approval) ? p.approval : {};
    const id = text(a.approvalId);
    if (p.kind === 'approval_requested') {
      this.approvals.set(id, { approvalId: id, title: text(a.title), agentId: text(p.agentId), requested: e.seq, resolved: 0, status: 'pending', expiresAt: text(a.expiresAt) });
      if (this.claim) this.claim.paused = true;
      return;
    }
    const approval = this.approvals.get(id);
    if (approval) Object.assign(approval, { resolved: e.seq, status: text(a.status), by: text(a.by) });
    if (!this.claim) return;
    this.claim.paused = [...this.approvals.values()].some((one) => one.status === 'pending');
    if (number(p.durationMs) > 0) this.claim.deadlineMs = timeOf(e) + number(p.durationMs);
  }

  /** What waits in the other conversation is none of the fork's. @param {LogEvent} e @param {Record<string, any>} p */
  #forked(e, p) {
    this.shared = e.seq - 1;
    if (isObject(p.fork)) this.fork = { conversationId: text(p.fork.conversationId), seq: number(p.fork.seq), hash: text(p.fork.hash) };
    for (const a of this.approvals.values()) if (a.status === 'pending') a.status = 'left behind';
    for (const s of this.sessions.values()) if (s.ended === 0) s.status = 'left behind';
  }

  /** @param {Claim} claim @param {string} reason @param {number} seq */
  #end(claim, reason, seq) {
    claim.ended = reason;
    claim.endedSeq = seq;
    if (this.claim === claim) this.claim = null;
  }

  /** @param {number} n @param {string} owner @param {LogEvent} e the one that it has now @returns {Turn} */
  #turn(n, owner, e) {
    const at = timeOf(e);
    let turn = this.turns.get(n);
    if (!turn) {
      turn = { turn: n, owner, first: e.seq, last: e.seq, began: at, at, used: null };
      this.turns.set(n, turn);
    }
    turn.last = e.seq;
    turn.at = at;
    return turn;
  }
}

/** The tokens that something tells of, in and out, by any of the names that providers have for them; null where it tells of none. @param {unknown} usage @returns {{input: number, output: number} | null} */
export function tokensOf(usage) {
  if (!isObject(usage)) return null;
  const of = (/** @type {string[]} */ ...keys) => keys.map((k) => usage[k]).find((v) => typeof v === 'number' && Number.isFinite(v));
  const [input, output] = [of('input_tokens', 'prompt_tokens', 'input'), of('output_tokens', 'completion_tokens', 'output')];
  return input === undefined && output === undefined ? null : { input: input ?? 0, output: output ?? 0 };
}

/** @param {unknown} data of a step of a model, or of a whole turn @returns {Used | null} */
function usedBy(data) {
  if (!isObject(data)) return null;
  const tokens = tokensOf(data.usage ?? data);
  return tokens && { ...tokens, cost: number(data.cost_usd), whole: false };
}

/** @param {Used | null} a @param {Used} b @returns {Used} */
function plus(a, b) {
  return a ? { input: a.input + b.input, output: a.output + b.output, cost: a.cost + b.cost, whole: false } : { ...b, whole: false };
}

/** @param {LogEvent} e @returns {string} */
function toolKey(e) {
  const data = payloadOf(e).data;
  const key = isObject(data) ? text(data.key) || text(data.call_id) : '';
  return key === '' ? `#${e.seq}` : `${e.turn} ${key}`;
}

/** Folds events. @param {Iterable<LogEvent>} events @returns {Fold} */
export function foldAll(events) {
  const f = new Fold();
  for (const e of events) f.step(e);
  return f;
}

/**
 * Brings a snapshot up to date with the next event. The participants, the title, the status and the floor change; guidance is told apart.
 * @param {Record<string, any>} snapshot @param {LogEvent} e
 */
export function advance(snapshot, e) {
  if (e.seq <= snapshot.latestSeq) return;
  snapshot.latestSeq = e.seq;
  delete snapshot.headHash;
  if (e.type === 'system') {
    advanceSystem(snapshot, e, payloadOf(e));
    return;
  }
  if (e.turn === undefined) return;
  const ends = e.finality === 'turn' || e.finality === 'conversation';
  if (e.finality === 'conversation') {
    snapshot.status = 'closed';
    snapshot.outcome = e.outcome ?? { status: 'completed' };
    snapshot.turn = e.turn;
    delete snapshot.openTurn;
  } else if (ends) {
    snapshot.turn = e.turn + 1;
    delete snapshot.openTurn;
  } else {
    snapshot.turn = e.turn;
    snapshot.openTurn = { ...snapshot.openTurn, turn: e.turn, owner: e.from };
  }
}

/** @param {Record<string, any>} snapshot @param {LogEvent} e @param {Record<string, any>} p */
function advanceSystem(snapshot, e, p) {
  switch (p.kind) {
    case 'participant_added':
      if (isObject(p.participant)) snapshot.participants = [...snapshot.participants, p.participant];
      return;
    case 'turn_claimed':
      snapshot.turn = number(p.turn);
      snapshot.openTurn = {
        turn: number(p.turn), owner: text(p.agentId),
        claim: { agentId: text(p.agentId), executorId: text(p.executorId), attempt: number(p.attempt), deadlineMs: timeOf(e) + number(p.durationMs) },
      };
      return;
    case 'claim_renewed':
      if (snapshot.openTurn?.claim) {
        const claim = { ...snapshot.openTurn.claim, deadlineMs: timeOf(e) + number(p.durationMs) };
        snapshot.openTurn = { ...snapshot.openTurn, claim };
      }
      return;
    case 'claim_ended':
      if (snapshot.openTurn) {
        const { claim: _, ...rest } = snapshot.openTurn;
        snapshot.openTurn = rest;
      }
      return;
    case 'turn_ended':
      snapshot.turn = number(p.turn) + 1;
      delete snapshot.openTurn;
      return;
    case 'conversation_forked':
      if (isObject(p.fork)) snapshot.fork = p.fork;
      if (text(p.title)) snapshot.title = p.title;
      return;
  }
}
