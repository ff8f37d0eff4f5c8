// How an agent was set up when it ran: its turn says by a digest which configuration that was, and the hub knows what is registered.

import { isObject } from './fold.js';
import { hex, sha256 } from './sha256.js';

/** How many pages of the hub's record of runners are looked through. */
const PAGES = 20;

/** @typedef {{words: string, config?: unknown}} Found */

/** The configuration with which an agent ran in a turn, and how sure that is. @param {any} ctx @param {any} conversation @param {number} turn @param {string} agentId @returns {Promise<Found>} */
export async function configOf(ctx, conversation, turn, agentId) {
  const seat = conversation.snapshot.participants?.find((/** @type {any} */ p) => p.id === agentId);
  const name = seat?.agent || agentId;
  const ran = conversation.fold.configs.get(turn);
  const digest = typeof ran?.data.sha256 === 'string' ? ran.data.sha256 : '';
  const { agents } = await ctx.hub.call('listAgents', { includeConfig: true });
  const now = agents.find((/** @type {any} */ a) => a.name === name);
  if (digest === '') return unknown(now, conversation, turn);
  const model = [ran?.data.provider, ran?.data.model].filter((v) => typeof v === 'string').join(' ');
  const it = `The turn says at #${ran?.seq} that it ran with configuration ${digest.slice(0, 12)}${model ? ` (${model})` : ''}.`;
  if (now?.agent_config !== undefined && (await digestOf(now.agent_config)) === digest) return { words: `${it} It is the one that is registered now.`, config: now.agent_config };
  const earlier = ctx.hub.may('admin') ? await registered(ctx, digest) : undefined;
  if (earlier !== undefined) return { words: `${it} It is not the one that is registered now: it was found in the hub's record of runners.`, config: earlier };
  return { words: `${it} ${now?.agent_config === undefined ? 'You may not see the one that is registered now, or there is none.' : 'The one that is registered now, below, is another.'}`, config: now?.agent_config };
}

/** @param {any} now @param {any} conversation @param {number} turn @returns {Found} */
function unknown(now, conversation, turn) {
  const sees = conversation.events.some((/** @type {any} */ e) => e.type === 'trace' && e.turn === turn);
  const why = sees ? 'Its traces do not say with which configuration it ran.' : 'You see no traces of this turn, so it is not known with which configuration it ran.';
  if (now?.agent_config !== undefined) return { words: `${why} This is the one that is registered now.`, config: now.agent_config };
  return { words: now ? `${why} The agent is registered, and shows you no configuration.` : `${why} No agent of this name is registered now.` };
}

/** The SHA-256 of a configuration in its canonical JSON (RFC 8785), in hex: the one that a turn names it by. @param {unknown} config @returns {Promise<string>} */
export async function digestOf(config) {
  return hex(await sha256(new TextEncoder().encode(canonical(config))));
}

/** The canonical JSON of a value. Half a character, which only JavaScript can have, is U+FFFD, as the hub reads it. @param {unknown} v @returns {string} */
export function canonical(v) {
  if (typeof v === 'string') return JSON.stringify(v.replace(/\p{Surrogate}/gu, '\ufffd'));
  if (Array.isArray(v)) return `[${v.map(canonical).join(',')}]`;
  if (!isObject(v)) return JSON.stringify(v) ?? 'null';
  return `{${Object.keys(v).sort().map((name) => `${canonical(name)}:${canonical(v[name])}`).join(',')}}`;
}

/** The configuration with a digest, from the hub's record of runners. @param {any} ctx @param {string} digest @returns {Promise<unknown>} */
async function registered(ctx, digest) {
  let since = 0;
  for (let i = 0; i < PAGES; i++) {
    const page = await ctx.hub.call('tail', { conversationId: '~runners', sinceSeq: since, limit: 1000 }).catch(() => null);
    if (page === null) return undefined;
    for (const e of page.events) {
      for (const config of configsIn(e.payload)) if ((await digestOf(config)) === digest) return config;
    }
    if (page.nextSeq >= page.latestSeq || page.nextSeq <= since) return undefined;
    since = page.nextSeq;
  }
  return undefined;
}

/** All that is called agent_config in a value. @param {unknown} v @returns {unknown[]} */
function configsIn(v) {
  if (Array.isArray(v)) return v.flatMap(configsIn);
  if (!isObject(v)) return [];
  return Object.entries(v).flatMap(([name, one]) => (name === 'agent_config' ? [one] : configsIn(one)));
}
