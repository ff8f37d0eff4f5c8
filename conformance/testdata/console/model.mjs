// Tests of what the console knows about a conversation without a page: the fold of events, the rows of a timeline, the search, the comparison. Run by node --test with PAGE set to the
// address of the console's modules.

import assert from 'node:assert/strict';
import test from 'node:test';

const from = (name) => import(`${process.env.PAGE}/${name}.js`);
const { Fold, foldAll, advance } = await from('fold');
const { FOLD_FROM, Heights, align, indexOf, rowAt, rowsOf, seam, search, turnBefore, wordsOf } = await from('layout');
const { Conversation } = await from('model');
const { announcement, gist, groups, sentence, usedWords } = await from('words');
const { canonical, digestOf } = await from('config');

const at = (ms) => new Date(946684800000 + ms).toISOString();
const message = (seq, turn, who, text, finality = 'turn', more = {}) => ({ seq, turn, type: 'message', from: who, at: at(seq * 10), finality, payload: { text }, ...more });
const trace = (seq, turn, who, kind, data) => ({ seq, turn, type: 'trace', from: who, at: at(seq * 10), payload: { kind, data } });
const system = (seq, kind, members = {}) => ({ seq, type: 'system', from: 'hub', at: at(seq * 10), payload: { kind, ...members } });
const claimed = (seq, turn, attempt, hash) => system(seq, 'turn_claimed', { turn, agentId: 'bot', attempt, claimHash: hash, durationMs: 1000 });
const everything = { traces: true, system: true };

test('a claim stands from when it is taken until it ends', () => {
  const f = new Fold();
  f.step(claimed(2, 1, 1, 'a'));
  assert.equal(f.claim.deadlineMs, Date.parse(at(20)) + 1000);
  f.step(system(3, 'claim_renewed', { turn: 1, claimHash: 'a', durationMs: 5000 }));
  assert.equal(f.claim.deadlineMs, Date.parse(at(30)) + 5000);
  f.step(message(4, 1, 'bot', 'done'));
  assert.equal(f.claim, null);
  assert.equal(f.claims.get('a').ended, 'final');
  assert.equal(f.turns.get(1).ended, 'turn');
});

test('a turn says how long it took, and what it has used, once', () => {
  const step = (seq, turn, input, output, cost) => trace(seq, turn, 'bot', 'llm_step', { usage: { prompt_tokens: input, completion_tokens: output }, ...(cost ? { cost_usd: cost } : {}) });
  const f = foldAll([claimed(2, 1, 1, 'a'), step(3, 1, 10, 2, 0.25), step(4, 1, 20, 3, 0.5), trace(5, 1, 'bot', 'llm_step', { model: 'm' })]);
  assert.deepEqual(f.turns.get(1).used, { input: 30, output: 5, cost: 0.75, whole: false });
  f.step(trace(6, 1, 'bot', 'llm_usage', { usage: { input_tokens: 40, output_tokens: 7 }, cost_usd: 1 })); // an earlier attempt too
  f.step(step(7, 1, 1000, 1000));
  assert.deepEqual(f.turns.get(1).used, { input: 40, output: 7, cost: 1, whole: true });
  f.step(message(9, 1, 'bot', 'done'));
  assert.equal(f.turns.get(1).at - f.turns.get(1).began, 70);
  f.step(step(10, 2, 1, 1));
  assert.deepEqual(f.used(), { input: 41, output: 8, cost: 1, whole: false });
  assert.equal(usedWords(f.used()), '41 tokens in, 8 out, $1.0000');
  assert.equal(new Fold().used(), null);
  for (const data of [null, 7, [], { usage: 'much' }, { usage: { prompt_tokens: 'x' } }, { usage: { prompt_tokens: Infinity } }]) f.step(trace(11, 3, 'bot', 'llm_step', data));
  assert.equal(f.turns.get(3).used, null);
});

