// The connection to the hub: JSON-RPC over a WebSocket that is made again whenever it is lost.

import { Calls, key } from './call.js';
import { exchange, socketURL } from './exchange.js';
import { HubError, sessionOver } from './refusal.js';
import { Subscriptions } from './subscription.js';

export { HubError, key };

/** @typedef {'connecting' | 'open' | 'away' | 'refused'} State */
/** @typedef {{agentId: string, agents: string[] | null, scopes: string[]}} Me who the caller is; agents null: may speak as anybody */
/** @typedef {import('./exchange.js').WithToken} WithToken */
/** @typedef {import('./exchange.js').WithTicket} WithTicket */

const silentMs = 20_000; // after this long without a word the hub is asked whether it is there
const answerMs = 10_000; // and it has this long to say so
const firstDelayMs = 250;
const lastDelayMs = 10_000;
const closedUnauthenticated = 4401;

/** A caller of the hub. It speaks as one participant, over a socket of its own. */
export class Hub {
  /**
   * Connects. With a ticket it makes a token of its own, which is `token` from then on.
   * @param {WithToken | WithTicket} credentials
   * @returns {Promise<Hub>}
   */
  static async open(credentials) {
    const given = 'token' in credentials ? credentials : await exchange(credentials);
    const hub = new Hub(given.token, given.agentId ?? '');
    hub.made = given.made ?? false;
    await hub.#ready();
    return hub;
  }

  /** @type {State} */
  state = 'connecting';
  /** @type {Me} */
  me;
  /** The token that it shows. It is kept for the tab, and nowhere else. */
  token;
  /** Whether the page has made that token: then it is for this tab alone. */
  made = false;
  /** Why the hub has refused the token, once state is refused. @type {HubError | null} */
  why = null;
  /** @type {import('./protocol.js').WireLimits | null} */
  limits = null;
  /** @type {string} */
  version = '';

  /** @type {WebSocket | null} */
  #socket = null;
  /** @type {Set<(state: State) => void>} */
  #listeners = new Set();
  /** @type {Map<string, Hub>} */
  #others = new Map();
  #calls = new Calls({ open: () => this.#takesCalls(), send: (frame) => this.#send(frame) });
  #subscriptions = new Subscriptions(this.#calls, () => this.#takesCalls());
  #offset = 0; // hub time less the time of this machine
  #failures = 0;
  #heard = 0;
  #retryAfter = 0;
  #timer = 0;
  #watch = 0;
  #started = false;
  #wasOpen = false;
  #closed = false;
  #agentId;
  #wake = () => this.#now();
  #look = () => this.#visible();

  /**
   * @param {string} token
   * @param {string} agentId
   * @param {Me} [me] what is known of the caller already
   */
  constructor(token, agentId, me) {
    this.token = token;
    this.#agentId = agentId;
    this.me = me ?? { agentId, agents: [], scopes: [] };
  }

  /**
   * Tells of each change of state.
   * @param {(state: State) => void} fn
   * @returns {() => void} ends it
   */
  onState(fn) {
    this.#listeners.add(fn);
    return () => this.#listeners.delete(fn);
  }

