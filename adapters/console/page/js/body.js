// What a message holds: its words, data, files, and what a session takes or gives.

import { h } from './dom.js';
import { shorten, visible } from './format.js';
import { callbacksOf, isObject, payloadOf } from './fold.js';
import { jsonView, longText } from './tree.js';
import { sizeOf } from './words.js';

/**
 * @typedef {import('./fold.js').LogEvent} LogEvent
 * @typedef {import('./dom.js').Child} Child
 */

/** How much of a text is shown at first. */
const TEXT = 6000;

/** An address in a text; what is not http or https is only words. */
const address = /\bhttps?:\/\/[^\s<>"'`\u0000-\u0020\u007f-\u00a0\u2028\u2029]+/g;

/** A text with its addresses as links. Nothing else in it means anything. @param {string} text @returns {Child[]} */
export function linked(text) {
  /** @type {Child[]} */
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(address)) {
    const at = found.index ?? 0;
    const url = found[0].replace(/[.,;:!?)\]}]+$/, '');
    if (url.length > 2000 || visible(url) !== url || !URL.canParse(url)) continue;
    parts.push(visible(text.slice(from, at)), h('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, url));
    from = at + url.length;
  }
  parts.push(visible(text.slice(from)));
  return parts;
}

/** The body of a message. @param {any} ctx @param {any} conversation @param {LogEvent} e @param {(seq: number) => void} jump @returns {Child[]} */
export function messageBody(ctx, conversation, e, jump) {
  const p = payloadOf(e);
  const callbacks = callbacksOf(e);
  /** @type {Child[]} */
  const parts = [];
  const twice = isWritten(p.text, p.data);
  if (typeof p.text === 'string' && !twice) parts.push(longText(p.text, TEXT, 'div', linked));
  if (callbacks.length > 0) parts.push(callbackList(conversation, callbacks, jump));
  if (isObject(p.result)) parts.push(resultView(ctx, conversation, p.result));
  if (p.parameters !== undefined) parts.push(labelled('Parameters', jsonView(p.parameters)));
  if (p.data !== undefined && callbacks.length === 0) parts.push(labelled(`${typeof p.schema === 'string' ? p.schema : 'Data'}${twice ? ', the same as its text' : ''}`, jsonView(p.data)));
  if (Array.isArray(p.attachments)) parts.push(files(ctx, conversation, p.attachments));
  const known = new Set(['text', 'data', 'schema', 'tags', 'attachments', 'parameters', 'result']);
  const others = Object.entries(p).filter(([name]) => !known.has(name));
  if (others.length > 0) parts.push(labelled('More', jsonView(Object.fromEntries(others))));
  return parts;
}

/** Whether a text is a value as it is written in JSON, and so says nothing more. @param {unknown} text @param {unknown} value @returns {boolean} */
function isWritten(text, value) {
  if (typeof text !== 'string' || !isObject(value) || text.length > TEXT) return false;
  return [undefined, 2].some((indent) => JSON.stringify(value, null, indent) === text.trim());
}

/** @param {string} label @param {HTMLElement} view @returns {HTMLElement} */
export function labelled(label, view) {
  return h('div', { class: 'labelled' }, h('span', { class: 'label muted foreign', dir: 'auto' }, visible(shorten(label, 120))), view);
}

/** The result of a session. @param {any} ctx @param {any} conversation @param {Record<string, any>} r @returns {HTMLElement} */
export function resultView(ctx, conversation, r) {
  return h('div', { class: 'result' },
    h('span', { class: 'label muted' }, 'Result'),
    typeof r.error === 'string' && r.error !== '' ? h('p', { class: 'problem foreign', dir: 'auto' }, visible(shorten(r.error, TEXT))) : null,
    typeof r.result_text === 'string' && !isWritten(r.result_text, r.result_data) ? longText(r.result_text, TEXT, 'div', linked) : null,
    r.result_data !== undefined ? jsonView(r.result_data) : null,
    typeof r.exit_code === 'number' ? h('p', { class: 'muted' }, `exit code ${r.exit_code}`) : null,
    Array.isArray(r.validation_errors) ? labelled('Not as its output_schema says', jsonView(r.validation_errors)) : null,
    isObject(r.attachment) ? files(ctx, conversation, [r.attachment]) : null,
    r.omitted ? h('p', { class: 'muted' }, 'The result is too large to stand here. The session has it.') : null);
}

/** @param {any} conversation @param {Record<string, any>[]} callbacks @param {(seq: number) => void} jump @returns {HTMLElement} */
function callbackList(conversation, callbacks, jump) {
  return h('ul', { class: 'callbacks' }, callbacks.map((c) => {
    const id = String(c.child_session_id ?? '');
    const started = conversation.fold.sessions.get(id)?.started ?? 0;
    return h('li', null,
      h('span', { class: `chip status-${statusClass(c.status)}` }, visible(String(c.status ?? ''))), ' ',
      h('strong', { class: 'foreign', dir: 'auto' }, visible(shorten(String(c.agent_name ?? ''), 200))), ' ',
      h('a', { href: `#/c/${encodeURIComponent(id)}`, class: 'foreign', dir: 'auto' }, visible(id)), ' ',
      started > 0 ? h('button', { type: 'button', class: 'quiet', on: { click: () => jump(started) } }, `started at #${started}`) : null,
      isObject(c.result) ? resultView(conversation.ctx, null, c.result) : null);
  }));
}

