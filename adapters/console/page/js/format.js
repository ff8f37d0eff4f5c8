// Values as text for people.

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayAndClock = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/**
 * A time of day, with the day where that is not today.
 * @param {number | string} at in ms, or as the hub writes it
 * @returns {string}
 */
export function time(at) {
  const d = new Date(at);
  if (Number.isNaN(d.getTime())) return '';
  const now = new Date();
  if (d.toDateString() === now.toDateString()) return clock.format(d);
  return d.getFullYear() === now.getFullYear() ? dayAndClock.format(d) : whole.format(d);
}

/**
 * How long ago a time is.
 * @param {number | string} at in ms, or as the hub writes it
 * @param {number} nowMs
 * @returns {string}
 */
export function ago(at, nowMs) {
  const past = nowMs - new Date(at).getTime();
  return past < 1000 ? 'now' : `${duration(past)} ago`;
}

/**
 * A duration by its largest two units: 4m 12s.
 * @param {number} ms
 * @returns {string}
 */
export function duration(ms) {
  if (!Number.isFinite(ms)) return '';
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s}s`;
  const m = Math.floor(s / 60);
  if (m < 60) return pair(m, 'm', s % 60, 's');
  const hours = Math.floor(m / 60);
  if (hours < 24) return pair(hours, 'h', m % 60, 'm');
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/**
 * @param {number} large
 * @param {string} largeUnit
 * @param {number} small
 * @param {string} smallUnit
 */
function pair(large, largeUnit, small, smallUnit) {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`;
}

// What would be shown as nothing, or would change how the text around it is shown: controls but tab and line feed, zero-width and
// soft marks, bidi overrides and isolates, invisible operators, line and paragraph separators, tags, and halves of surrogate pairs.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

// Between letters of some scripts, and within emoji, these two are part of the spelling. Latin, Greek and Cyrillic have no use for them but to make two names look the same.
const joiners = /(?<=[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])(?<![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])[\u200c\u200d](?=[\p{L}\p{M}\p{Extended_Pictographic}])(?![\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])/gu;

/**
 * Text in which characters that hide or turn other text stand as marks: U+202E becomes "⟨U+202E⟩". A carriage return before a line
 * feed is left out.
 * @param {string} text
 * @returns {string}
 */
export function visible(text) {
  text = String(text).replace(/\r\n/g, '\n');
  if (text.search(hidden) < 0) return text;
  let out = '';
  let from = 0;
  const joined = new Set();
  for (const m of text.matchAll(joiners)) joined.add(m.index);
  for (const m of text.matchAll(hidden)) {
    if (joined.has(m.index)) continue;
    out += text.slice(from, m.index) + mark(m[0]);
    from = m.index + m[0].length;
  }
  return out + text.slice(from);
}

/** @param {string} char */
function mark(char) {
  const point = char.codePointAt(0) ?? 0;
  return `\u27e8U+${point.toString(16).toUpperCase().padStart(4, '0')}\u27e9`;
}

/**
 * A number of bytes: 1.5 MiB.
 * @param {number} n
 * @returns {string}
 */
export function bytes(n) {
  if (!Number.isFinite(n)) return '';
  if (n < 1024) return `${n} B`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  let i = -1;
  do {
    n /= 1024;
    i++;
  } while (n >= 1024 && i < units.length - 1);
  return `${n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

/**
 * Text of at most n characters; what is cut off is told by an ellipsis. No character is cut in two.
 * @param {string} text
 * @param {number} n
 * @returns {string}
 */
export function shorten(text, n) {
  if (text.length <= n) return text;
  let cut = text.slice(0, Math.max(n - 1, 0));
  if (/[\ud800-\udbff]$/.test(cut)) cut = cut.slice(0, -1);
  return `${cut}\u2026`;
}

/**
 * A value as indented JSON.
 * @param {unknown} value
 * @returns {string}
 */
export function json(value) {
  return JSON.stringify(value, null, 2) ?? '';
}

/**
 * A number of things: "1 event", "3 events".
 * @param {number} n
 * @param {string} noun
 * @returns {string}
 */
export function count(n, noun) {
  return `${n.toLocaleString()} ${noun}${n === 1 ? '' : 's'}`;
}
