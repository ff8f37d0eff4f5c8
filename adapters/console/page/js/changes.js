// The conversations of the caller, kept up to date.

import { HubError } from './hub.js';

/** @typedef {import('./protocol.js').ConversationSummary} Summary */
/** @typedef {{status?: string, participant?: string, workspace?: string, text?: string}} Filter */

const pageSize = 50;
const maxLimit = 100; // that the hub gives at once
const waitMs = 25_000;
const againMs = 1_000;
const staleMs = 30_000; // whether somebody runs an agent changes without an event, and so is read again after this

/**
 * A list of conversations, those that were made last first, that follows what changes. It tells by `changed` after every change, and by `failed` when it cannot be
 * read.
 */
export class Changes {
  /** By id, those made last first. @type {Map<string, Summary>} */
  rows = new Map();
  /** Whether there are older ones that were not read. */
  more = false;
  /** Whether it was read at all. */
  read = false;

  #ended = new AbortController();
  #readAt = 0;
  /** @type {string | undefined} */
  #next;

  /**
   * @param {import('./hub.js').Hub} hub
   * @param {Filter} filter
   * @param {{changed: () => void, failed: (err: HubError) => void}} reader
   * @param {number} [depth] how many to read at first
   */
  constructor(hub, filter, reader, depth = pageSize) {
    this.hub = hub;
    this.filter = filter;
    this.reader = reader;
    this.depth = depth;
    this.#follow();
  }

  close() {
    this.#ended.abort(new HubError(0, 'unavailable', 'The list was closed.'));
  }

  /** Reads older ones. */
  async older() {
    if (!this.more || this.#next === undefined) return;
    this.#add(await this.#page(pageSize, this.#next));
    this.reader.changed();
  }

  /** Reads the list, and then what has changed since: from before it was read, so that nothing falls between. */
  async #follow() {
    const signal = this.#ended.signal;
    let cursor = '';
    while (!signal.aborted) {
      try {
        if (cursor === '') {
          cursor = (await this.#call('watchConversations', this.#scope())).cursor;
          await this.#readAnew();
          continue;
        }
        const r = await this.#call('watchConversations', { ...this.#scope(), cursor, limit: 100, timeoutMs: waitMs });
        cursor = r.reset ? '' : r.cursor;
        if (r.conversations.length > 0) {
          for (const c of r.conversations) this.#put(c);
          this.reader.changed();
        }
        if (Date.now() - this.#readAt > staleMs) await this.#refresh();
      } catch (err) {
        if (signal.aborted) return;
        if (!(err instanceof HubError)) throw err;
        if (this.hub.state === 'open' && !err.data.retryable) {
          this.reader.failed(err);
          cursor = '';
        }
        await pause(err.data.retryAfterMs ?? againMs, signal);
      }
    }
  }

  #scope() {
    return this.filter.workspace ? { workspace: this.filter.workspace } : {};
  }

  async #readAnew() {
    const page = await this.#page(this.depth);
    this.rows = new Map();
    this.#add(page);
    this.read = true;
    this.#readAt = Date.now();
    this.reader.changed();
  }

  /** Reads the newest again, and leaves the older ones as they are. */
  async #refresh() {
    const page = await this.#page(pageSize);
    for (const c of page.conversations) this.#put(c);
    this.#readAt = Date.now();
    this.reader.changed();
  }

  /**
   * So many of what the filter lets through, or a few more. The hub looks at a bounded number at once: it may give few, and a cursor.
   * @param {number} size
   * @param {string} [cursor]
   * @returns {Promise<import('./protocol.js').ListConversationsResult>}
   */
  async #page(size, cursor) {
    const given = Object.fromEntries(Object.entries(this.filter).filter(([, v]) => v));
    /** @type {Summary[]} */
    const conversations = [];
    let next = cursor;
    do {
      const r = await this.#call('listConversations', { ...given, newest: true, limit: Math.min(size, maxLimit), ...(next ? { cursor: next } : {}) });
      conversations.push(...r.conversations);
      next = r.nextCursor;
    } while (next && conversations.length < size);
    return { conversations, nextCursor: next };
  }

  /** @param {import('./protocol.js').ListConversationsResult} page */
  #add(page) {
    for (const c of page.conversations) this.rows.set(c.conversationId, c);
    this.#next = page.nextCursor;
    this.more = page.nextCursor !== undefined && page.nextCursor !== '';
  }

  /**
   * Takes a conversation as it is now: a new one stands first, and one that the filter lets through no more is left out.
   * @param {Summary} c
   */
  #put(c) {
    const known = this.rows.has(c.conversationId);
    if (!passes(c, this.filter)) {
      this.rows.delete(c.conversationId);
      return;
    }
    if (known) {
      this.rows.set(c.conversationId, c);
      return;
    }
    const oldest = [...this.rows.values()].at(-1);
    if (this.more && oldest && c.createdAt < oldest.createdAt) return; // it comes with the older ones
    const rows = [...this.rows.values(), c].sort((a, b) => (a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0));
    this.rows = new Map(rows.map((r) => [r.conversationId, r]));
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  #call(method, params) {
    return this.hub.call(method, params, { signal: this.#ended.signal });
  }
}

/**
 * Reports whether a filter lets a conversation through, as listConversations does.
 * @param {Summary} c
 * @param {Filter} f
 */
export function passes(c, f) {
  const text = f.text?.toLowerCase();
  return (!f.status || c.status === f.status)
    && (!f.participant || c.participants.includes(f.participant))
    && (!f.workspace || c.workspace === f.workspace)
    && (!text || c.conversationId.toLowerCase().includes(text) || (c.title ?? '').toLowerCase().includes(text));
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}
