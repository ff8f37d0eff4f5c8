// Elements are made here, and nowhere from text that is taken for HTML: foreign text gets into the page as text nodes alone.

/**
 * What may stand in an element. Strings and numbers become text; null, undefined and false stand for nothing.
 * @typedef {Node | string | number | null | undefined | false | any[]} Child
 */

/**
 * The attributes of an element, by their names in HTML. True is an attribute without a value; null, undefined and false leave it out.
 * `on` has listeners by event type, and `value`, `checked` and `open` are set as properties.
 * @typedef {{[name: string]: string | number | boolean | null | undefined | Listeners}} Props
 */

/** @typedef {{[type: string]: (event: any) => void}} Listeners */

const properties = new Set(['value', 'checked', 'open', 'selected', 'indeterminate']);

// Attributes that would run or load something, or take text for HTML or CSS. They are refused whatever they hold.
const refused = /^(on.*|style|srcdoc|formaction)$/i;

/**
 * Makes an element.
 * @template {string} K
 * @param {K} tag
 * @param {Props | null} [props]
 * @param {...Child} children
 * @returns {K extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[K] : HTMLElement}
 */
export function h(tag, props, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    setProp(el, name, value);
  }
  for (const node of nodes(children)) el.append(node); // one by one: a call takes a limited number of arguments
  return /** @type {any} */ (el);
}

/**
 * @param {HTMLElement} el
 * @param {string} name
 * @param {Props[string]} value
 */
function setProp(el, name, value) {
  if (name === 'on') {
    for (const [type, fn] of Object.entries(/** @type {Listeners} */ (value))) {
      el.addEventListener(type, fn);
    }
    return;
  }
  if (refused.test(name)) {
    throw new Error(`an element gets no attribute ${name}`);
  }
  if (properties.has(name)) {
    if (value !== null && value !== undefined) Reflect.set(el, name, value);
    return;
  }
  if (name === 'href' && !safeLink(String(value))) {
    return;
  }
  if (value === null || value === undefined || value === false) return;
  el.setAttribute(name, value === true ? '' : String(value));
  if (name === 'target') el.setAttribute('rel', 'noopener noreferrer');
}

/**
 * Reports whether a link may be followed: to http and https, to a place in this page, and to what the page has made itself.
 * @param {string} href
 */
export function safeLink(href) {
  if (href.startsWith('#')) return true;
  try {
    return ['http:', 'https:', 'blob:'].includes(new URL(href, location.href).protocol);
  } catch {
    return false;
  }
}

/**
 * @param {Child[]} children
 * @param {(Node | string)[]} [out] takes them
 * @returns {(Node | string)[]}
 */
function nodes(children, out = []) {
  for (const child of children) {
    if (Array.isArray(child)) nodes(child, out);
    else if (child instanceof Node) out.push(child);
    else if (child !== null && child !== undefined && child !== false) out.push(String(child));
  }
  return out;
}

/**
 * Puts children in the place of all that an element has.
 * @param {Element} el
 * @param {...Child} children
 */
export function replace(el, ...children) {
  const now = document.createDocumentFragment();
  for (const node of nodes(children)) now.append(node);
  el.replaceChildren(now);
}

/**
 * Listens until the signal is aborted.
 * @param {EventTarget} target
 * @param {string} type
 * @param {(event: any) => void} fn
 * @param {AbortSignal} [signal]
 */
export function listen(target, type, fn, signal) {
  target.addEventListener(type, fn, { signal });
}

/**
 * Defines a custom element, once: a module that is loaded twice defines it once.
 * @param {string} name
 * @param {CustomElementConstructor} element
 */
export function define(name, element) {
  if (!customElements.get(name)) customElements.define(name, element);
}
