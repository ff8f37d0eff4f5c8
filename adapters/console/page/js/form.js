// A form made of a JSON Schema. What the schema says that no field can show is given as JSON. The hub has the last word.
import { h, replace } from './dom.js';
import { visible, json } from './format.js';
import { fits, isObject, kind, maxDepth, optionName, options, required, resolve, rule, wrongCount, wrongNumber, wrongString } from './schema.js';

/** @typedef {import('./schema.js').Schema} Schema */
/** @typedef {{path: string, message: string}} Wrong */
/**
 * A field reads undefined when nothing is given.
 * @typedef {{element: HTMLElement, control: HTMLElement|null, read: (errors: Wrong[]) => any}} Field
 */
/**
 * Where a field stands. Loose is one inside of an object that need not be given: it says nothing by itself.
 * @typedef {{schema: Schema|null, path: string, label: string, value: any, needed: boolean, depth: number, loose?: boolean}} Place
 */

/** How many fields one form has: a schema that refers to itself in many places could have more than a page can hold. */
const maxFields = 500;

let ids = 0;

/** Form makes fields and knows which place each is of. */
class Form {
  /** @param {unknown} root */
  constructor(root) {
    this.root = root;
    this.fields = 0;
    /** @type {Map<string, HTMLElement>} the line for what is wrong, by path */
    this.lines = new Map();
    /** @type {Map<string, HTMLElement>} */
    this.controls = new Map();
  }

  /** @param {Place} p @returns {Field} */
  field(p) {
    this.fields++;
    const k = p.depth > maxDepth || this.fields > maxFields ? 'json' : kind(p.schema);
    const s = p.schema ?? {};
    switch (k) {
      case 'const':
        return this.constant(p, s);
      case 'enum':
        return this.choose(p, s, s.enum.map((/** @type {unknown} */ e) => ({ name: typeof e === 'string' ? e : JSON.stringify(e), value: e })));
      case 'choice':
        return this.choice(p, s);
      case 'object':
        return this.object(p, s);
      case 'array':
        return this.array(p, s);
      case 'boolean':
        return this.boolean(p, s);
      case 'string':
        return this.string(p, s);
      case 'integer':
      case 'number':
        return this.number(p, s);
      default:
        return this.json(p, s);
    }
  }

  /**
   * row puts a control under its label, with what the schema says of it and a line for what is wrong.
   * @param {Place} p @param {Schema} s @param {HTMLElement} control
   */
  row(p, s, control) {
    const id = `f${++ids}`;
    control.id = id;
    const wrong = h('p', { class: 'field-wrong', id: `${id}-wrong` });
    const about = h('p', { class: 'field-hint foreign', dir: 'auto', id: `${id}-hint` }, hint(s));
    control.setAttribute('aria-describedby', `${id}-hint ${id}-wrong`);
    if (p.needed) control.setAttribute('aria-required', 'true');
    this.lines.set(p.path, wrong);
    this.controls.set(p.path, control);
    const label = h('label', { class: 'foreign', dir: 'auto' }, visible(p.label), p.needed ? h('span', { class: 'needed', 'aria-hidden': 'true' }, ' *') : null);
    /** @type {HTMLLabelElement} */ (label).htmlFor = id;
    return h('div', { class: 'field' }, label, control, about, wrong);
  }

  /** @param {Place} p @param {Schema} s @returns {Field} */
  constant(p, s) {
    const box = input('checkbox');
    box.checked = (p.needed && !p.loose) || p.value !== undefined;
    box.disabled = p.needed && !p.loose;
    const row = this.row({ ...p, label: `${p.label}: ${typeof s.const === 'string' ? s.const : json(s.const)}` }, s, box);
    return { element: row, control: box, read: () => (box.checked ? s.const : undefined) };
  }