test('what a failed attempt has said is withdrawn, and nothing else', () => {
  const events = [message(2, 1, 'ann', 'before'), claimed(3, 2, 2, 'a'), message(4, 2, 'bot', 'half', 'none'), trace(5, 2, 'bot', 'thought'),
    system(6, 'note', { schema: 's' }), system(7, 'claim_ended', { turn: 2, claimHash: 'a', reason: 'expired', resetFrom: 4 }), message(8, 2, 'bot', 'whole')];
  const f = foldAll(events);
  const words = events.map((e) => [e.seq, f.withdrawnBy(e)?.attempt ?? 0]);
  assert.deepEqual(words, [[2, 0], [3, 0], [4, 2], [5, 2], [6, 0], [7, 0], [8, 0]]);
});

test('a fold that begins in the middle says nothing wrong', () => {
  const f = foldAll([system(70, 'claim_ended', { turn: 2, claimHash: 'unknown', reason: 'expired', resetFrom: 64 }), system(71, 'session_ended', { sessionId: 's', status: 'failed' })]);
  assert.equal(f.claim, null);
  assert.equal(f.withdrawnBy(message(65, 2, 'bot', 'x', 'none')).attempt, 0);
  assert.equal(f.sessions.size, 0);
});

test('payloads of any shape are let pass', () => {
  const f = new Fold();
  for (const payload of [null, 7, 'text', [], {}, { kind: 4 }, { kind: 'turn_claimed' }, { kind: 'trigger_matched', trigger: 'no' }, { kind: 'approval_resolved', approval: [] }, { kind: 'conversation_forked' }]) {
    const e = { seq: f.last + 1, type: 'system', from: 'hub', at: 'never', payload };
    f.step(e);
    sentence(e);
    wordsOf(e);
    f.step({ ...e, seq: f.last + 1, type: 'trace', turn: 1 });
    gist({ ...e, type: 'trace' });
    announcement({ ...e, type: 'message' });
  }
});

test('sessions, approvals and callbacks are linked', () => {
  const f = foldAll([
    system(2, 'session_started', { sessionId: 's1', agent: 'reviewer', agentId: 'ann', mode: 'async_callback' }),
    system(3, 'approval_requested', { turn: 1, agentId: 'bot', approval: { approvalId: 'p', title: 'Send?' } }),
    system(4, 'approval_resolved', { turn: 1, agentId: 'bot', approval: { approvalId: 'p', status: 'approved', by: 'ann' } }),
    system(5, 'session_ended', { sessionId: 's1', status: 'completed' }),
    { ...message(6, 2, 'hub', 'ended'), payload: { text: 'ended', data: { callbacks: [{ child_session_id: 's1', status: 'completed' }] } } },
  ]);
  assert.deepEqual([f.sessions.get('s1').started, f.sessions.get('s1').ended, f.sessions.get('s1').callback, f.sessions.get('s1').status], [2, 5, 6, 'completed']);
  assert.deepEqual([f.approvals.get('p').status, f.approvals.get('p').by], ['approved', 'ann']);
});

test('a fork leaves behind what waits in the other', () => {
  const f = foldAll([system(2, 'session_started', { sessionId: 's' }), system(3, 'approval_requested', { approval: { approvalId: 'p' } }),
    system(4, 'conversation_forked', { fork: { conversationId: 'x', seq: 3, hash: 'h' }, createdBy: 'ann' })]);
  assert.equal(f.shared, 3);
  assert.equal(f.sessions.get('s').status, 'left behind');
  assert.equal(f.approvals.get('p').status, 'left behind');
});

