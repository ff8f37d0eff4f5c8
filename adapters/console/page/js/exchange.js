// Where the hub is, and how the ticket of a link becomes a token that lasts.

import { HubError } from './refusal.js';

/** @typedef {{token: string, agentId?: string, made?: boolean}} WithToken made: the page has made it, and ends it when its user signs out */
/** @typedef {{ticket: string, agentId: string, agents?: string[], scopes?: string[], workspaces?: string[], conversations?: string[]}} WithTicket */

const tokenLifeMs = 12 * 60 * 60 * 1000;

/**
 * The address of the hub's socket: beside the page, so that a proxy may serve both below a path.
 * @param {string} [query]
 */
export function socketURL(query = '') {
  const url = new URL(location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = url.pathname.replace(/\/console\/?$/, '') + '/rpc';
  url.search = query;
  url.hash = '';
  return url.href;
}

/**
 * Makes a token by a ticket: a ticket opens one socket, and a page that is read again needs more. It lasts for a while, or for as long as that of the ticket, where that
 * ends before.
 * @param {WithTicket} given
 * @returns {Promise<WithToken>}
 */
export function exchange(given) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(socketURL(`?ticket=${encodeURIComponent(given.ticket)}`));
    const { agentId, agents, scopes, workspaces, conversations } = given;
    const wish = { agentId, agents, scopes, workspaces, conversations };
    const ask = (/** @type {number} */ id, /** @type {object} */ params) => socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'createToken', params }));
    socket.onopen = () => ask(1, { ...wish, expiresInMs: tokenLifeMs });
    socket.onmessage = (m) => {
      const reply = JSON.parse(m.data);
      if (reply.id !== 1 && reply.id !== 2) return;
      const err = reply.error && HubError.of(reply.error);
      if (err?.reason === 'forbidden' && reply.id === 1) return ask(2, wish); // it ends with that of the ticket
      socket.onclose = null;
      socket.close();
      if (err) reject(err);
      else resolve({ token: reply.result.token, agentId, made: true });
    };
    socket.onclose = () => reject(new HubError(4010, 'unauthenticated', 'This link has been used, or is too old.'));
  });
}
