// The conversations that are followed. Each goes on where it was when the socket is another one.

import { HubError } from './refusal.js';

/**
 * What a subscription is told. All are optional.
 * @typedef {{
 *   event?: (e: import('./protocol.js').Event, raw: string | null) => void,
 *   guidance?: (g: import('./protocol.js').Guidance) => void,
 *   delta?: (d: import('./protocol.js').DeltaNotification) => void,
 *   caughtUp?: (seq: number) => void,
 *   refused?: (err: HubError) => void,
 * }} Reader
 */
/** @typedef {{conversationId: string, last: number, reader: Reader, id: string, closed: boolean, timer: number}} Subscription */

const againMs = 1000;

/** The subscriptions of one caller, over any number of sockets. */
export class Subscriptions {
  /** @type {Set<Subscription>} */
  #all = new Set();
  /** @type {Map<string, Subscription>} */
  #byId = new Map();
  #socket = 0; // counts the sockets: an answer of an earlier one says nothing
  #calls;
  #open;

  /**
   * @param {import('./call.js').Calls} calls
   * @param {() => boolean} open whether the hub takes calls
   */
  constructor(calls, open) {
    this.#calls = calls;
    this.#open = open;
  }

  /**
   * @param {string} conversationId
   * @param {number} sinceSeq
   * @param {Reader} reader
   * @returns {{close: () => void}}
   */
  add(conversationId, sinceSeq, reader) {
    /** @type {Subscription} */
    const s = { conversationId, last: sinceSeq, reader, id: '', closed: false, timer: 0 };
    this.#all.add(s);
    if (this.#open()) this.#subscribe(s);
    return { close: () => this.#unsubscribe(s) };
  }

  /** There is a socket again: all go on. */
  resume() {
    for (const s of this.#all) this.#subscribe(s);
  }

  /** The socket is lost, and what it has called them. */
  lost() {
    this.#socket++;
    this.#byId.clear();
    for (const s of this.#all) s.id = '';
  }

  /** Ends all. */
  close() {
    for (const s of this.#all) {
      s.closed = true;
      clearTimeout(s.timer);
    }
    this.#all.clear();
  }

  /**
   * Takes what the hub says without being asked.
   * @param {string} method
   * @param {any} params
   */
  told(method, params) {
    const s = this.#byId.get(params.subscriptionId);
    if (!s || s.closed) return;
    switch (method) {
      case 'event':
        if (params.event.seq <= s.last) return;
        s.last = params.event.seq;
        s.reader.event?.(params.event, null);
        return;
      case 'guidance':
        s.reader.guidance?.(params.guidance);
        return;
      case 'delta':
        s.reader.delta?.(params);
        return;
      case 'caught_up':
        s.last = Math.max(s.last, params.seq);
        s.reader.caughtUp?.(params.seq);
    }
  }

  /** @param {Subscription} s */
  #subscribe(s) {
    const socket = this.#socket;
    clearTimeout(s.timer);
    this.#calls.now('subscribe', { conversationId: s.conversationId, sinceSeq: s.last }, (err, result) => {
      if (socket !== this.#socket) return;
      if (err) return this.#refused(s, err);
      if (s.closed) return this.#end(result.subscriptionId);
      s.id = result.subscriptionId;
      this.#byId.set(s.id, s);
    });
  }

  /**
   * @param {Subscription} s
   * @param {HubError} err
   */
  #refused(s, err) {
    if (s.closed) return;
    if (err.data?.retryable || err.reason === 'outcome_unknown' || err.reason === 'unavailable') {
      s.timer = window.setTimeout(() => {
        if (!s.closed && s.id === '' && this.#open()) this.#subscribe(s);
      }, err.data?.retryAfterMs ?? againMs);
      return;
    }
    this.#all.delete(s);
    s.closed = true;
    s.reader.refused?.(err);
  }

  /** @param {Subscription} s */
  #unsubscribe(s) {
    if (s.closed) return;
    s.closed = true;
    clearTimeout(s.timer);
    this.#all.delete(s);
    if (s.id === '') return;
    this.#byId.delete(s.id);
    this.#end(s.id);
  }

  /** @param {string} subscriptionId */
  #end(subscriptionId) {
    if (this.#open()) this.#calls.now('unsubscribe', { subscriptionId }, () => {});
  }
}
