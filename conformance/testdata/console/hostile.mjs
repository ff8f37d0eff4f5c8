// What somebody may send to stop the page, or to have a changed text called unchanged; without a page.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';

const load = (name) => import(`${process.env.PAGE}/${name}`);
const { gist, groupOf, groups, sentence } = await load('words.js');
const { verify } = await load('chain.js');

const names = ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__'];
const shapes = [{ toString: 1 }, { toString: null, valueOf: null }, [{ toString: 1 }], null, 0, false, [], { a: 1 }];

test('a kind with the name of what every object has is a kind like others', () => {
  for (const kind of names) {
    const e = { seq: 1, turn: 1, type: 'trace', from: 'bob', at: '', payload: { kind, text: 'x' } };
    assert.equal(groupOf(e), kind);
    assert.equal(groups([e, e]), `2 ${kind}`);
    const said = sentence({ ...e, type: 'system', payload: { kind, reason: kind, approval: { status: kind } } });
    assert.ok(Array.isArray(said), kind);
  }
});

test('a value of any shape has a line', () => {
  for (const kind of ['llm_step', 'llm_tool_started', 'llm_tool_result', 'llm_usage', 'agent_config', 'other']) {
    for (const v of shapes) {
      const data = Object.fromEntries(['phase', 'model', 'finish', 'usage', 'elapsed_ms', 'cost_usd', 'message', 'tool', 'arguments', 'metadata', 'duration_ms', 'error', 'text', 'provider', 'sha256'].map((name) => [name, v]));
      for (const payload of [{ kind, data }, { kind, data: v, text: v }, { kind, data: { metadata: { status: v }, message: { text: v, tool_calls: [v, { name: v }] } } }]) {
        assert.equal(typeof gist({ seq: 1, turn: 1, type: 'trace', from: 'bob', at: '', payload }), 'string');
      }
    }
  }
  assert.ok(gist({ type: 'trace', payload: { kind: 'llm_step', data: { model: 'm'.repeat(1 << 20) } } }).length < 1000);
});

function shared(text) {
  const event = JSON.stringify({ seq: 1, text });
  const hash = createHash('sha256').update(createHash('sha256').update('c1').digest()).update(event).digest('hex');
  return { version: 1, conversationId: 'c1', sharedAt: '', latestSeq: 1, headHash: hash, begins: { seq: 0 }, hidden: 0, records: [{ seq: 1, event, hash }] };
}

test('half a surrogate pair is not the character that stands for it in UTF-8', async () => {
  const s = shared('pay \ufffd');
  assert.equal((await verify(s)).state, 'whole');
  s.records[0].event = s.records[0].event.replace('\ufffd', '\ud800');
  assert.equal((await verify(s)).state, 'broken');
});

test('counts that are none hide nothing', async () => {
  for (const hidden of [null, 'x', undefined, NaN, {}, -1]) {
    for (const latestSeq of [1, 9]) assert.notEqual((await verify({ ...shared('a'), latestSeq, hidden })).state, 'whole', String(JSON.stringify(hidden)));
  }
});
