// Events in words: one sentence for each kind of system event, and one line for each kind of trace.

import { bytes, count, duration, shorten } from './format.js';
import { isObject, kindOf, payloadOf, tokensOf } from './fold.js';

/** @typedef {import('./fold.js').LogEvent} LogEvent */
/**
 * A part of a sentence: a plain word, or one that somebody else has chosen, which is marked as such; with who, the seq, the conversation or the time that it names.
 * @typedef {string | {foreign: string, who?: boolean, seq?: number, conversation?: string}} Part
 */

/** @param {unknown} v @returns {string} */
const str = (v) => (typeof v === 'string' ? v : v === undefined || v === null ? '' : JSON.stringify(v) ?? '');
/** @param {unknown} v @returns {Part} */
const who = (v) => ({ foreign: str(v), who: true });
/** @param {unknown} v @returns {Part} */
const foreign = (v) => ({ foreign: shorten(str(v), 400) });
/** @param {number} seq @returns {Part} */
const place = (seq) => ({ foreign: `#${seq}`, seq });
/** @param {unknown} id @param {number} [seq] @returns {Part} */
const link = (id, seq) => ({ foreign: str(id), conversation: str(id), seq });

/** @type {Record<string, string>} */
const ends = {
  expired: 'was not renewed in time', declined: 'was given back for another executor', silent: 'ended without a final message', failed: 'failed', disconnected: 'lost its executor',
  restarted: 'ended because the hub was started again', yielded: 'passed its turn on',
};
/** @type {Record<string, string>} */
const statuses = { approved: 'approved', rejected: 'rejected', timed_out: 'not answered in time', canceled: 'canceled' };

/** of gives what a table has under a name that somebody else has chosen: not what every object has. @template T @param {Record<string, T>} table @param {string} name @returns {T | undefined} */
const of = (table, name) => (Object.hasOwn(table, name) ? table[name] : undefined);

/** @type {Record<string, (p: Record<string, any>, e: LogEvent) => Part[]>} */
const system = {
  conversation_created: (p) => [who(p.createdBy), p.session ? ' started the session of ' : ' began the conversation', ...(isObject(p.session) ? [foreign(p.session.agent)] : []),
    ...(p.title ? [': ', foreign(p.title)] : []), '. Policy ', foreign(isObject(p.policy) ? p.policy.kind : 'round_robin'), '.',
    ...(isObject(p.session) && p.session.parent ? [' Started out of ', link(p.session.parent), '.'] : [])],
  conversation_forked: (p, e) => [who(p.createdBy), ' forked this from ', link(p.fork?.conversationId, Number(p.fork?.seq) || undefined), ` at #${Number(p.fork?.seq) || 0}`,
    p.title ? ': ' : '.', ...(p.title ? [foreign(p.title)] : []), e.seq > 1 ? ' What is above is the same in both.' : ''],
  participant_added: (p) => [who(p.addedBy), ' added ', who(p.participant?.id), ` (${str(p.participant?.kind) || 'participant'}`, ...(p.participant?.role ? [', ', foreign(p.participant.role)] : []), ').'],
  participant_private: (p) => ['Private, for ', who(p.participantId), ' alone:'],
  note: (p, e) => [who(e.from), ' noted ', foreign(p.schema || 'something'), '.'],
  attachment_added: (p, e) => [who(e.from), ' added a file.'],
  turn_claimed: (p) => [who(p.agentId), ` claimed turn ${p.turn}, attempt ${p.attempt}`, ...(p.executorId ? [', by executor ', foreign(p.executorId)] : []),
    ...(p.runner && p.runner !== p.executorId ? [' of ', foreign(p.runner)] : []), p.internal ? ', in the hub' : '', `, for ${duration(Number(p.durationMs) || 0)}.`],
  claim_renewed: (p) => [p.reason === 'disconnected' ? `Who has claimed turn ${p.turn} is not connected, and has ${duration(Number(p.durationMs) || 0)} to be back.`
    : `The claim of turn ${p.turn} was renewed for ${duration(Number(p.durationMs) || 0)}.`],
  turn_ended: (p) => [`Turn ${p.turn} of `, who(p.agentId), ` was ${str(p.reason)}`, ...(p.detail ? [': ', foreign(p.detail)] : ['.'])],
  turn_reoffered: (p) => [`Turn ${p.turn} is offered to `, who(p.agentId), ' anew, with no attempts.'],
  session_started: (p) => [who(p.agentId), ' started ', foreign(p.agent), ' as ', link(p.sessionId), p.mode ? ` (${str(p.mode)})` : '', '.'],
  session_ended: (p) => ['The session ', link(p.sessionId), ' ended: ', foreign(p.status), '.'],
  session_bound: (p) => ['The runner ', foreign(p.runnerRef?.runnerId), ' took the session.'],
  approval_requested: (p) => [who(p.agentId), ' asks for approval: ', foreign(p.approval?.title)],
  approval_details: () => ['What is to be approved:'],
  approval_resolved: (p) => ['The approval was ', of(statuses, str(p.approval?.status)) ?? foreign(p.approval?.status), ...(p.approval?.by ? [' by ', who(p.approval.by)] : []),
    ...(p.approval?.comment ? [': ', foreign(p.approval.comment)] : ['.'])],
  approval_answer: () => ['The answer:'],
  trigger_matched: (p) => wakes(p),
  trigger_ended: (p) => ['What ', place(Number(p.trigger?.seq) || 0), ' woke', ...(p.trigger?.agentId ? [', ', who(p.trigger.agentId), ','] : []), ' ended: ', foreign(p.trigger?.reason),
    ...(p.detail ? [', ', foreign(p.detail)] : []), '.'],
};

