// What a JSON Schema says of one place, as far as a form can show it. Nothing here touches the page.

/** @typedef {{[key: string]: any}} Schema */
/** @typedef {'const'|'enum'|'choice'|'object'|'array'|'string'|'integer'|'number'|'boolean'|'json'} Kind */

/** How many references are followed from one place, and how deep a form nests. */
const maxHops = 16;
export const maxDepth = 8;

/** @param {unknown} v @returns {v is Schema} */
export function isObject(v) {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

/**
 * resolve follows local references. It gives null for what is none of this schema's, or goes round.
 * @param {unknown} schema
 * @param {unknown} root
 * @returns {Schema|null}
 */
export function resolve(schema, root) {
  let at = schema;
  for (let hop = 0; hop < maxHops; hop++) {
    if (!isObject(at)) return null;
    const ref = at.$ref;
    if (ref === undefined) return at;
    if (typeof ref !== 'string' || (ref !== '#' && !ref.startsWith('#/'))) return null;
    at = pointed(ref, root);
  }
  return null;
}

/** @param {string} ref @param {unknown} root @returns {unknown} */
function pointed(ref, root) {
  let at = root;
  for (const part of ref.split('/').slice(1)) {
    const name = unescape(part);
    if (Array.isArray(at)) at = at[Number(name)];
    else if (isObject(at) && Object.hasOwn(at, name)) at = at[name];
    else return null;
  }
  return at;
}

/** @param {string} part */
function unescape(part) {
  let name = part;
  try {
    name = decodeURIComponent(part);
  } catch {
    // not percent-encoded: it is meant as it stands
  }
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** What a form has no field for: such a place is given as JSON. */
const beyond = ['allOf', 'not', 'if', 'then', 'else', 'patternProperties', 'dependencies', 'dependentSchemas', 'dependentRequired', 'propertyNames', 'contains', 'prefixItems'];

/**
 * kind says how a resolved schema is shown.
 * @param {Schema|null} s
 * @returns {Kind}
 */
export function kind(s) {
  if (!s || beyond.some((word) => word in s)) return 'json';
  if ('const' in s) return 'const';
  if (Array.isArray(s.enum) && s.enum.length > 0) return 'enum';
  if (isChoice(s)) return 'choice';
  if ('oneOf' in s || 'anyOf' in s) return 'json';
  if (s.type === 'object' || (s.type === undefined && isObject(s.properties))) return hasProperties(s) ? 'object' : 'json';
  if (s.type === 'array') return isObject(s.items) ? 'array' : 'json';
  if (['string', 'integer', 'number', 'boolean'].includes(s.type)) return s.type;
  return 'json';
}

/** @param {Schema} s */
function hasProperties(s) {
  return isObject(s.properties) && Object.keys(s.properties).length > 0;
}

/** A choice is one of several schemas, and nothing beside it. @param {Schema} s */
function isChoice(s) {
  return options(s).length > 0 && s.properties === undefined && !('oneOf' in s && 'anyOf' in s);
}

/** @param {Schema} s @returns {unknown[]} */
export function options(s) {
  const of = s.oneOf ?? s.anyOf;
  return Array.isArray(of) ? of : [];
}

/** name says what an option of a choice is. @param {Schema|null} s @param {number} i */
export function optionName(s, i) {
  if (s && typeof s.title === 'string' && s.title !== '') return s.title;
  if (s && 'const' in s) return typeof s.const === 'string' ? s.const : JSON.stringify(s.const);
  const telling = s && isObject(s.properties) ? Object.values(s.properties).find((p) => isObject(p) && typeof p.const === 'string') : undefined;
  if (telling) return telling.const;
  if (s && typeof s.type === 'string') return s.type;
  return `choice ${i + 1}`;
}

/**
 * fits says roughly whether a value is of a schema: well enough to choose an option for it.
 * @param {Schema|null} s
 * @param {unknown} value
 */
export function fits(s, value) {
  if (!s) return false;
  if ('const' in s) return JSON.stringify(s.const) === JSON.stringify(value);
  if (Array.isArray(s.enum)) return s.enum.some((e) => JSON.stringify(e) === JSON.stringify(value));
  if (s.type === 'object' || isObject(s.properties)) return isObject(value) && required(s).every((name) => Object.hasOwn(value, name));
  if (s.type === 'array') return Array.isArray(value);
  if (s.type === 'integer') return Number.isInteger(value);
  return s.type === undefined || s.type === typeof value || (s.type === 'null' && value === null);
}

/** @param {Schema} s @returns {string[]} */
export function required(s) {
  return Array.isArray(s.required) ? s.required.filter((name) => typeof name === 'string') : [];
}

/**
 * wrongNumber says what is wrong with a number as it was typed, or gives null.
 * @param {Schema} s
 * @param {string} typed
 * @returns {string|null}
 */
export function wrongNumber(s, typed) {
  const n = Number(typed);
  if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(typed) || !Number.isFinite(n)) return 'Not a number.';
  if (s.type === 'integer' && !Number.isInteger(n)) return 'Not a whole number.';
  if (Number.isInteger(n) && !Number.isSafeInteger(n)) return 'Larger than this page can send exactly.';
  if (typeof s.minimum === 'number' && n < s.minimum) return `At least ${s.minimum}.`;
  if (typeof s.maximum === 'number' && n > s.maximum) return `At most ${s.maximum}.`;
  if (typeof s.exclusiveMinimum === 'number' && n <= s.exclusiveMinimum) return `More than ${s.exclusiveMinimum}.`;
  if (typeof s.exclusiveMaximum === 'number' && n >= s.exclusiveMaximum) return `Less than ${s.exclusiveMaximum}.`;
  return null;
}

/**
 * wrongString says what is wrong with a text, or gives null. A pattern is the hub's to try: one of a stranger may take for ever here.
 * @param {Schema} s
 * @param {string} text
 * @returns {string|null}
 */
export function wrongString(s, text) {
  const long = [...text].length;
  if (typeof s.minLength === 'number' && long < s.minLength) return `At least ${s.minLength} characters.`;
  if (typeof s.maxLength === 'number' && long > s.maxLength) return `At most ${s.maxLength} characters.`;
  return null;
}

/**
 * wrongCount says what is wrong with how many items there are, or gives null.
 * @param {Schema} s
 * @param {number} n
 * @returns {string|null}
 */
export function wrongCount(s, n) {
  if (typeof s.minItems === 'number' && n < s.minItems) return `At least ${s.minItems}.`;
  if (typeof s.maxItems === 'number' && n > s.maxItems) return `At most ${s.maxItems}.`;
  return null;
}

/**
 * rule says in words what a schema asks of a value, for the line under its field.
 * @param {Schema} s
 * @returns {string}
 */
export function rule(s) {
  const said = [];
  if (typeof s.format === 'string') said.push(`format ${s.format}`);
  if (typeof s.pattern === 'string') said.push(`matches ${s.pattern}`);
  if (typeof s.minimum === 'number') said.push(`at least ${s.minimum}`);
  if (typeof s.exclusiveMinimum === 'number') said.push(`more than ${s.exclusiveMinimum}`);
  if (typeof s.maximum === 'number') said.push(`at most ${s.maximum}`);
  if (typeof s.exclusiveMaximum === 'number') said.push(`less than ${s.exclusiveMaximum}`);
  if (typeof s.minLength === 'number' && s.minLength > 0) said.push(s.minLength === 1 ? 'not empty' : `at least ${s.minLength} characters`);
  if (typeof s.maxLength === 'number') said.push(`at most ${s.maxLength} characters`);
  return said.join(', ');
}
