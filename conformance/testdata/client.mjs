// A client written from protocol.md, without a line of Parley's code. Section numbers are those of protocol.md. For Node 22, or 20 with
// --experimental-websocket.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";

const url = process.env.PARLEY_URL;
const token = process.env.PARLEY_TOKEN;

class Client {
  #ws; #next = 1; #waiting = new Map(); notifications = []; #listeners = [];

  static async connect(agentId, auth = token) {
    const c = new Client();
    await c.open();
    if (auth) c.hello = await c.call("authenticate", { token: auth, agentId });
    return c;
  }

  open() {
    this.#ws = new WebSocket(url);
    this.closed = new Promise((done) => this.#ws.addEventListener("close", (e) => {
      for (const { reject } of this.#waiting.values()) reject(new Error("closed " + e.code));
      done(e.code);
    }));
    this.#ws.addEventListener("message", (m) => this.#take(m.data));
    return new Promise((ok, bad) => {
      this.#ws.addEventListener("open", ok, { once: true });
      this.#ws.addEventListener("error", () => bad(new Error("no connection to " + url)), { once: true });
    });
  }

  #take(text) {
    assert.equal(typeof text, "string", "text frames only (1)");
    const m = JSON.parse(text);
    assert.equal(m.jsonrpc, "2.0");
    if (m.method !== undefined) {
      assert.ok(!("id" in m), "notifications have no id");
      this.notifications.push(m);
      for (const wake of this.#listeners.splice(0)) wake();
      return;
    }
    const w = this.#waiting.get(m.id);
    assert.ok(w, "reply to nobody: " + text);
    this.#waiting.delete(m.id);
    w.resolve(m);
  }

  send(text) { this.#ws.send(text); }

  reply(id) { return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject })); }

  async raw(method, params, id = this.#next++) {
    const reply = this.reply(id);
    this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return reply;
  }

  async call(method, params) {
    const m = await this.raw(method, params);
    assert.ok(m.error === undefined, method + ": " + JSON.stringify(m.error));
    return m.result;
  }

  async refused(code, reason, method, params) {
    const { error } = await this.raw(method, params);
    assert.ok(error, method + " was expected to be refused with " + reason);
    assert.deepEqual([error.code, error.data.reason], [code, reason], method);
    assert.equal(typeof error.data.retryable, "boolean");
    return error;
  }

  async next(matches) {
    for (;;) {
      const at = this.notifications.findIndex(matches);
      if (at >= 0) return this.notifications.splice(0, at + 1).at(-1);
      await new Promise((wake) => this.#listeners.push(wake));
    }
  }

  close() { this.#ws.close(); return this.closed; }
}

const done = [];
async function step(name, f) { await f(); done.push(name); }

const admin = await Client.connect("admin");
const conversationId = "conformance-1";
const say = (text) => ({ conversationId, payload: { text }, finality: "turn" });
let ann, bob;

await step("authenticate, narrow tokens (4)", async () => {
  assert.equal(admin.hello.ok, true);
  assert.equal(admin.hello.protocolVersion, "1");
  await admin.call("createConversation", {
    conversationId, participants: [{ id: "ann", kind: "human" }, { id: "bob", kind: "agent" }], title: "a <stranger> & a hub",
  });
  for (const id of ["ann", "bob"]) {
    const made = await admin.call("createToken", { agentId: id, conversations: [conversationId] });
    assert.match(made.token, /^plt_/);
    if (id === "ann") ann = await Client.connect(id, made.token);
    else bob = await Client.connect(undefined, made.token);
  }
  assert.equal(bob.hello.agentId, "bob");
  await bob.refused(4030, "forbidden", "authenticate", { token, agentId: "ann" });
  const stranger = await Client.connect("", "");
  await stranger.refused(4010, "unauthenticated", "ping", {});
  await stranger.close();
});

await step("turns and refusals (3, 6)", async () => {
  const early = await bob.refused(4090, "not_your_turn", "sendMessage", say("me first"));
  assert.equal(early.data.guidance.kind, "wait");
  assert.equal(early.data.guidance.speaker, "ann");
  assert.deepEqual(await ann.call("sendMessage", { ...say("hello — ünïcode 🙂 <&>"), clientRequestId: "a-1" }), { seq: 2, turn: 1 });
  await bob.refused(4091, "turn_closed", "sendMessage", { ...say("late"), turn: 1 });
  await bob.refused(4093, "turn_conflict", "sendMessage", { ...say("early"), turn: 7 });
  await bob.refused(4093, "turn_conflict", "sendMessage", { ...say("unread"), afterSeq: 1 });
});

await step("subscribe: replay, caught_up, guidance, live events (11, 13)", async () => {
  const { subscriptionId, latestSeq } = await bob.call("subscribe", { conversationId });
  assert.equal(latestSeq, 2);
  const created = await bob.next((n) => n.method === "event");
  assert.equal(created.params.event.payload.kind, "conversation_created");
  assert.equal((await bob.next((n) => n.method === "event")).params.event.payload.text, "hello — ünïcode 🙂 <&>");
  assert.equal((await bob.next((n) => n.method === "caught_up")).params.seq, 2);
  assert.equal((await bob.next((n) => n.method === "guidance")).params.guidance.kind, "may_speak");
  await bob.call("sendDelta", { conversationId, turn: 2, index: 0, text: "hel" });
  assert.equal((await bob.next((n) => n.method === "delta")).params.text, "hel");
  assert.deepEqual(await bob.call("sendMessage", { ...say("hello ann"), turn: 2 }), { seq: 3, turn: 2 });
  assert.equal((await bob.next((n) => n.method === "event")).params.event.seq, 3);
  assert.deepEqual(await bob.call("unsubscribe", { subscriptionId }), {});
});

await step("once per key (10)", async () => {
  const again = await ann.call("sendMessage", { ...say("hello — ünïcode 🙂 <&>"), clientRequestId: "a-1" });
  assert.deepEqual(again, { seq: 2, turn: 1, duplicate: true });
  await ann.refused(4096, "idempotency_conflict", "sendMessage", { ...say("something else"), clientRequestId: "a-1" });
});

await step("waiting holds nobody up (2)", async () => {
  const wait = bob.call("waitForChange", { conversationId, sinceSeq: 3, timeoutMs: 30000 });
  await bob.call("ping", {});
  await ann.call("sendNote", { conversationId, payload: { schema: "test.v1", data: { n: 1 } } });
  assert.deepEqual(await wait, { latestSeq: 4, timedOut: false });
});

await step("bad requests leave the socket open (2)", async () => {
  const answers = async (text, code) => {
    const reply = bob.reply(null);
    bob.send(text);
    assert.equal((await reply).error.code, code, text);
  };
  await answers("{not json", -32700);
  await answers("[".repeat(65) + "]".repeat(65), -32700);
  await answers("[]", -32600);
  await answers('{"jsonrpc":"2.0","method":"ping"}', -32600);
  await bob.refused(-32601, "method_not_found", "askApproval", {});
  await bob.refused(-32602, "invalid_params", "ping", { extra: 1 });
  await bob.refused(-32602, "invalid_params", "tail", { conversationid: conversationId, sinceSeq: 0 });
  await bob.refused(4040, "not_found", "tail", { conversationId: "absent", sinceSeq: 0 });
  await bob.refused(4100, "cursor_ahead", "tail", { conversationId, sinceSeq: 99 });
  assert.deepEqual(Object.keys((await bob.raw("ping", {}, "an id of its own")).result), ["nowMs"]);
});

await step("POST /rpc and the health routes (1, 4)", async () => {
  const http = url.replace("ws:", "http:");
  const post = (body, headers = {}) => fetch(http, {
    method: "POST", body: JSON.stringify(body),
    headers: { "content-type": "application/json", authorization: "Bearer " + token, ...headers },
  });
  const ok = await post({ jsonrpc: "2.0", id: 1, method: "getGuidance", params: { conversationId } }, { "parley-agent": "ann" });
  assert.equal(ok.status, 200);
  assert.equal((await ok.json()).result.guidance.kind, "may_speak");
  assert.equal((await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { authorization: "Bearer plt_no_no" })).status, 401);
  assert.equal((await post({ jsonrpc: "2.0", id: 1, method: "tail", params: { conversationId: "absent", sinceSeq: 0 } })).status, 404);
  assert.equal((await fetch(http, { method: "POST", body: "x", headers: { origin: "https://evil.example" } })).status, 403);
  for (const route of ["livez", "readyz"]) assert.equal((await fetch(http.replace("rpc", route))).status, 200);
});

