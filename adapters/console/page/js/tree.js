// Values as JSON that opens and closes: what is closed is not in the page yet, so that large and deep values cost nothing until somebody looks.

import { h } from './dom.js';
import { json, shorten, visible } from './format.js';
import { isObject } from './fold.js';

/** A value that is written in fewer characters than this is shown as it is. */
const SMALL = 2000;
/** How many members are shown at once, and how many characters of a text. */
const MEMBERS = 100;
const TEXT = 2000;

/** A value as JSON. @param {unknown} value @returns {HTMLElement} */
export function jsonView(value) {
  const all = (JSON.stringify(value) ?? '').length <= SMALL ? json(value) : null; // deep values grow many times over when they are indented
  if (all !== null && all.length <= SMALL) return h('pre', { class: 'json foreign', dir: 'auto' }, visible(all));
  return h('div', { class: 'json tree' }, node('', value, true));
}

/** @param {string} name @param {unknown} value @param {boolean} open @returns {HTMLElement} */
function node(name, value, open) {
  const label = name === '' ? null : h('span', { class: 'name foreign', dir: 'auto' }, `${visible(shorten(name, 200))}: `);
  if (!Array.isArray(value) && !isObject(value)) return h('div', { class: 'leaf' }, label, leaf(value));
  const entries = Array.isArray(value) ? value.map((v, i) => /** @type {[string, unknown]} */ ([String(i), v])) : Object.entries(value);
  const summary = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const body = h('div', { class: 'members' });
  const details = h('details', null, h('summary', null, label, h('span', { class: 'muted' }, summary)), body);
  let shown = 0;
  const more = () => {
    body.querySelector(':scope > button')?.remove();
    const to = Math.min(shown + MEMBERS, entries.length);
    for (; shown < to; shown++) body.append(node(entries[shown][0], entries[shown][1], false));
    if (shown < entries.length) body.append(h('button', { type: 'button', class: 'quiet', on: { click: more } }, `${entries.length - shown} more`));
  };
  const once = () => {
    if (details.open && shown === 0) more();
  };
  details.addEventListener('toggle', once);
  if (open) {
    details.open = true;
    once();
  }
  return details;
}

/** @param {unknown} value @returns {HTMLElement} */
function leaf(value) {
  if (typeof value !== 'string') return h('code', null, String(value));
  return longText(JSON.stringify(value), TEXT, 'code');
}

/**
 * A text of which the beginning is shown, and the whole when it is asked for.
 * @param {string} text @param {number} most @param {string} tag @param {(text: string) => import('./dom.js').Child} [draw] @returns {HTMLElement}
 */
export function longText(text, most, tag, draw = visible) {
  const at = h(tag, { class: 'text foreign', dir: 'auto' });
  if (text.length <= most) {
    at.append(...one(draw(text)));
    return at;
  }
  at.append(...one(draw(shorten(text, most))));
  const whole = () => {
    at.replaceChildren(...one(visible(text)));
    at.classList.add('long');
    at.tabIndex = 0;
    at.setAttribute('role', 'region');
    at.setAttribute('aria-label', 'The whole text');
    button.remove();
  };
  const button = h('button', { type: 'button', class: 'quiet', on: { click: whole } }, `Show all ${text.length.toLocaleString()} characters`);
  return h('div', { class: 'cut' }, at, button);
}

/** @param {import('./dom.js').Child} child @returns {(Node | string)[]} */
function one(child) {
  if (Array.isArray(child)) return child.flatMap(one);
  return child instanceof Node ? [child] : child === null || child === undefined || child === false ? [] : [String(child)];
}