test('a snapshot keeps up with its events', () => {
  const s = { latestSeq: 1, status: 'active', participants: [{ id: 'ann' }], turn: 1, headHash: 'h' };
  advance(s, message(1, 1, 'ann', 'old')); // in the snapshot already
  assert.equal(s.headHash, 'h');
  advance(s, message(2, 1, 'ann', 'a', 'none'));
  assert.deepEqual(s.openTurn, { turn: 1, owner: 'ann' });
  advance(s, message(3, 1, 'ann', 'b'));
  assert.equal(s.openTurn, undefined);
  assert.equal(s.turn, 2);
  advance(s, system(4, 'participant_added', { participant: { id: 'bot', kind: 'agent' } }));
  assert.equal(s.participants.length, 2);
  advance(s, claimed(5, 2, 1, 'a'));
  assert.equal(s.openTurn.claim.attempt, 1);
  advance(s, system(6, 'claim_ended', { turn: 2, claimHash: 'a', reason: 'expired' }));
  assert.equal(s.openTurn.claim, undefined);
  advance(s, message(7, 2, 'hub', '', 'conversation', { outcome: { status: 'canceled', reason: 'deadline' } }));
  assert.deepEqual([s.status, s.outcome.reason, s.latestSeq], ['closed', 'deadline', 7]);
});

const many = (n) => Array.from({ length: n }, (_, i) => {
  const seq = i + 1;
  return seq % 5 === 0 ? message(seq, Math.ceil(seq / 5), 'bot', `m${seq}`) : trace(seq, Math.ceil(seq / 5), 'bot', seq % 7 === 0 ? 'error' : 'llm_step', { n: seq });
});

test('runs of quiet events are one row, and every event is in exactly one', () => {
  const events = many(100);
  const rows = rowsOf(events, new Set(), everything);
  assert.ok(rows.some((row) => row.fold && row.events.length >= FOLD_FROM));
  assert.ok(rows.every((row) => !row.fold || row.events.every((e) => e.turn === row.events[0].turn)));
  assert.deepEqual(rows.flatMap((row) => row.events.map((e) => e.seq)), events.map((e) => e.seq));
  const apart = rowsOf([1, 2, 3, 4, 5, 6].map((seq) => trace(seq, seq > 3 ? 2 : 1, 'bot', 'thought')), new Set(), everything);
  assert.deepEqual(apart.map((row) => [row.key, row.events.length]), [[1, 3], [4, 3]]);
  assert.ok(rowsOf(events, new Set([1]), everything)[0].fold === false);
  assert.deepEqual(rowsOf(events, new Set(), { traces: false, system: true }).map((row) => row.key), events.filter((e) => e.type === 'message').map((e) => e.seq));
});

test('rows that are added to piece by piece are those made at once', () => {
  const events = many(173);
  for (const step of [1, 2, 3, 17]) {
    const rows = [];
    for (let n = 0; n < events.length; n += step) {
      const now = events.slice(0, n + step);
      const { row, event } = seam(now, rows);
      rows.splice(row, rows.length, ...rowsOf(now, new Set([31]), everything, event));
    }
    assert.deepEqual(rows, rowsOf(events, new Set([31]), everything), `steps of ${step}`);
  }
});

test('seqs are found in rows and events', () => {
  const events = many(40).filter((e) => e.seq !== 11);
  const rows = rowsOf(events, new Set(), everything);
  for (const e of events) assert.ok(rows[rowAt(rows, e.seq)].events.includes(e), `seq ${e.seq}`);
  assert.equal(rowAt(rows, 0), -1);
  assert.equal(events[indexOf(events, 11)].seq, 12);
});

test('heights sum as plain addition does, whatever changes', () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const plain = Array.from({ length: 300 }, () => 1 + random(90));
  const heights = new Heights([...plain]);
  for (let round = 0; round < 400; round++) {
    const what = random(4);
    if (what === 0) {
      const keep = random(plain.length + 1);
      const more = Array.from({ length: random(9) }, () => 1 + random(90));
      plain.splice(keep, plain.length, ...more);
      heights.replaceFrom(keep, more);
      while (plain.length < 50) {
        plain.push(20);
        heights.replaceFrom(plain.length - 1, [20]);
      }
    } else {
      const i = random(plain.length);
      plain[i] = 1 + random(200);
      heights.set(i, plain[i]);
    }
    const n = random(plain.length + 1);
    assert.equal(heights.before(n), plain.slice(0, n).reduce((a, b) => a + b, 0));
    const y = random(heights.total);
    const i = heights.at(y);
    assert.ok(heights.before(i) <= y && y < heights.before(i + 1), `row ${i} at ${y}`);
  }
  assert.equal(new Heights([]).at(0), -1);
  assert.equal(new Heights([5, 5]).at(99), 1);
});