/** How long arguments may be to stand in one line. */
const ONE_LINE = 300;

/** What is to be approved: the tool with its arguments, and what the agent says of it. @param {unknown} d @returns {HTMLElement} */
export function asked(d) {
  if (!isObject(d) || typeof d.tool !== 'string') return jsonView(d);
  const { tool, agent, arguments: args, injected_args: told, ...rest } = d;
  if (agent !== undefined && typeof agent !== 'string') rest.agent = agent;
  const line = JSON.stringify(args) ?? '';
  const says = isObject(told) ? Object.entries(told) : [];
  if (told !== undefined && says.length === 0) rest.injected_args = told;
  return h('div', { class: 'asked' },
    h('p', null, h('code', { class: 'foreign' }, visible(tool)), line.length <= ONE_LINE ? [' ', h('code', { class: 'foreign muted' }, visible(line))] : null,
      typeof agent === 'string' ? [h('span', { class: 'muted' }, ' of agent '), h('bdi', { class: 'foreign' }, visible(shorten(agent, 200)))] : null),
    says.map(([name, v]) => h('p', null, h('span', { class: 'muted foreign', dir: 'auto' }, `${visible(name)}: `), h('span', { class: 'foreign', dir: 'auto' }, visible(shorten(typeof v === 'string' ? v : JSON.stringify(v), TEXT))))),
    line.length > ONE_LINE ? jsonView(args) : null,
    Object.keys(rest).length > 0 ? jsonView(rest) : null);
}

/** A status as a class, where it is one that the style knows. @param {unknown} status @returns {string} */
export function statusClass(status) {
  const known = ['pending', 'running', 'input_required', 'completed', 'failed', 'stopped', 'canceled', 'approved', 'rejected', 'timed_out', 'active', 'closed'];
  return typeof status === 'string' && known.includes(status) ? status : 'other';
}

/**
 * Files of a conversation: name, size, type, and a way to get them.
 * @param {any} ctx @param {any} conversation null where it is another's, and nothing can be got @param {any[]} attachments @returns {HTMLElement}
 */
export function files(ctx, conversation, attachments) {
  return h('ul', { class: 'files' }, attachments.filter(isObject).map((a) => {
    const hash = String(a.sha256 ?? '');
    const added = conversation?.fold.files.get(hash);
    const name = (typeof a.name === 'string' && a.name) || added?.name || `${hash.slice(0, 12)}.bin`;
    const type = (typeof a.mediaType === 'string' && a.mediaType) || added?.mediaType || '';
    const get = h('button', { type: 'button', class: 'quiet', 'aria-label': `Download ${visible(name)}` }, 'Download');
    get.addEventListener('click', () => void download(ctx, conversation.id, hash, name, get));
    return h('li', null,
      h('span', { class: 'foreign', dir: 'auto', title: hash }, visible(shorten(name, 255))),
      h('span', { class: 'muted' }, [sizeOf(a.size ?? added?.size), visible(shorten(type, 127))].filter(Boolean).join(' · ')),
      conversation ? get : null);
  }));
}

/** Gets a file and gives it to the browser to keep. It is never shown. @param {any} ctx @param {string} id @param {string} hash @param {string} name @param {HTMLButtonElement} button */
async function download(ctx, id, hash, name, button) {
  if (!/^[0-9a-f]{64}$/.test(hash)) return ctx.say('This names no file.', 'error');
  button.disabled = true;
  try {
    const base = location.pathname.replace(/\/console\/?$/, '');
    const headers = { Authorization: `Bearer ${ctx.hub.token}`, 'Parley-Agent': ctx.hub.me.agentId };
    const answer = await fetch(`${base}/attachments/${hash}?conversationId=${encodeURIComponent(id)}`, { headers, credentials: 'omit', referrerPolicy: 'no-referrer' });
    if (!answer.ok) throw new Error(await refusal(answer));
    const url = URL.createObjectURL(new Blob([await answer.arrayBuffer()], { type: 'application/octet-stream' }));
    const a = h('a', { href: url, download: visible(name) });
    a.click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (err) {
    ctx.say(`The file could not be read: ${err instanceof Error ? err.message : String(err)}`, 'error');
  } finally {
    button.disabled = false;
  }
}

/** @param {Response} answer @returns {Promise<string>} */
async function refusal(answer) {
  const problem = await answer.json().catch(() => null);
  return isObject(problem) && typeof problem.detail === 'string' ? problem.detail : `the hub answered ${answer.status}`;
}
