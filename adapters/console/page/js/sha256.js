// SHA-256 (FIPS 180-4). A page that was opened from a file may have no crypto.subtle: then it is done here.

/** @type {Uint32Array} the first 32 bits of the fractions of the cube roots of the first 64 primes */
const k = fractions(64, Math.cbrt);
const start = fractions(8, Math.sqrt);

/** @param {number} n @param {(prime: number) => number} root */
function fractions(n, root) {
  const all = new Uint32Array(n);
  for (let p = 2, i = 0; i < n; p++) {
    if (isPrime(p)) all[i++] = (root(p) % 1) * 2 ** 32;
  }
  return all;
}

/** @param {number} p */
function isPrime(p) {
  for (let d = 2; d * d <= p; d++) if (p % d === 0) return false;
  return true;
}

/**
 * digest gives the hash without the browser's help.
 * @param {Uint8Array} bytes
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function digest(bytes) {
  const padded = new Uint8Array((bytes.length + 9 + 63) & ~63);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length * 8) >>> 0);
  const state = start.slice();
  const w = new Uint32Array(64);
  for (let at = 0; at < padded.length; at += 64) block(state, w, view, at);
  const out = new Uint8Array(32);
  const written = new DataView(out.buffer);
  state.forEach((word, i) => written.setUint32(4 * i, word));
  return out;
}

/** @param {number} x @param {number} n */
const turn = (x, n) => (x >>> n) | (x << (32 - n));

/** @param {Uint32Array} state @param {Uint32Array} w @param {DataView} view @param {number} at */
function block(state, w, view, at) {
  /** @param {Uint32Array} words @param {number} i */
  const of = (words, i) => words[i] ?? 0;
  for (let i = 0; i < 16; i++) w[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = of(w, i - 15);
    const y = of(w, i - 2);
    w[i] = of(w, i - 16) + (turn(x, 7) ^ turn(x, 18) ^ (x >>> 3)) + of(w, i - 7) + (turn(y, 17) ^ turn(y, 19) ^ (y >>> 10));
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let i = 0; i < 64; i++) {
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + of(k, i) + of(w, i)) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => {
    state[i] = of(state, i) + word;
  });
}

/**
 * sha256 gives the hash, by the browser's own means where there are some.
 * @param {Uint8Array<ArrayBuffer>} bytes
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function sha256(bytes) {
  const subtle = globalThis.crypto?.subtle;
  return subtle ? new Uint8Array(await subtle.digest('SHA-256', bytes)) : digest(bytes);
}

/** hex @param {Uint8Array} bytes @returns {string} */
export function hex(bytes) {
  return Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
}

/** fromHex gives null for what is no hash. @param {string} text @returns {Uint8Array<ArrayBuffer>|null} */
export function fromHex(text) {
  if (!/^[0-9a-f]{64}$/.test(text)) return null;
  return Uint8Array.from({ length: 32 }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
}