test('a search finds words, members and seqs in all events, in steps', () => {
  const events = many(60);
  events[20] = { ...events[20], payload: { kind: 'odd', data: { 'Key "quoted"': ['deep', { er: 'Nadel im Heu' }] } } };
  const found = (text) => {
    const seqs = [];
    for (let next = 0; next < events.length; ) {
      const step = search(events, text, next, () => true); // one event at a time
      seqs.push(...step.seqs);
      assert.ok(step.next > next);
      next = step.next;
    }
    return seqs;
  };
  assert.deepEqual(found('nadel IM'), [21]);
  assert.deepEqual(found('key "quoted"'), [21]);
  assert.deepEqual(found('#33'), [33]);
  assert.deepEqual(found('no such words'), []);
});

test('two forks are aligned by what they share, and then by turn', () => {
  const shared = [message(1, 1, 'ann', 'q'), message(2, 2, 'bot', 'a')];
  const a = [...shared, message(3, 3, 'ann', 'same'), message(4, 4, 'bot', 'left'), message(5, 4, 'bot', 'more')];
  const b = [...shared.map((e) => ({ ...e })), system(3, 'conversation_forked', { fork: { conversationId: 'a', seq: 2 } }), message(4, 3, 'ann', 'same'), message(5, 4, 'bot', 'right')];
  const { shared: n, pairs } = align(a, b);
  assert.equal(n, 2);
  assert.deepEqual(pairs.map((p) => [p.turn, p.a?.seq ?? 0, p.b?.seq ?? 0, p.differs]), [[3, 3, 4, false], [4, 4, 5, true], [4, 5, 0, true]]);
});

test('quiet events are counted by what they are', () => {
  assert.equal(groups([trace(1, 1, 'b', 'llm_step'), trace(2, 1, 'b', 'llm_step'), trace(3, 1, 'b', 'llm_tool_result'), system(4, 'claim_renewed')]), '2 model steps, 1 tool step, 1 renewal');
  assert.equal(groups([trace(1, 1, 'b', 'llm_tool_started', { tool: 'search' }), trace(2, 1, 'b', 'llm_tool_result', { tool: 'search' }), trace(3, 1, 'b', 'thought')]), '2 tool steps (search), 1 thought');
});

test('a configuration has one digest, whatever the order of its members', async () => {
  assert.equal(canonical({ b: [1, { d: null, c: 'x' }], a: true }), '{"a":true,"b":[1,{"c":"x","d":null}]}');
  assert.equal(await digestOf({ b: 1, a: 2 }), await digestOf({ a: 2, b: 1 }));
});

// ---- the conversation itself, over a hub that is played here

class PlayedHub {
  state = 'open';
  pages = [];
  constructor(events, latestSeq) {
    this.events = events;
    this.latestSeq = latestSeq ?? events.at(-1).seq;
  }
  onState() {
    return () => {};
  }
  now() {
    return 0;
  }
  async call(method, params) {
    if (method === 'getConversation') return { conversationId: 'c', status: 'active', participants: [{ id: 'ann' }, { id: 'bot' }], latestSeq: this.latestSeq, turn: 1, events: [], guidance: { kind: 'wait' } };
    assert.equal(method, 'tail');
    this.pages.push(params);
    const events = this.events.filter((e) => e.seq > params.sinceSeq).slice(0, Math.min(params.limit, 300)); // a limit is of what the reader sees, and a page may be cut short
    return { events, nextSeq: events.at(-1)?.seq ?? this.latestSeq, latestSeq: this.latestSeq };
  }
  subscribe(id, sinceSeq, reader) {
    this.reader = reader;
    queueMicrotask(() => {
      for (const e of this.events) if (e.seq > sinceSeq) reader.event(e, null);
      reader.caughtUp(this.latestSeq);
    });
    return { close: () => {} };
  }
  say(e) {
    this.events.push(e);
    this.latestSeq = e.seq;
    this.reader.event(e, null);
  }
}

