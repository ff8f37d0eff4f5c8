// A question to the user in a dialog: it keeps the focus, Escape leaves it, and it is gone once it is closed.
import { h, replace } from './dom.js';
import { visible } from './format.js';

/**
 * ask opens a dialog. What run refuses is said in it, and it stays open; what run gives is shown in the place of the question.
 * @param {{title: string, children: import('./dom.js').Child, action: string, danger?: boolean, run: () => Promise<import('./dom.js').Child>}} question
 * @returns {HTMLDialogElement}
 */
export function ask({ title, children, action, danger, run }) {
  const wrong = h('p', { class: 'refused foreign', role: 'alert', dir: 'auto' });
  const send = h('button', { type: 'submit', class: danger ? 'danger' : 'primary' }, action);
  const cancel = h('button', { type: 'button', on: { click: () => dialog.close() } }, 'Cancel');
  const form = h('form', {}, h('div', { class: 'dialog-body' }, children), wrong, h('div', { class: 'dialog-buttons' }, cancel, send));
  const dialog = h('dialog', { class: 'dialog', 'aria-label': title }, h('h2', {}, title), form);
  let busy = false;
  form.addEventListener('submit', async (e) => {
    e.preventDefault();
    if (busy) return;
    busy = true;
    send.disabled = true;
    replace(wrong);
    try {
      const said = await run();
      if (said === undefined || said === null) dialog.close();
      else answered(dialog, form, said);
    } catch (err) {
      replace(wrong, visible(problem(err)));
    } finally {
      busy = false;
      send.disabled = false;
    }
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** @param {HTMLDialogElement} dialog @param {HTMLElement} form @param {import('./dom.js').Child} said */
function answered(dialog, form, said) {
  const close = h('button', { type: 'button', on: { click: () => dialog.close() } }, 'Close');
  const answer = h('div', { class: 'dialog-body', role: 'status' }, said);
  answer.addEventListener('click', (e) => {
    if (e.target instanceof Element && e.target.closest('a')) dialog.close();
  });
  form.replaceWith(answer, h('div', { class: 'dialog-buttons' }, close));
  (answer.querySelector('a') ?? close).focus();
}

/**
 * problem says in one line what went wrong, and what was expected where that was told.
 * @param {unknown} err
 * @returns {string}
 */
export function problem(err) {
  if (!(err instanceof Error)) return String(err);
  const expected = /** @type {any} */ (err).data?.expected;
  return expected ? `${err.message.replace(/\.?$/, '.')} Expected: ${expected}.` : err.message;
}

let ids = 0;

/**
 * labelled puts a control under its label.
 * @template {HTMLElement} T
 * @param {string} text
 * @param {T} control
 * @param {string} [about]
 */
export function labelled(text, control, about) {
  control.id ||= `d${++ids}`;
  const label = h('label', { for: control.id }, text);
  if (!about) return h('div', { class: 'field' }, label, control);
  control.setAttribute('aria-describedby', `${control.id}-about`);
  return h('div', { class: 'field' }, label, control, h('p', { class: 'field-hint', id: `${control.id}-about` }, about));
}