  /** @param {Place} p @param {Schema} s @param {{name: string, value: unknown}[]} all @returns {Field} */
  choose(p, s, all) {
    const select = /** @type {HTMLSelectElement} */ (h('select', {}, p.needed && p.value !== undefined ? null : h('option', { value: '' }, p.needed ? 'Choose…' : 'Not given'),
      all.map((o, i) => h('option', { value: String(i) }, visible(o.name)))));
    const at = all.findIndex((o) => p.value !== undefined && JSON.stringify(o.value) === JSON.stringify(p.value));
    select.value = at < 0 ? '' : String(at);
    return {
      element: this.row(p, s, select),
      control: select,
      read: (errors) => {
        if (select.value !== '') return all[Number(select.value)]?.value;
        return missing(p, errors);
      },
    };
  }

  /** A choice has a field that says which, and the fields of that one. @param {Place} p @param {Schema} s @returns {Field} */
  choice(p, s) {
    const all = options(s).map((o) => resolve(o, this.root));
    if (all.every((o) => o !== null && 'const' in o)) {
      return this.choose(p, s, all.map((o, i) => ({ name: optionName(o, i), value: o?.const })));
    }
    const first = p.value === undefined ? 0 : Math.max(0, all.findIndex((o) => fits(o, p.value)));
    const select = /** @type {HTMLSelectElement} */ (h('select', {}, p.needed ? null : h('option', { value: '' }, 'Not given'),
      all.map((o, i) => h('option', { value: String(i) }, visible(optionName(o, i))))));
    select.value = p.needed || p.value !== undefined ? String(first) : '';
    const place = h('div', { class: 'field-chosen' });
    /** @type {Field|null} */
    let chosen = null;
    const show = () => {
      const i = select.value === '' ? -1 : Number(select.value);
      chosen = i < 0 ? null : this.field({ ...p, schema: all[i] ?? null, label: optionName(all[i] ?? null, i), value: i === first ? p.value : undefined, needed: true, depth: p.depth + 1 });
      replace(place, chosen?.element);
    };
    const row = this.row(p, s, select);
    select.addEventListener('change', show);
    show();
    return { element: h('div', {}, row, place), control: select, read: (errors) => (chosen ? chosen.read(errors) : undefined) };
  }