  /**
   * Calls a method. A call that finds the hub away waits for it for a while. One whose answer was lost is sent again where that does no harm: it reads, or has a
   * clientRequestId. Else it fails as outcome_unknown.
   * @param {string} method
   * @param {object} [params]
   * @param {{signal?: AbortSignal}} [options]
   * @returns {Promise<any>}
   */
  call(method, params = {}, { signal } = {}) {
    if (this.#closed) return Promise.reject(this.why ?? closed());
    this.#start();
    return this.#calls.ask(method, params, signal);
  }

  /**
   * Reads a conversation from behind sinceSeq on, and then what comes. Over any number of lost connections each event is told once, in order.
   * @param {string} conversationId
   * @param {number} sinceSeq
   * @param {import('./subscription.js').Reader} reader
   * @returns {{close: () => void}}
   */
  subscribe(conversationId, sinceSeq, reader) {
    this.#start();
    return this.#subscriptions.add(conversationId, sinceSeq, reader);
  }

  /**
   * Gives who calls as another participant by the same token. It connects when it is first used.
   * @param {string} agentId
   * @returns {Hub}
   */
  as(agentId) {
    if (agentId === this.me.agentId) return this;
    let other = this.#others.get(agentId);
    if (!other || other.#closed) {
      other = new Hub(this.token, agentId, { ...this.me, agentId });
      this.#others.set(agentId, other);
    }
    return other;
  }

  /**
   * Reports whether the token has a scope.
   * @param {string} scope
   */
  may(scope) {
    return this.me.scopes.includes(scope) || this.me.scopes.includes('admin');
  }

  /** Reports whether the token may speak as a participant. @param {string} agentId */
  maySpeakAs(agentId) {
    return this.me.agents === null || this.me.agents.includes(agentId);
  }

  /** @returns {number} hub time, in ms */
  now() {
    return Date.now() + this.#offset;
  }

  /** Ends the connection, and those of all that it has given by as. */
  close() {
    this.#closed = true;
    for (const other of this.#others.values()) other.close();
    this.#subscriptions.close();
    clearTimeout(this.#timer);
    clearInterval(this.#watch);
    window.removeEventListener('online', this.#wake);
    document.removeEventListener('visibilitychange', this.#look);
    this.#drop(closed(), true);
  }

  // ---- the socket

  /** @returns {Promise<void>} when it is open; fails when the hub refuses the token */
  #ready() {
    this.#start();
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.state === 'open') return resolve();
        if (this.state === 'refused') return reject(this.why);
        const off = this.onState(() => {
          off();
          look();
        });
      };
      look();
    });
  }

  #start() {
    if (this.#started || this.#closed) return;
    this.#started = true;
    window.addEventListener('online', this.#wake);
    document.addEventListener('visibilitychange', this.#look);
    this.#watch = window.setInterval(() => this.#listenFor(), 5_000);
    this.#connect();
  }

  #connect() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const socket = new WebSocket(socketURL());
    this.#socket = socket;
    this.#heard = Date.now();
    socket.onopen = () => {
      this.#heard = Date.now();
      const params = { token: this.token, clientName: 'parley console', ...(this.#agentId ? { agentId: this.#agentId } : {}) };
      this.#calls.now('authenticate', params, (err, result) => {
        if (socket === this.#socket) this.#authenticated(err, result);
      });
    };
    socket.onmessage = (m) => socket === this.#socket && this.#hear(m.data);
    socket.onclose = (c) => socket === this.#socket && this.#lost(c.code);
  }

  /**
   * @param {HubError | null} err
   * @param {import('./protocol.js').AuthenticateResult} result
   */
  #authenticated(err, result) {
    if (err?.reason === 'unauthenticated' && this.#wasOpen) return this.#refuse(over());
    if (err && (err.reason === 'unauthenticated' || err.reason === 'forbidden')) return this.#refuse(err);
    if (err) {
      this.#socket?.close();
      return;
    }
    this.me = { agentId: result.agentId, agents: result.agents ?? null, scopes: result.scopes ?? [] };
    this.#agentId = result.agentId;
    this.#offset = result.hub.nowMs - Date.now();
    this.limits = result.limits;
    this.version = result.hub.version;
    this.#failures = 0;
    this.#retryAfter = 0;
    this.#wasOpen = true;
    this.#become('open');
    this.#subscriptions.resume();
    this.#calls.flush();
  }

  /** @param {HubError} err */
  #refuse(err) {
    this.why = err;
    this.#closed = true;
    clearInterval(this.#watch);
    this.#drop(err, true);
    this.#become('refused');
  }

  /** @param {number} code */
  #lost(code) {
    if (this.#closed) return;
    if (code === closedUnauthenticated && this.state === 'open') { // the token has ended, or was revoked
      return this.#refuse(over());
    }
    this.#drop(new HubError(0, 'outcome_unknown', 'The connection was lost before the hub has answered.'), false);
    this.#become('away');
    const delay = Math.min(lastDelayMs, firstDelayMs * 2 ** this.#failures++);
    this.#timer = window.setTimeout(() => this.#connect(), Math.max(this.#retryAfter, delay / 2 + Math.random() * delay / 2));
    this.#retryAfter = 0;
  }

  /**
   * Forgets the socket. Calls that can be sent again wait for the next one; where there is none all fail.
   * @param {HubError} err
   * @param {boolean} forGood
   */
  #drop(err, forGood) {
    const socket = this.#socket;
    this.#socket = null;
    this.#subscriptions.lost();
    this.#calls.lost(err, forGood);
    socket?.close();
  }

  /** Tries at once, when it waits to. */
  #now() {
    if (this.#timer !== 0) this.#connect();
  }

  #visible() {
    if (document.visibilityState !== 'visible') return;
    this.#now();
    this.#listenFor();
  }

  /** Asks a hub that has been silent whether it is there, and gives up one that does not say so. */
  #listenFor() {
    if (this.#socket === null) return;
    const silent = Date.now() - this.#heard;
    if (silent > silentMs + answerMs) {
      const socket = this.#socket;
      this.#socket = null;
      socket.close();
      this.#lost(0);
      return;
    }
    if (silent > silentMs && this.state === 'open') {
      const sent = Date.now();
      this.#calls.now('ping', {}, (err, result) => {
        if (!err) this.#offset = result.nowMs - (sent + Date.now()) / 2;
      });
    }
  }

  #takesCalls() {
    return this.state === 'open' && this.#socket?.readyState === WebSocket.OPEN;
  }

  /**
   * Sends a frame. On a socket that is closing it does nothing: its calls end, or wait, when it is closed.
   * @param {string} frame
   */
  #send(frame) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(frame);
  }

  /** @param {State} state */
  #become(state) {
    if (this.state === state) return;
    this.state = state;
    for (const fn of [...this.#listeners]) fn(state);
  }

  /** @param {string} frame */
  #hear(frame) {
    this.#heard = Date.now();
    let m;
    try {
      m = JSON.parse(frame);
    } catch {
      this.#socket?.close();
      return;
    }
    if (!m.method) this.#calls.answered(m);
    else if (m.method === 'closing') this.#retryAfter = m.params.retryAfterMs ?? 0;
    else this.#subscriptions.told(m.method, m.params);
  }
}

function closed() {
  return new HubError(0, 'unavailable', 'The connection was closed.');
}

function over() {
  return new HubError(4010, 'unauthenticated', sessionOver);
}
