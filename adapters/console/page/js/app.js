// The shell: signing in, the routes, the state of the connection, and what is said to the reader.

import { h, listen, replace } from './dom.js';
import { visible } from './format.js';
import { ask, signInSilently, signOut } from './login.js';
import { Pending } from './pending.js';

/**
 * What every view gets. `dev` is true where the caller may speak as anybody.
 * @typedef {{
 *   hub: import('./hub.js').Hub,
 *   go: (route: string) => void,
 *   say: (text: string, kind?: 'info' | 'error') => void,
 *   title: (text: string) => void,
 *   dev: boolean,
 * }} Ctx
 */

/** @typedef {(ctx: Ctx, ...args: any[]) => HTMLElement} View */
/** @typedef {{nav: string, load: () => Promise<{view: View}>, args: any[]}} Route */

const toastMs = 6000;

/**
 * Finds the view of a route: `/c/ID/SEQ`, with what is behind a question mark as its query.
 * @param {string} hash what is behind # in the address
 * @returns {Route | null}
 */
export function routeOf(hash) {
  const [path, query = ''] = split(hash, '?');
  const params = new URLSearchParams(query);
  const [name = '', ...args] = path.split('/').slice(1).map(decode);
  switch (name) {
    case '':
      return { nav: 'list', load: () => import('./list.js'), args: [params] };
    case 'c':
      return args[0] ? { nav: 'list', load: () => import('./conversation.js'), args: [args[0], seqOf(args[1])] } : null;
    case 'approvals':
      return { nav: 'approvals', load: () => import('./approvals.js'), args: [] };
    case 'agents':
      return { nav: 'agents', load: () => import('./agents.js'), args: [args[0]] };
    case 'start':
      return args[0] ? { nav: 'agents', load: () => import('./start.js'), args: [args[0], params.get('parent') ?? undefined] } : null;
    case 'compare':
      return args[1] ? { nav: 'list', load: () => import('./compare.js'), args: [args[0], args[1]] } : null;
  }
  return null;
}

/**
 * @param {string} text
 * @param {string} at
 * @returns {string[]}
 */
function split(text, at) {
  const i = text.indexOf(at);
  return i < 0 ? [text] : [text.slice(0, i), text.slice(i + 1)];
}

