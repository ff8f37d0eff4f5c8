// The page of one conversation that was shared as a file: it draws it, and holds its records against their hash chain.
import { h, replace } from './dom.js';
import { count, time, visible } from './format.js';
import { fileHolds, forkHolds, verify } from './chain.js';
import { around, transcript } from './transcript.js';

/** @typedef {import('./chain.js').Shared} Shared */

/** @returns {Shared} */
function read() {
  return JSON.parse(document.getElementById('shared')?.textContent ?? '');
}

/** @param {string} text */
function event(text) {
  try {
    const e = JSON.parse(text);
    return typeof e === 'object' && e !== null ? e : null;
  } catch {
    return null;
  }
}

/** draw puts the document into the page and gives where the verdict belongs. @param {Shared} s */
function draw(s) {
  const records = s.records.map((r) => ({ seq: r.seq, text: r.event, said: event(r.event) }));
  const events = records.flatMap((r) => (r.said ? [r.said] : []));
  const known = around(events);
  const files = new Map((s.attachments ?? []).map((f) => [f.sha256, f]));
  const verdict = h('p', { id: 'verdict', role: 'status', class: 'checking' }, 'Checking the hash chain.');
  const forks = events.filter((e) => e.type === 'system' && e.payload?.kind === 'conversation_forked' && e.payload.fork);
  const forkLines = forks.map((e) => h('p', { class: 'fork foreign', dir: 'auto' }, `A fork of ${visible(String(e.payload.fork.conversationId))}, up to its event ${Number(e.payload.fork.seq)}.`));
  const main = h('main', {},
    h('header', {},
      h('h1', { class: 'foreign', dir: 'auto' }, visible(s.title || s.conversationId)),
      s.title && s.title !== titleOf(events) ? h('p', { class: 'muted', id: 'titled' }, 'This title is of who shared it: the events in this file do not give it.') : null,
      h('p', { class: 'muted' }, 'Conversation ', h('bdi', { class: 'foreign' }, visible(s.conversationId)), `, ${count(s.records.length, 'event')}, shared ${time(Date.parse(s.sharedAt))}.`),
      s.begins.seq > 0 ? h('p', { class: 'muted' }, `It begins behind event ${s.begins.seq}: what was before is not in this file.`) : null,
      forkLines, verdict,
      h('p', { class: 'muted' }, 'Head hash ', h('code', { id: 'head' }, visible(s.headHash)), `, at event ${s.latestSeq}. Who does not trust the sender compares it with what the hub says: `,
        h('code', { class: 'foreign' }, `parley conversation show ${visible(s.conversationId)}`), '.'),
      h('ul', { class: 'legend', 'aria-label': 'Participants' }, [...known.lanes].map(([id, lane]) => h('li', { class: `lane-${lane} foreign`, dir: 'auto' }, visible(id))))),
    transcript(records, known, (sha256, name) => {
      const f = files.get(sha256);
      return f ? h('button', { type: 'button', class: 'quiet', on: { click: (/** @type {MouseEvent} */ e) => save(f, name, /** @type {HTMLElement} */ (e.currentTarget)) } }, 'Save') : null;
    }));
  document.body.append(main);
  return { verdict, forks: forks.map((e, i) => ({ fork: e.payload.fork, line: forkLines[i] })) };
}

/**
 * titleOf gives the title that the events give. @param {import('./transcript.js').Said[]} events
 */
function titleOf(events) {
  let title = '';
  for (const e of events) {
    const named = e.type === 'system' && (e.payload?.kind === 'conversation_created' || e.payload?.kind === 'conversation_forked');
    if (named && typeof e.payload.title === 'string') title = e.payload.title;
  }
  return title;
}

/**
 * save gives a file that is the one that its hash names, under the name that is shown for it; another one is not given.
 * @param {import('./chain.js').SharedFile} f @param {string} name @param {HTMLElement} button
 */
async function save(f, name, button) {
  const bytes = await fileHolds(f);
  if (!bytes) {
    button.replaceWith(h('strong', { class: 'broken' }, 'This is not the file that was added.'));
    return;
  }
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  h('a', { href: url, download: plainName(name) || f.sha256.slice(0, 12) }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** plainName leaves of a name what cannot be a path, or hide how it ends. @param {string} name */
function plainName(name) {
  return name.replace(/[^\p{L}\p{N}. _()-]/gu, '_').replace(/^\.+/, '');
}

/** @param {Shared} s @param {import('./chain.js').Verdict} v */
function said(s, v) {
  switch (v.state) {
    case 'whole':
      return s.begins.seq === 0 ? `Whole and unchanged: ${count(s.records.length, 'event')} give the head hash. That is what was written if the hub tells the same.`
        : `Unchanged: the ${count(s.records.length, 'event')} behind event ${s.begins.seq} give the head hash, if those before had the hash that this file says.`;
    case 'broken':
      return v.seq === 0 ? `Not what was written: ${v.why}.` : `Not what was written: event ${v.seq} is the first that is wrong, ${v.why}.`;
    case 'hidden':
      return `${s.hidden > 0 ? `${count(s.hidden, 'event')} ${s.hidden === 1 ? 'is' : 'are'} not shown to who shared this` : 'What was before was not shown to who shared this'}: the chain cannot be checked`
        + `${v.seq > s.begins.seq ? ` behind event ${v.seq}` : ''}. Nothing in this file can be held against the head hash.`;
  }
}

async function show() {
  const s = read();
  document.title = visible(s.title || s.conversationId);
  const { verdict, forks } = draw(s);
  const v = await verify(s);
  replace(verdict, said(s, v));
  verdict.className = v.state;
  if (v.state === 'broken' && v.seq > 0) document.getElementById(`seq-${v.seq}`)?.classList.add('is-broken');
  for (const { fork, line } of forks) {
    const holds = await forkHolds(s, fork);
    if (holds !== null) line?.append(holds ? ' Its hash there is that of these events.' : ' Its hash there is not that of these events.');
    if (holds === false) line?.classList.add('broken');
  }
}

show().catch((err) => {
  document.body.append(h('p', { class: 'broken', role: 'alert' }, `This file cannot be read: ${visible(String(err))}`));
});
