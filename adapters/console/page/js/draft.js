// What somebody has begun to say: it outlives a reload of the page, and a message that was refused.

/**
 * The key is that of the message as it was tried last; print says which that was.
 * @typedef {{seat: string, text: string, data: string, schema: string, finality: string, next: string, status: string, reason: string, key: string, print: string}} Draft
 */

/** @returns {Draft} */
export function empty() {
  return { seat: '', text: '', data: '', schema: '', finality: 'turn', next: '', status: 'completed', reason: '', key: '', print: '' };
}

const prefix = 'parley.draft.';

/** @param {string} conversationId */
const place = (conversationId) => prefix + conversationId;

/** forget leaves nothing of what somebody has begun to say to who signs in next. */
export function forget() {
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith(prefix)) sessionStorage.removeItem(name);
  }
}

/** @param {string} conversationId @returns {Draft} */
export function load(conversationId) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(place(conversationId)) ?? '{}');
    const draft = /** @type {any} */ (empty());
    for (const name of Object.keys(draft)) {
      if (typeof kept[name] === 'string') draft[name] = kept[name];
    }
    return draft;
  } catch {
    return empty(); // storage is off, or holds what this page has not written
  }
}

/** @param {string} conversationId @param {Draft} draft */
export function save(conversationId, draft) {
  try {
    if (draft.text === '' && draft.data === '' && draft.key === '') sessionStorage.removeItem(place(conversationId));
    else sessionStorage.setItem(place(conversationId), JSON.stringify(draft));
  } catch {
    // storage is off or full: the draft lives as long as the page
  }
}