/** @param {Record<string, any>} p @returns {Part[]} */
function wakes(p) {
  const all = Array.isArray(p.trigger?.wakes) ? p.trigger.wakes.filter(isObject) : [];
  /** @type {Part[]} */
  const parts = [place(Number(p.trigger?.seq) || 0), ' wakes '];
  all.forEach((/** @type {Record<string, any>} */ w, /** @type {number} */ i) => {
    if (i > 0) parts.push(', ');
    parts.push(who(w.agentId || w.agent), ` (selector ${w.selector}`);
    if (w.sessionId) parts.push(', session ', link(w.sessionId));
    if (w.stopped) parts.push(', stopped by ', foreign(w.stopped));
    parts.push(')');
  });
  parts.push('.');
  return parts;
}

/** A system event as a sentence. @param {LogEvent} e @param {number} [attempt] that of the claim that it is about @returns {Part[]} */
export function sentence(e, attempt) {
  const p = payloadOf(e);
  const kind = kindOf(e);
  if (kind === 'claim_ended') return claimEnded(p, attempt);
  return of(system, kind)?.(p, e) ?? [who(e.from), ': ', foreign(kind || e.type)];
}

/** @param {Record<string, any>} p @param {number} [attempt] @returns {Part[]} */
function claimEnded(p, attempt) {
  const how = of(ends, str(p.reason));
  /** @type {Part[]} */
  const parts = [attempt ? `Attempt ${attempt} at turn ${p.turn} ` : `The claim of turn ${p.turn} `, how ?? 'ended: ', ...(how ? [] : [foreign(p.reason)])];
  if (p.detail) parts.push(' (', foreign(p.detail), ')');
  parts.push('.');
  if (p.resetFrom) parts.push(' What it said from ', place(Number(p.resetFrom)), ' on is withdrawn.');
  return parts;
}

/** Why what was said does not count. @param {import('./fold.js').Withdrawal} w @returns {string} */
export function withdrawn(w) {
  return w.attempt ? `withdrawn: attempt ${w.attempt} ${w.reason}` : `withdrawn: ${w.reason}`;
}

/** @type {Record<string, string>} */
const names = {
  llm_step: 'model', llm_tool_started: 'tool', llm_tool_result: 'tool', llm_tool_progress: 'tool progress', llm_plan: 'plan', llm_compacted: 'context', llm_tools: 'tools', llm_usage: 'usage',
  agent_config: 'config', stderr: 'stderr', error: 'error', progress: 'progress', context: 'context', claim_renewed: 'renewal',
};

/** The group that a trace belongs to. @param {LogEvent} e @returns {string} */
export function groupOf(e) {
  return of(names, kindOf(e)) ?? (kindOf(e) || e.type);
}