  /** @param {Place} p @param {Schema} s @returns {Field} */
  object(p, s) {
    const needed = required(s);
    const given = isObject(p.value) ? p.value : {};
    const names = Object.keys(s.properties);
    const loose = p.loose || (!p.needed && p.value === undefined);
    const fields = names.map((name) => {
      const schema = resolve(s.properties[name], this.root);
      const value = Object.hasOwn(given, name) ? given[name] : schema?.default;
      return this.field({ schema, path: `${p.path}.${name}`, label: title(schema, name), value, needed: needed.includes(name), depth: p.depth + 1, loose });
    });
    const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));
    const wrong = h('p', { class: 'field-wrong' });
    this.lines.set(p.path, wrong);
    const set = h('fieldset', { class: 'field-object' }, p.depth === 0 ? null : h('legend', { class: 'foreign', dir: 'auto' }, visible(p.label)),
      p.depth > 0 && typeof s.description === 'string' ? h('p', { class: 'field-hint foreign', dir: 'auto' }, visible(s.description)) : null, fields.map((f) => f.element), wrong);
    return {
      element: set,
      control: null,
      read: (errors) => {
        /** @type {Wrong[]} */
        const mine = [];
        /** @type {Record<string, any>} */
        const value = { ...rest };
        fields.forEach((f, i) => {
          const v = f.read(mine);
          if (v !== undefined) put(value, names[i] ?? '', v);
        });
        if (!p.needed && Object.keys(value).length === 0) return undefined; // what it would need is not needed
        errors.push(...mine);
        return value;
      },
    };
  }

  /** @param {Place} p @param {Schema} s @returns {Field} */
  array(p, s) {
    const list = h('ol', { class: 'field-items' });
    const schema = resolve(s.items, this.root);
    /** @type {Field[]} */
    let items = [];
    const wrong = h('p', { class: 'field-wrong' });
    this.lines.set(p.path, wrong);
    /** @param {any} value */
    const add = (value) => {
      const f = this.field({ schema, path: `${p.path}[${items.length}]`, label: `${p.label} ${items.length + 1}`, value, needed: true, depth: p.depth + 1 });
      items.push(f);
      const row = h('li', {}, f.element, h('button', { type: 'button', class: 'quiet', 'aria-label': `Remove ${visible(p.label)} ${items.length}`, on: { click: () => {
        items = items.filter((other) => other !== f);
        row.remove();
        more.focus();
      } } }, 'Remove'));
      list.append(row);
      return f;
    };
    const more = h('button', { type: 'button', class: 'quiet', on: { click: () => add(schema?.default).control?.focus() } }, 'Add');
    if (Array.isArray(p.value)) p.value.forEach(add);
    else if (p.needed) for (let i = 0; i < Math.min(s.minItems ?? 0, 10); i++) add(schema?.default);
    const was = Array.isArray(p.value);
    return {
      element: h('fieldset', { class: 'field-object' }, h('legend', { class: 'foreign', dir: 'auto' }, visible(p.label), p.needed ? ' *' : ''),
        h('p', { class: 'field-hint foreign', dir: 'auto' }, hint(s)), list, more, wrong),
      control: more,
      read: (errors) => {
        if (items.length === 0 && !p.needed && !was) return undefined;
        const count = wrongCount(s, items.length);
        if (count) errors.push({ path: p.path, message: count });
        return items.map((f) => f.read(errors) ?? null);
      },
    };
  }

  /** @param {Place} p @param {Schema} s @returns {Field} */
  boolean(p, s) {
    if ((!p.needed || p.loose) && p.value === undefined) {
      return this.choose(p, s, [{ name: 'Yes', value: true }, { name: 'No', value: false }]);
    }
    const box = input('checkbox');
    box.checked = p.value === true;
    return { element: this.row(p, s, box), control: box, read: () => box.checked };
  }

  /** @param {Place} p @param {Schema} s @returns {Field} */
  string(p, s) {
    const text = typeof p.value === 'string' ? p.value : '';
    const control = isLong(p, s, text) ? /** @type {HTMLTextAreaElement} */ (h('textarea', { rows: '4', dir: 'auto' })) : input(inputTypes.get(s.format) ?? 'text');
    control.value = text;
    control.spellcheck = false;
    return {
      element: this.row(p, s, control),
      control,
      read: (errors) => {
        if (control.value === '' && p.value !== '') return missing(p, errors);
        const wrong = wrongString(s, control.value);
        if (wrong) errors.push({ path: p.path, message: wrong });
        return control.value;
      },
    };
  }

  /** @param {Place} p @param {Schema} s @returns {Field} */
  number(p, s) {
    const control = input('text');
    control.inputMode = s.type === 'integer' ? 'numeric' : 'decimal';
    control.value = typeof p.value === 'number' ? String(p.value) : '';
    return {
      element: this.row(p, s, control),
      control,
      read: (errors) => {
        const typed = control.value.trim();
        if (typed === '') return missing(p, errors);
        const wrong = wrongNumber(s, typed);
        if (!wrong) return Number(typed);
        errors.push({ path: p.path, message: wrong });
        return undefined;
      },
    };
  }

  /** @param {Place} p @param {Schema} s @returns {Field} */
  json(p, s) {
    const control = /** @type {HTMLTextAreaElement} */ (h('textarea', { rows: '5', class: 'code' }));
    control.spellcheck = false;
    control.value = p.value === undefined ? '' : JSON.stringify(p.value, null, 2);
    return {
      element: this.row({ ...p, label: `${p.label} (JSON)` }, s, control),
      control,
      read: (errors) => {
        if (control.value.trim() === '') return missing(p, errors);
        try {
          return JSON.parse(control.value);
        } catch (e) {
          errors.push({ path: p.path, message: `Not JSON: ${e instanceof Error ? e.message : e}` });
          return undefined;
        }
      },
    };
  }

  /**
   * show puts each error under the field of its path, or of the nearest place around it, and gives those that have none.
   * @param {Wrong[]} errors
   * @returns {Wrong[]}
   */
  show(errors) {
    for (const line of this.lines.values()) replace(line);
    for (const control of this.controls.values()) control.removeAttribute('aria-invalid');
    /** @type {Wrong[]} */
    const homeless = [];
    /** @type {HTMLElement|undefined} */
    let first;
    for (const e of errors) {
      const path = this.nearest(e.path);
      const line = path === undefined ? undefined : this.lines.get(path);
      if (path === undefined || !line) {
        homeless.push(e);
        continue;
      }
      line.append(h('span', { class: 'foreign', dir: 'auto' }, visible(path === e.path ? e.message : `${e.path}: ${e.message}`)), ' ');
      const control = this.controls.get(path);
      control?.setAttribute('aria-invalid', 'true');
      first ??= control;
    }
    first?.focus();
    return homeless;
  }

  /** @param {string} path @returns {string|undefined} */
  nearest(path) {
    for (let at = path; at !== ''; at = at.slice(0, Math.max(at.lastIndexOf('.'), at.lastIndexOf('['), 0))) {
      if (this.lines.get(at)?.isConnected) return at;
    }
    return undefined;
  }
}

