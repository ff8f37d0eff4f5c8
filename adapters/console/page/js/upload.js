// Files on their way into a conversation.

/** @typedef {import('./hub.js').Hub} Hub */
/** @typedef {{sha256: string, name?: string, mediaType?: string}} Attachment */

/** What goes into one frame, and what the hub takes at all. */
const maxInFrame = 700 << 10;
const maxBytes = 16 << 20;

/**
 * upload adds a file to a conversation. The same bytes again are the same file.
 * @param {Hub} hub
 * @param {string} conversationId
 * @param {File} file
 * @returns {Promise<Attachment>}
 */
export async function upload(hub, conversationId, file) {
  if (file.size === 0) throw new Error(`${file.name} is empty.`);
  if (file.size > maxBytes) throw new Error(`${file.name} is larger than 16 MiB.`);
  const mediaType = file.type || 'application/octet-stream';
  const result = file.size <= maxInFrame
    ? await hub.call('putAttachment', { conversationId, data: await base64(file), name: file.name, mediaType })
    : await post(hub, conversationId, file, mediaType);
  return { sha256: result.sha256, name: file.name, mediaType };
}

/** @param {Hub} hub @param {string} conversationId @param {File} file @param {string} mediaType */
async function post(hub, conversationId, file, mediaType) {
  const url = new URL(location.href);
  url.pathname = url.pathname.replace(/\/console\/?$/, '') + '/attachments';
  url.hash = '';
  url.search = String(new URLSearchParams({ conversationId, name: file.name }));
  const answer = await fetch(url, {
    method: 'POST', body: file,
    headers: { 'Authorization': `Bearer ${hub.token}`, 'Parley-Agent': hub.me.agentId, 'Content-Type': mediaType },
  });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.detail ?? `The hub has answered ${answer.status}.`);
  return body;
}

/** @param {Blob} blob @returns {Promise<string>} */
function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => {
      const url = String(reader.result);
      resolve(url.slice(url.indexOf(',') + 1));
    };
    reader.onerror = () => reject(reader.error ?? new Error('The file cannot be read.'));
    reader.readAsDataURL(blob);
  });
}
