// The hash chain of a conversation that was shared, held against its records. Nothing here touches the page.
import { fromHex, hex, sha256 } from './sha256.js';

/** @typedef {{seq: number, hash?: string, event: string}} Rec the event is its stored bytes, as text */
/** @typedef {{sha256: string, name?: string, mediaType?: string, size: number, data: string}} SharedFile data is base64 */
/**
 * What a file that was shared holds. `begins` is where its records begin: behind seq 0, or behind a later one, whose hash may not be known.
 * @typedef {{version: number, conversationId: string, title?: string, sharedAt: string, latestSeq: number, headHash: string, begins: {seq: number, hash?: string}, hidden: number,
 *   records: Rec[], attachments?: SharedFile[]}} Shared
 */
/**
 * whole: every record is there, and the chain ends at the head hash. broken: `seq` is the first record that is not what was written, or is not there; 0 is the end. hidden: `missing` events
 * are not shown, and up to `seq` the records are as they were shared.
 * @typedef {{state: 'whole'|'broken'|'hidden', seq: number, missing: number, why: string, head: string}} Verdict
 */

const encoder = new TextEncoder();

/** Half of a surrogate pair: the encoder writes another character for it, so that a text with one would have the hash of another text. */
const half = /[\ud800-\udfff]/u;

/**
 * next is the hash of a record that follows another.
 * @param {Uint8Array} before
 * @param {string} event
 */
function next(before, event) {
  const bytes = encoder.encode(event);
  const both = new Uint8Array(before.length + bytes.length);
  both.set(before);
  both.set(bytes, before.length);
  return sha256(both);
}

/** genesis is the hash before the first record. @param {string} conversationId */
function genesis(conversationId) {
  return sha256(encoder.encode(conversationId));
}

/**
 * verify says whether the records are those that were written.
 * @param {Shared} s
 * @returns {Promise<Verdict>}
 */
export async function verify(s) {
  let hash = s.begins.seq === 0 ? await genesis(s.conversationId) : fromHex(s.begins.hash ?? '');
  let seq = s.begins.seq;
  const missing = s.latestSeq - s.begins.seq - s.records.length;
  /** @param {'broken'|'hidden'|'whole'} state @param {number} at @param {string} why @returns {Verdict} */
  const verdict = (state, at, why) => ({ state, seq: at, missing, why, head: hash ? hex(hash) : '' });
  if (missing > s.hidden) return verdict('broken', firstGap(s), 'it is missing');
  if (missing !== s.hidden) return verdict('broken', Math.min(firstGap(s), s.latestSeq + 1), 'there are more records than were shared');
  for (const r of s.records) {
    if (r.seq !== seq + 1 || hash === null) return outOfOrder(s) ?? verdict('hidden', hash === null ? 0 : seq, '');
    if (half.test(r.event)) return verdict('broken', r.seq, 'it holds what no bytes are');
    hash = await next(hash, r.event);
    if (hex(hash) !== r.hash) return verdict('broken', r.seq, 'its bytes do not give its hash');
    if (seqOf(r.event) !== r.seq) return verdict('broken', r.seq, 'it says that it is another one');
    seq = r.seq;
  }
  if (s.hidden > 0 || hash === null) return verdict('hidden', hash === null ? 0 : seq, '');
  return hex(hash) === s.headHash ? verdict('whole', seq, '') : verdict('broken', 0, 'the chain does not end at the head hash');
}

/** outOfOrder finds a record that does not stand behind the one before it. @param {Shared} s @returns {Verdict|null} */
function outOfOrder(s) {
  let seq = s.begins.seq;
  for (const r of s.records) {
    if (r.seq <= seq || r.seq > s.latestSeq) return { state: 'broken', seq: r.seq, missing: 0, why: 'it is not in its place', head: '' };
    seq = r.seq;
  }
  return null;
}

/** @param {Shared} s */
function firstGap(s) {
  let seq = s.begins.seq;
  for (const r of s.records) {
    if (r.seq !== seq + 1) break;
    seq = r.seq;
  }
  return seq + 1;
}

/** @param {string} event */
function seqOf(event) {
  try {
    return JSON.parse(event).seq;
  } catch {
    return 0;
  }
}

/**
 * forkHolds says whether the records up to a fork are those of the conversation that it names: their chain, begun with that one's id, is the hash that the fork names. It is null where the
 * records do not begin at the beginning.
 * @param {Shared} s
 * @param {{conversationId: string, seq: number, hash: string}} fork
 * @returns {Promise<boolean|null>}
 */
export async function forkHolds(s, fork) {
  if (s.begins.seq !== 0 || !Number.isSafeInteger(fork.seq) || s.records.length < fork.seq || s.records[fork.seq - 1]?.seq !== fork.seq) return null;
  let hash = await genesis(fork.conversationId);
  for (const r of s.records.slice(0, fork.seq)) hash = await next(hash, r.event);
  return hex(hash) === fork.hash;
}

/**
 * fileHolds says whether a file is the one that its hash names, and gives its bytes.
 * @param {SharedFile} file
 * @returns {Promise<Uint8Array<ArrayBuffer>|null>}
 */
export async function fileHolds(file) {
  try {
    const bytes = Uint8Array.from(atob(file.data), (c) => c.charCodeAt(0));
    return hex(await sha256(bytes)) === file.sha256 ? bytes : null;
  } catch {
    return null; // not base64
  }
}