/** @type {Map<unknown, string>} */
const inputTypes = new Map([['email', 'email'], ['uri', 'url'], ['date', 'date'], ['password', 'password']]);

/** Texts whose names say that they are written in sentences get room for them. @param {Place} p @param {Schema} s @param {string} text */
function isLong(p, s, text) {
  if (s.format !== undefined) return false;
  if (typeof s.maxLength === 'number') return s.maxLength > 200;
  return text.length > 60 || /(^|[._])(prompt|text|message|description|content|body|notes?|reason|instructions?|question)$/i.test(p.path);
}

/** @param {string} type */
function input(type) {
  return /** @type {HTMLInputElement} */ (h('input', { type, autocomplete: 'off' }));
}

/** @param {Schema|null} s @param {string} name */
function title(s, name) {
  return s && typeof s.title === 'string' && s.title !== '' ? `${s.title} (${name})` : name;
}

/** @param {Schema} s */
function hint(s) {
  const about = typeof s.description === 'string' ? visible(s.description) : '';
  const asked = visible(rule(s));
  return about && asked ? `${about} (${asked})` : about || asked;
}

/** @param {Place} p @param {Wrong[]} errors @returns {undefined} */
function missing(p, errors) {
  if (p.needed) errors.push({ path: p.path, message: 'Required.' });
  return undefined;
}

/** put sets a member, whatever its name. @param {Record<string, any>} object @param {string} name @param {any} value */
function put(object, name, value) {
  Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/**
 * schemaForm makes a form for what a schema describes. value() reads it: errors are what is wrong so far, as the hub would name them. show() puts errors at their fields and gives
 * back those that have none.
 * @param {unknown} schema
 * @param {unknown} [value]
 * @returns {{element: HTMLElement, value: () => {value: any, errors: Wrong[]}, show: (errors: Wrong[]) => Wrong[]}}
 */
export function schemaForm(schema, value) {
  const form = new Form(schema);
  const top = resolve(schema, schema);
  const field = form.field({ schema: top, path: '$', label: 'Value', value: value === undefined ? top?.default : value, needed: true, depth: 0 });
  return {
    element: h('div', { class: 'schema-form' }, field.element),
    value: () => {
      /** @type {Wrong[]} */
      const errors = [];
      const v = field.read(errors);
      return { value: v, errors };
    },
    show: (errors) => form.show(errors),
  };
}
