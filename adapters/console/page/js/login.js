// Signing in: by the ticket of a link, by the token that the tab has kept, or by a token that somebody types.

import { define, h, replace } from './dom.js';
import { forget } from './draft.js';
import { visible } from './format.js';
import { Hub, HubError } from './hub.js';
import { sessionOver } from './refusal.js';

const kept = 'parley.token';
const last = 'parley.agent'; // who was signed in last in this tab
const revokeMs = 3_000; // how long who signs out waits for the hub

/**
 * Signs in without asking, where that can be done.
 * @returns {Promise<{hub: Hub | null, why: string}>} without a hub: why the link or the kept token was of no use, or nothing
 */
export async function signInSilently() {
  const given = ticketOfLink();
  try {
    if (given) return { hub: await signIn(given), why: '' };
    const token = sessionStorage.getItem(kept);
    if (token) return { hub: await signIn(JSON.parse(token)), why: '' };
  } catch (err) {
    if (!(err instanceof HubError)) throw err;
    if (given) return { hub: null, why: err.message };
    sessionStorage.removeItem(kept);
    return { hub: null, why: err.reason === 'unauthenticated' ? sessionOver : err.message };
  }
  return { hub: null, why: '' };
}

/**
 * Signs in, and keeps the token for reloads of this tab.
 * @param {import('./hub.js').WithToken | import('./hub.js').WithTicket} credentials
 * @returns {Promise<Hub>}
 */
export async function signIn(credentials) {
  const before = sessionStorage.getItem(kept);
  const hub = await Hub.open(credentials);
  if (before) void endOther(JSON.parse(before), hub);
  if (sessionStorage.getItem(last) !== hub.me.agentId) forget(); // drafts are for who wrote them
  sessionStorage.setItem(last, hub.me.agentId);
  sessionStorage.setItem(kept, JSON.stringify({ token: hub.token, agentId: hub.me.agentId, made: hub.made }));
  return hub;
}

/**
 * Ends the token that the tab had, where the page has made it and another has taken its place: nobody could sign it out any more.
 * @param {import('./hub.js').WithToken} before
 * @param {Hub} now
 */
async function endOther(before, now) {
  if (!before.made || before.token === now.token) return;
  const hub = new Hub(before.token, before.agentId ?? '');
  await hub.call('revokeToken', { tokenId: tokenIdOf(before.token) }, { signal: AbortSignal.timeout(revokeMs) }).catch(() => {}); // it ends by itself
  hub.close();
}

/** The id of a token that the hub has made: it stands in it. @param {string} token */
const tokenIdOf = (token) => token.split('_')[1];

/**
 * Forgets the token of this tab, and ends it where the page has made it. A token that somebody has typed is used elsewhere too, and stays what it is.
 * @param {Hub} hub
 * @returns {Promise<string>} what who signs out should know, or nothing
 */
export async function signOut(hub) {
  sessionStorage.removeItem(kept);
  if (hub.state !== 'refused') forget(); // who was refused did not leave, and may come back
  if (!hub.made || hub.state === 'refused') return '';
  const away = 'You are signed out. The hub could not be told: the token of this tab ends by itself within 12 hours.';
  if (hub.state !== 'open') return away;
  try {
    await hub.call('revokeToken', { tokenId: tokenIdOf(hub.token) }, { signal: AbortSignal.timeout(revokeMs) });
  } catch (err) {
    if (!(err instanceof HubError) || err.reason !== 'unauthenticated') return away;
  }
  return '';
}

/**
 * Takes the ticket out of the address, so that neither the history nor a copied link has it. What the link says of the token besides is only a wish: the hub gives no
 * token that may do more than the one that the ticket stands for.
 * @returns {import('./hub.js').WithTicket | null}
 */
function ticketOfLink() {
  const params = new URLSearchParams(location.hash.replace(/^#/, ''));
  const ticket = params.get('ticket');
  if (!ticket) return null;
  /** @param {string} name */
  const list = (name) => params.get(name)?.split(',').filter(Boolean);
  const to = params.get('to');
  history.replaceState(null, '', `${location.pathname}${location.search}${to?.startsWith('/') ? `#${to}` : ''}`);
  return {
    ticket, agentId: params.get('agent') ?? '', agents: list('agents'), scopes: list('scopes'), workspaces: list('workspaces'), conversations: list('conversations'),
  };
}

/** The form that takes a token. It tells by the event `signedin` whom it has let in. */
class SignIn extends HTMLElement {
  /** What to say first. */
  why = '';

  connectedCallback() {
    const token = h('input', {
      id: 'token', type: 'password', required: true, autocomplete: 'off', spellcheck: 'false', 'aria-describedby': 'signin-help signin-problem',
    });
    const agent = h('input', { id: 'agent', type: 'text', autocomplete: 'off', spellcheck: 'false', placeholder: "the token's first" });
    const problem = h('p', { id: 'signin-problem', class: 'problem', role: 'alert' }, this.why && visible(this.why));
    const button = h('button', { type: 'submit', class: 'primary' }, 'Sign in');
    const submit = async (/** @type {SubmitEvent} */ e) => {
      e.preventDefault();
      button.disabled = true;
      replace(problem);
      try {
        const agentId = agent.value.trim();
        const hub = await signIn({ token: token.value.trim(), ...(agentId ? { agentId } : {}) });
        this.dispatchEvent(new CustomEvent('signedin', { detail: hub }));
      } catch (err) {
        replace(problem, visible(err instanceof Error ? err.message : String(err)));
        token.focus();
      } finally {
        button.disabled = false;
      }
    };
    replace(this,
      h('h1', null, 'Sign in'),
      h('p', { id: 'signin-help', class: 'muted' }, 'Paste a token of this hub. ', h('code', null, 'parley console'), ' opens a link that needs none.'),
      h('form', { on: { submit } },
        h('label', { for: 'token' }, 'Token'), token,
        h('label', { for: 'agent' }, 'Speak as'), agent,
        problem, h('div', { class: 'buttons' }, button)));
    token.focus();
  }
}

define('parley-signin', SignIn);

/**
 * @param {string} why
 * @returns {Promise<Hub>} when somebody has signed in
 */
export function ask(why, /** @type {HTMLElement} */ place) {
  return new Promise((resolve) => {
    const form = /** @type {SignIn} */ (h('parley-signin', { class: 'signin' }));
    form.why = why;
    form.addEventListener('signedin', (e) => resolve(/** @type {CustomEvent<Hub>} */ (e).detail), { once: true });
    replace(place, form);
  });
}
