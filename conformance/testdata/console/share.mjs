// What the console makes of hashes, chains and schemas, without a page.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

const load = (name) => import(`${process.env.PAGE}/${name}`);
const { digest, fromHex, hex, sha256 } = await load('sha256.js');
const { forkHolds, verify } = await load('chain.js');
const { fits, kind, resolve, wrongNumber, wrongString } = await load('schema.js');

const utf8 = (text) => new TextEncoder().encode(text);

test('SHA-256 of FIPS 180-4', () => {
  const vectors = {
    '': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'abc': 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq': '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu': 'cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1',
  };
  for (const [text, want] of Object.entries(vectors)) assert.equal(hex(digest(utf8(text))), want);
  assert.equal(hex(digest(utf8('a'.repeat(1_000_000)))), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0');
});

test('it agrees with another at every length around a block', async () => {
  for (let n = 0; n < 200; n++) {
    const bytes = Uint8Array.from({ length: n }, (_, i) => (i * 31 + n) & 255);
    const want = createHash('sha256').update(bytes).digest('hex');
    assert.equal(hex(digest(bytes)), want, `length ${n}`);
    assert.equal(hex(await sha256(bytes)), want, `length ${n}`);
  }
  assert.equal(fromHex('zz'), null);
  assert.equal(hex(fromHex('ab'.repeat(32))), 'ab'.repeat(32));
});

const next = (before, text) => createHash('sha256').update(before).update(text).digest();

function shared(id, texts) {
  let hash = createHash('sha256').update(id).digest();
  const records = texts.map((text, i) => {
    const event = JSON.stringify({ seq: i + 1, text });
    hash = next(hash, event);
    return { seq: i + 1, event, hash: hash.toString('hex') };
  });
  return { version: 1, conversationId: id, sharedAt: '', latestSeq: texts.length, headHash: hash.toString('hex'), begins: { seq: 0 }, hidden: 0, records };
}

test('a chain is whole, or the first record that is not what was written is named', async () => {
  const make = () => shared('c1', ['one', 'zwei \u00fc \u{1f600}', 'three', 'four']);
  assert.equal((await verify(make())).state, 'whole');

  const cases = {
    'another byte': [(s) => { s.records[1].event = s.records[1].event.replace('zwei', 'drei'); }, 'broken', 2],
    'another hash': [(s) => { s.records[2].hash = 'ab'.repeat(32); }, 'broken', 3],
    'another head': [(s) => { s.headHash = 'ab'.repeat(32); }, 'broken', 0],
    'another id': [(s) => { s.conversationId = 'c2'; }, 'broken', 1],
    'one is gone': [(s) => { s.records.splice(1, 1); }, 'broken', 2],
    'the last is gone': [(s) => { s.records.pop(); }, 'broken', 4],
    'the last is gone, and told so': [(s) => { s.records.pop(); s.latestSeq = 3; }, 'broken', 0],
    'one is added': [(s) => { s.records.push({ seq: 5, event: '{"seq":5}', hash: '' }); }, 'broken', 5],
    'two have changed places': [(s) => { s.records.splice(1, 2, s.records[2], s.records[1]); }, 'broken', 2],
    'one is hidden': [(s) => { s.records.splice(1, 1); s.hidden = 1; }, 'hidden', 1],
    'it begins later': [(s) => { s.begins = { seq: 2, hash: s.records[1].hash }; s.records.splice(0, 2); }, 'whole', 4],
    'it begins later, nobody knows with what': [(s) => { s.begins = { seq: 2 }; s.records.splice(0, 2); }, 'hidden', 0],
    'it says another seq': [(s) => { // whoever has made it has made all hashes anew
      const anew = shared('c1', ['one', 'two']);
      anew.records[1].event = '{"seq":7}';
      anew.headHash = anew.records[1].hash = next(Buffer.from(anew.records[0].hash, 'hex'), '{"seq":7}').toString('hex');
      Object.assign(s, anew);
    }, 'broken', 2],
  };
  for (const [name, [change, state, seq]] of Object.entries(cases)) {
    const s = make();
    change(s);
    const got = await verify(s);
    assert.deepEqual([got.state, got.seq], [state, seq], `${name}: ${got.why}`);
  }
});

test('a fork names the hash of the other', async () => {
  const s = shared('fork', ['one', 'two', 'three']);
  let hash = createHash('sha256').update('first').digest();
  for (const r of s.records.slice(0, 2)) hash = next(hash, r.event);
  assert.equal(await forkHolds(s, { conversationId: 'first', seq: 2, hash: hash.toString('hex') }), true);
  assert.equal(await forkHolds(s, { conversationId: 'second', seq: 2, hash: hash.toString('hex') }), false);
  assert.equal(await forkHolds({ ...s, begins: { seq: 1 }, records: s.records.slice(1) }, { conversationId: 'first', seq: 2, hash: '' }), null);
});

test('a schema is shown by fields where it can be', () => {
  const kinds = [
    [{ type: 'string' }, 'string'], [{ type: 'integer' }, 'integer'], [{ enum: [1, 'a'] }, 'enum'], [{ const: 1 }, 'const'], [{ type: 'boolean' }, 'boolean'],
    [{ type: 'object', properties: { a: {} } }, 'object'], [{ properties: { a: {} } }, 'object'], [{ type: 'object' }, 'json'], [{ type: 'array', items: { type: 'string' } }, 'array'],
    [{ type: 'array' }, 'json'], [{ oneOf: [{ type: 'string' }, { type: 'integer' }] }, 'choice'], [{ allOf: [{}] }, 'json'], [{ type: ['string', 'null'] }, 'json'], [{}, 'json'], [null, 'json'],
    [{ type: 'object', properties: { a: {} }, if: {} }, 'json'], [{ oneOf: [{}], anyOf: [{}] }, 'json'],
  ];
  for (const [schema, want] of kinds) assert.equal(kind(schema), want, JSON.stringify(schema));
});

test('references are followed within the schema, and not in circles', () => {
  const root = { $defs: { 'a/b': { type: 'string' }, round: { $ref: '#/$defs/round' } }, properties: { x: { $ref: '#/$defs/a~1b' } } };
  assert.deepEqual(resolve({ $ref: '#/$defs/a~1b' }, root), { type: 'string' });
  assert.equal(resolve({ $ref: '#' }, root), root);
  for (const ref of ['#/$defs/round', '#/$defs/none', 'https://example.com/s.json', '#/__proto__/x', 7]) assert.equal(resolve({ $ref: ref }, root), null, String(ref));
});

test('what is typed is held against the bounds', () => {
  assert.equal(wrongNumber({ type: 'integer', minimum: 1, maximum: 9 }, '3'), null);
  for (const typed of ['', '0', '10', '1.5', 'x', '1e400', '0x10', '99999999999999999999']) assert.ok(wrongNumber({ type: 'integer', minimum: 1, maximum: 9 }, typed), typed);
  assert.ok(wrongNumber({ type: 'number', exclusiveMaximum: 1 }, '1'));
  assert.ok(wrongNumber({ type: 'integer' }, '9007199254740993'));
  assert.equal(wrongString({ minLength: 1, maxLength: 2 }, '\u{1f600}\u{1f600}'), null);
  assert.ok(wrongString({ minLength: 1 }, ''));
  assert.ok(fits({ type: 'object', required: ['a'] }, { a: 1 }));
  assert.ok(!fits({ type: 'object', required: ['a'] }, {}));
});