await step("close, hash chain (5, 6)", async () => {
  const final = { ...say("goodbye"), finality: "conversation", outcome: { status: "completed", reason: "done" }, clientRequestId: "a-2" };
  const closed = await ann.call("sendMessage", final);
  assert.deepEqual(await ann.call("sendMessage", final), { ...closed, duplicate: true });
  await bob.refused(4092, "conversation_closed", "sendMessage", say("more"));
  const { events, nextSeq, latestSeq } = await admin.call("tail", { conversationId, sinceSeq: 0 });
  assert.equal(nextSeq, latestSeq);
  let hash = createHash("sha256").update(conversationId).digest();
  events.forEach((e, i) => {
    assert.equal(e.seq, i + 1);
    hash = createHash("sha256").update(hash).update(JSON.stringify(e)).digest();
  });
  const snap = await admin.call("getConversation", { conversationId });
  assert.equal(snap.status, "closed");
  assert.deepEqual(snap.outcome, { status: "completed", reason: "done" });
  assert.equal(snap.headHash, hash.toString("hex"));
});

await step("frames over 1 MiB end the socket with 1009 (1)", async () => {
  bob.send("x".repeat((1 << 20) + 1));
  assert.equal(await bob.closed, 1009);
});

await ann.close();
await admin.close();
console.log(`node ${process.version}: ${done.length} chapters of protocol.md:\n  ` + done.join("\n  "));