test('a conversation is read from its end, then backwards, and nothing is lost or doubled', async () => {
  const hub = new PlayedHub(many(1703).filter((e) => e.seq % 11 !== 0)); // some are not for this reader
  const c = await Conversation.open({ hub }, 'c');
  assert.ok(c.events.length > 0 && c.events.length <= 200);
  assert.equal(c.events.at(-1).seq, 1703);
  hub.say(message(1704, 341, 'ann', 'while it reads back'));
  await c.reach(1);
  assert.deepEqual(c.events.map((e) => e.seq), hub.events.map((e) => e.seq));
  assert.ok(c.whole);
  assert.equal(c.snapshot.latestSeq, 1704);
  hub.say(message(1705, 342, 'bot', 'after'));
  hub.reader.event(message(1705, 342, 'bot', 'again'), null);
  assert.deepEqual(c.events.slice(-2).map((e) => e.seq), [1704, 1705]);
  await c.reload();
  await c.reach(1);
  assert.deepEqual(c.events.map((e) => e.seq), hub.events.map((e) => e.seq));
  c.close();
});

test('deltas stand until the message that holds them', async () => {
  const hub = new PlayedHub([message(1, 1, 'ann', 'q')]);
  const c = await Conversation.open({ hub }, 'c');
  const delta = (index, text) => hub.reader.delta({ turn: 2, from: 'bot', index, text });
  delta(0, 'Hel');
  delta(1, 'lo');
  assert.equal(c.deltas.get(2).text, 'Hello');
  delta(3, '!');
  assert.equal(c.deltas.get(2).text, 'Hello … !');
  delta(0, 'Anew');
  assert.equal(c.deltas.get(2).text, 'Anew');
  hub.say(trace(2, 2, 'bot', 'thought'));
  assert.equal(c.deltas.size, 1);
  hub.say(message(3, 2, 'bot', 'Anew.'));
  assert.equal(c.deltas.size, 0);
  delta(0, 'next');
  hub.say(system(4, 'claim_ended', { turn: 2, reason: 'expired' }));
  assert.equal(c.deltas.size, 0);
  c.close();
});

test('a run that is shown one by one knows its events, so that it can be one line again', () => {
  const events = [message(1, 1, 'ann', 'go'), ...[2, 3, 4].map((seq) => trace(seq, 2, 'bot', 'thought')), message(5, 2, 'bot', 'done'), trace(6, 3, 'ann', 'thought')];
  const rows = rowsOf(events, new Set([3]), everything);
  assert.deepEqual(rows.map((r) => [r.key, r.fold, r.run?.map((e) => e.seq) ?? null]), [[1, false, null], [2, false, [2, 3, 4]], [3, false, null], [4, false, null], [5, false, null], [6, false, null]]);
  assert.equal(rowsOf(events, new Set(), everything)[1].fold, true);
});

test('what the hub says between the words of a turn does not end it', () => {
  const rows = rowsOf([message(1, 1, 'ann', 'go'), system(2, 'session_started', { sessionId: 's' }), message(3, 1, 'ann', 'on'), message(4, 2, 'bob', 'yes')], new Set(), everything);
  assert.deepEqual(rows.map((_, i) => turnBefore(rows, i)), [0, 1, 1, 1]);
});