/** What one of a group is called where there may be several. @type {Record<string, string>} */
const nouns = { model: 'model step', tool: 'tool step', plan: 'plan', config: 'config', renewal: 'renewal' };

/** How many of each group there are, and of which tools: "3 model steps, 2 tool steps (search)". @param {LogEvent[]} events @returns {string} */
export function groups(events) {
  /** @type {Map<string, number>} */
  const n = new Map();
  for (const e of events) n.set(groupOf(e), (n.get(groupOf(e)) ?? 0) + 1);
  const tools = [...new Set(events.filter((e) => groupOf(e) === 'tool').map((e) => str(isObject(payloadOf(e).data) ? payloadOf(e).data.tool : '')).filter(Boolean))];
  const named = tools.length > 0 ? ` (${shorten(tools.join(', '), 80)})` : '';
  return [...n].map(([name, k]) => {
    const noun = of(nouns, name);
    return `${noun ? count(k, noun) : `${k} ${shorten(name, 40)}`}${name === 'tool' ? named : ''}`;
  }).join(', ');
}

/** A line of parts, whatever they are: what is said nothing of is left out. @param {...unknown} parts @returns {string} */
const line = (...parts) => parts.filter(Boolean).map((v) => shorten(str(v), 300)).join(' · ');

/** One line that says what a trace has. @param {LogEvent} e @returns {string} */
export function gist(e) {
  const p = payloadOf(e);
  const d = isObject(p.data) ? p.data : {};
  switch (kindOf(e)) {
    case 'llm_step':
      return line(d.phase, d.model, d.finish, tokens(d.usage), took(d.elapsed_ms), cost(d.cost_usd), said(d.message));
    case 'llm_tool_started':
      return line(d.tool, 'runs', shorten(str(d.arguments), 200));
    case 'llm_tool_result':
      return line(d.tool, isObject(d.metadata) ? d.metadata.status : '', took(d.duration_ms), d.error, shorten(str(d.text), 200));
    case 'llm_usage':
      return line(tokens(d.usage ?? d), cost(d.cost_usd), took(d.elapsed_ms)) || shorten(str(p.data), 200);
    case 'agent_config':
      return line(d.provider, d.model, typeof d.sha256 === 'string' ? d.sha256.slice(0, 12) : '');
  }
  return shorten(str(p.text) || (p.data === undefined ? '' : str(p.data)), 300);
}

/** @param {unknown} usage @returns {string} */
function tokens(usage) {
  const n = tokensOf(usage);
  return n ? `${n.input} in, ${n.output} out` : '';
}

/** What was used, in words: tokens, and what they cost. @param {import('./fold.js').Used} used @returns {string} */
export function usedWords(used) {
  return `${used.input.toLocaleString()} tokens in, ${used.output.toLocaleString()} out${used.cost > 0 ? `, ${cost(used.cost)}` : ''}`;
}

/** @param {unknown} ms @returns {string} */
const took = (ms) => (typeof ms === 'number' ? duration(ms) : '');
/** @param {unknown} usd @returns {string} */
const cost = (usd) => (typeof usd === 'number' ? `$${usd.toFixed(4)}` : '');

/** @param {unknown} message @returns {string} */
function said(message) {
  if (!isObject(message)) return '';
  for (const key of ['text', 'content']) if (typeof message[key] === 'string') return shorten(message[key], 200);
  const calls = message.tool_calls ?? message.calls;
  if (Array.isArray(calls)) return calls.filter(isObject).map((c) => `calls ${str(c.name ?? c.tool)}`).join(', ');
  return '';
}

/** What is announced of a new message to who cannot see it. @param {LogEvent} e @returns {string} */
export function announcement(e) {
  const p = payloadOf(e);
  if (e.type !== 'message') return '';
  const words = typeof p.text === 'string' ? p.text : p.result ? 'gave its result' : Array.isArray(p.attachments) ? 'sent files' : 'sent data';
  return `${e.from}: ${shorten(words, 240)}`;
}

/** A size in words, where there is one. @param {unknown} size @returns {string} */
export function sizeOf(size) {
  return typeof size === 'number' ? bytes(size) : '';
}
