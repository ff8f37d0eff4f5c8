// The calls to the hub: those that wait for a socket, and those that wait for their answer.

import { HubError } from './refusal.js';

/** @typedef {(err: HubError | null, result?: any) => void} Done */
/** @typedef {{id: number, method: string, params: any, again: boolean, sent: boolean, done: Done}} Call */
/** @typedef {{open: () => boolean, send: (frame: string) => void}} Line how frames go to the hub; open says whether it takes calls */

const maxFrame = 1 << 20;
const maxInFlight = 48; // the hub takes 64 on one socket
const patienceMs = 30_000; // how long a call waits for a hub that is away

// Calls that may be sent again when the answer was lost: they write nothing.
const reads = /^(get|list|explain|tail$|ping$|stats$|waitForChange$|watch)/;

/** @returns {string} a random idempotency key */
export function key() {
  const b = crypto.getRandomValues(new Uint8Array(15));
  return `ui_${Array.from(b, (n) => n.toString(36).padStart(2, '0')).join('')}`;
}

/** The calls of one caller, over any number of sockets. */
export class Calls {
  #nextId = 1;
  /** @type {Map<number, Call>} */
  #sent = new Map();
  /** @type {Call[]} */
  #queue = [];
  #line;

  /** @param {Line} line */
  constructor(line) {
    this.#line = line;
  }

  /**
   * Calls a method as soon as the hub takes calls.
   * @param {string} method
   * @param {object} params
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  ask(method, params, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let timer = 0;
      const given = () => {
        this.#forget(call);
        clearTimeout(timer);
        reject(signal?.reason);
      };
      /** @type {Call} */
      const call = {
        id: this.#nextId++, method, params, sent: false,
        again: reads.test(method) || 'clientRequestId' in params,
        done: (err, result) => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', given);
          if (err) reject(err);
          else resolve(result);
        },
      };
      signal?.addEventListener('abort', given, { once: true });
      timer = window.setInterval(() => {
        if (this.#line.open()) return;
        this.#forget(call);
        call.done(new HubError(0, call.sent ? 'outcome_unknown' : 'unavailable', 'The hub is away.'));
      }, patienceMs);
      this.#queue.push(call);
      this.flush();
    });
  }

  /**
   * Calls a method on the socket that there is, before all that waits. It is not sent again.
   * @param {string} method
   * @param {object} params
   * @param {Done} done
   */
  now(method, params, done) {
    this.#write({ id: this.#nextId++, method, params, again: false, sent: false, done });
  }

  /** Sends what waits. */
  flush() {
    while (this.#line.open() && this.#sent.size < maxInFlight) {
      const call = this.#queue.shift();
      if (!call) return;
      this.#write(call);
    }
  }

  /** Takes an answer. @param {any} m */
  answered(m) {
    const call = this.#sent.get(m.id);
    if (!call) return;
    this.#sent.delete(m.id);
    if (m.error) call.done(HubError.of(m.error));
    else call.done(null, m.result);
    this.flush();
  }

  /**
   * The socket is lost. Calls that can be sent again wait for the next one, before those that were made after them; where there is no next one all fail.
   * @param {HubError} err
   * @param {boolean} forGood
   */
  lost(err, forGood) {
    const sent = [...this.#sent.values()];
    this.#sent.clear();
    this.#queue.unshift(...sent.filter((call) => call.again));
    const failed = sent.filter((call) => !call.again);
    if (forGood) failed.push(...this.#queue.splice(0));
    for (const call of failed) call.done(err);
  }

  /** @param {Call} call */
  #write(call) {
    const frame = JSON.stringify({ jsonrpc: '2.0', id: call.id, method: call.method, params: call.params });
    if (frame.length > maxFrame / 3 && new TextEncoder().encode(frame).length > maxFrame) {
      call.done(new HubError(4130, 'too_large', 'This is larger than the hub takes at once: 1 MiB.'));
      return;
    }
    call.sent = true;
    this.#sent.set(call.id, call);
    this.#line.send(frame);
  }

  /** @param {Call} call */
  #forget(call) {
    this.#queue = this.#queue.filter((c) => c !== call);
    this.#sent.delete(call.id);
    this.flush();
  }
}