/** @param {string | undefined} segment @returns {number | undefined} where it is a seq */
function seqOf(segment) {
  const seq = Number(segment);
  return Number.isSafeInteger(seq) && seq > 0 ? seq : undefined;
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The page once somebody has signed in. */
class Shell {
  /** @param {import('./hub.js').Hub} hub */
  constructor(hub) {
    this.hub = hub;
    this.main = /** @type {HTMLElement} */ (document.getElementById('main'));
    this.toasts = /** @type {HTMLElement} */ (document.getElementById('toasts'));
    /** @type {Ctx} */
    this.ctx = {
      hub,
      go: (route) => this.go(route),
      say: (text, kind) => this.say(text, kind),
      title: (text) => this.title(text),
      dev: hub.me.agents === null,
    };
    this.ended = new AbortController();
    this.turn = 0; // counts the routes: a view that is loaded too late is not shown
    this.prefix = ''; // of a command of two keys
    this.unread = false; // whether the view could not be read because the hub is away
  }

  open() {
    document.body.classList.add('signed-in');
    replace(byId('who'), h('span', { class: 'muted' }, 'as '), h('strong', { class: 'foreign', dir: 'auto' }, visible(this.hub.me.agentId)));
    this.ended.signal.addEventListener('abort', this.hub.onState(() => this.state()));
    listen(window, 'hashchange', () => this.show(), this.ended.signal);
    listen(document, 'keydown', (e) => this.press(e), this.ended.signal);
    listen(byId('help-button'), 'click', () => this.help(), this.ended.signal);
    listen(byId('signout'), 'click', () => this.leave(''), this.ended.signal);
    this.pending = new Pending(this.hub, /** @type {HTMLElement} */ (document.querySelector('nav a[data-nav=approvals]')));
    this.state();
    this.show();
  }

  /** @param {string} why */
  async leave(why) {
    if (this.ended.signal.aborted) return;
    this.ended.abort();
    this.pending?.close();
    document.body.classList.remove('signed-in');
    this.title('Sign in');
    for (const dialog of document.querySelectorAll('dialog[open]')) /** @type {HTMLDialogElement} */ (dialog).close();
    byId('state').hidden = true;
    replace(this.toasts);
    replace(this.main, h('p', { class: 'muted' }, 'Signing out.'));
    const said = await signOut(this.hub);
    this.hub.close();
    await begin(why || said);
  }

  state() {
    if (this.hub.state === 'refused') {
      this.leave(this.hub.why?.message ?? '');
      return;
    }
    const bar = byId('state');
    const text = { connecting: 'Connecting.', open: '', away: 'The hub is away. Trying again.', refused: '' }[this.hub.state];
    if (bar.textContent !== text) bar.textContent = text;
    bar.hidden = text === '';
    document.body.dataset.hub = this.hub.state;
    if (this.hub.state === 'open' && this.unread) this.show();
  }

  /** @param {string} route such as /c/ID */
  go(route) {
    location.hash = route.replace(/^#/, '');
  }

  async show() {
    const turn = ++this.turn;
    this.unread = false;
    void this.pending?.look();
    const hash = location.hash.replace(/^#/, '') || '/';
    const route = routeOf(hash);
    for (const a of document.querySelectorAll('nav a[data-nav]')) {
      if (route && a.getAttribute('data-nav') === route.nav) a.setAttribute('aria-current', 'page');
      else a.removeAttribute('aria-current');
    }
    if (!route) {
      this.title('Not found');
      replace(this.main, h('h1', null, 'There is no such page'), h('p', null, h('a', { href: '#/' }, 'Conversations')));
      return;
    }
    try {
      const { view } = await route.load();
      if (turn !== this.turn || this.ended.signal.aborted) return;
      const el = view(this.ctx, ...route.args);
      replace(this.main, el);
      if (!this.main.contains(document.activeElement)) this.main.focus({ preventScroll: true });
    } catch (err) {
      if (turn !== this.turn || this.ended.signal.aborted) return;
      if (this.hub.state !== 'open') {
        this.unread = true;
        replace(this.main, h('p', { class: 'muted' }, 'This page is shown when the hub is back.'));
        return;
      }
      replace(this.main, h('h1', null, 'This page cannot be shown'), h('p', { class: 'problem' }, visible(String(err))));
      throw err;
    }
  }

  /** @param {string} text */
  title(text) {
    document.title = text ? `${visible(text)} \u00b7 Parley` : 'Parley';
  }

  /**
   * Says something to the reader for a while. Errors stay until they are closed.
   * @param {string} text
   * @param {'info' | 'error'} [kind]
   */
  say(text, kind = 'info') {
    const toast = h('div', { class: `toast ${kind}` },
      h('p', { class: 'foreign', dir: 'auto' }, visible(text)),
      h('button', { type: 'button', class: 'quiet', 'aria-label': 'Close', on: { click: () => toast.remove() } }, '\u00d7'));
    this.toasts.append(toast);
    while (this.toasts.childElementCount > 4) this.toasts.firstElementChild?.remove();
    if (kind === 'info') setTimeout(() => toast.remove(), toastMs);
  }

  help() {
    const dialog = /** @type {HTMLDialogElement} */ (byId('help'));
    if (!dialog.open) dialog.showModal();
  }

  /** @param {KeyboardEvent} e */
  press(e) {
    if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || typing(e.target) || document.querySelector('dialog[open]')) return;
    const pressed = this.prefix + e.key;
    this.prefix = '';
    switch (pressed) {
      case 'g':
        this.prefix = 'g ';
        return;
      case 'g l':
        return this.jump(e, '/');
      case 'g a':
        return this.jump(e, '/approvals');
      case 'g g':
        return this.jump(e, '/agents');
      case '?':
        e.preventDefault();
        return this.help();
      case '/': {
        const search = /** @type {HTMLElement | null} */ (this.main.querySelector('input[type=search]'));
        if (search) {
          e.preventDefault();
          search.focus();
        } else {
          this.jump(e, '/');
        }
      }
    }
  }

  /**
   * @param {KeyboardEvent} e
   * @param {string} route
   */
  jump(e, route) {
    e.preventDefault();
    this.go(route);
  }
}

/**
 * Reports whether keys go into a field.
 * @param {EventTarget | null} target
 */
export function typing(target) {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

// ---- light and dark

const themeKey = 'parley.theme';

/** Shows the theme that was chosen, else that of the system. */
function theme() {
  const button = byId('theme');
  const chosen = localStorage.getItem(themeKey);
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const label = () => replace(button, dark() ? 'Light' : 'Dark');
  label();
  button.addEventListener('click', () => {
    const next = dark() ? 'light' : 'dark';
    document.documentElement.dataset.theme = next;
    localStorage.setItem(themeKey, next);
    label();
  });
}

/** @param {string} why what to say to who has to sign in */
async function begin(why) {
  new Shell(await ask(why, byId('main'))).open();
}

async function run() {
  theme();
  byId('help-close').addEventListener('click', () => /** @type {HTMLDialogElement} */ (byId('help')).close());
  byId('skip').addEventListener('click', (e) => { // a link to #main would be a route
    e.preventDefault();
    byId('main').focus();
  });
  replace(byId('main'), h('p', { class: 'muted' }, 'Signing in.'));
  const { hub, why } = await signInSilently();
  if (hub) new Shell(hub).open();
  else await begin(why);
}

// A link that is opened in a tab which shows the console already changes the hash alone.
window.addEventListener('hashchange', () => {
  if (location.hash.startsWith('#ticket=')) location.reload();
});

run();
