// An agent in Node that speaks the protocol itself: JSON-RPC over the WebSocket that is built into Node. It shares no code with Parley and needs
// no package; the section numbers are those of protocol.md. For Node 22, or 20 with --experimental-websocket.
//
//     PARLEY_URL=ws://127.0.0.1:7447/rpc PARLEY_TOKEN=... node node_ws.mjs reverser
//
// It says what was said to it backwards, and goes on until it is stopped. Run it as often as you like: each turn is spoken once.
const agent = process.argv[2] ?? "reverser";
const url = process.env.PARLEY_URL ?? "ws://127.0.0.1:7447/rpc";
const token = process.env.PARLEY_TOKEN;
const executorId = `${agent}-${crypto.randomUUID()}`; // tells this process from others that run the agent; kept over reconnects
const claims = new Map(); // what we work on: claimId -> AbortController
let leaving = false;
let current; // the connection that we serve on

/** One connection to the hub. */
class Connection {
  #ws;
  #next = 1;
  #waiting = new Map();

  constructor(ws, notified) {
    this.#ws = ws;
    this.closed = new Promise((done) => ws.addEventListener("close", (e) => {
      for (const { reject } of this.#waiting.values()) reject(new Error("the connection was lost"));
      done(e.code);
    }));
    ws.addEventListener("message", ({ data }) => {
      const m = JSON.parse(data);
      if (m.method) return notified(m.method, m.params); // others than those we know are let pass
      const call = this.#waiting.get(m.id);
      this.#waiting.delete(m.id);
      if (m.error) call.reject(Object.assign(new Error(m.error.message), m.error.data));
      else call.resolve(m.result);
    });
  }

  static open(notified) {
    const ws = new WebSocket(url);
    return new Promise((ok, bad) => {
      ws.addEventListener("open", () => ok(new Connection(ws, notified)), { once: true });
      ws.addEventListener("error", () => bad(new Error("no connection to " + url)), { once: true });
    });
  }

  call(method, params) {
    if (this.#ws.readyState !== WebSocket.OPEN) return Promise.reject(new Error("the connection was lost"));
    const id = this.#next++;
    const reply = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#ws.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return reply;
  }

  close() { this.#ws.close(); }
}

/** What to answer: the last message of somebody else, backwards. This is the agent; the rest is the protocol. */
function answer(messages, me) {
  const last = messages.findLast((event) => event.from !== me);
  return [...(last?.payload.text ?? "")].reverse().join("") || "...";
}

/** Takes a turn that was offered, and speaks. */
async function takeTurn(hub, offer) {
  const { conversationId, agentId } = offer;
  const claim = await hub.call("claimTurn", { conversationId, claimId: offer.claimId });
  const { claimId, turn } = claim;
  const stop = new AbortController();
  const key = crypto.randomUUID(); // of our message. Everybody reads it: so it is nothing that is made of the claimId
  claims.set(claimId, stop);
  // Long before the claim ends we say that we are still there. When that is refused the turn is another's.
  const renewal = setInterval(() => {
    hub.call("renewClaim", { conversationId, claimId }).catch((e) => { if (!e.retryable) stop.abort(e); });
  }, claim.durationMs / 3);
  try {
    const messages = [];
    for (let sinceSeq = claim.sinceSeq; ;) {
      const page = await hub.call("getUpdates", { conversationId, sinceSeq });
      messages.push(...page.messages);
      sinceSeq = page.nextSeq;
      if (sinceSeq >= page.latestSeq) break;
    }
    stop.signal.throwIfAborted();
    // The key makes it safe to send this again when the answer is lost; turn keeps late words out of a later turn.
    await hub.call("sendMessage", {
      conversationId, turn, claimId, clientRequestId: key, finality: "turn",
      payload: { text: answer(messages, agentId) },
    });
    console.log(`${conversationId} turn ${turn}: ${agentId} has answered`);
  } catch (e) {
    // Give it back, so that another attempt need not wait until the claim ends. It may have ended by itself.
    await hub.call("releaseClaim", { conversationId, claimId, outcome: "failed", reason: "error" }).catch(() => {});
    throw e;
  } finally {
    clearInterval(renewal);
    claims.delete(claimId);
  }
}

/** Serves on one connection until that ends. */
async function serve() {
  const hub = await Connection.open((method, params) => {
    if (method === "request_turn" && !leaving) {
      takeTurn(hub, params).catch((e) => console.error(`${params.conversationId} turn ${params.turn}: ${e.reason ?? ""} ${e.message}`));
    }
    if (method === "claim_ended") claims.get(params.claimId)?.abort(new Error("the claim has ended: " + params.reason));
  });
  await hub.call("authenticate", { token, agentId: agent, clientName: "node_ws.mjs" });
  current = hub;
  await hub.call("registerExecutor", { executorId, agents: [agent], mode: "push", holding: [...claims.keys()] });
  console.log(`serving as ${agent}`);
  return hub.closed;
}

/** Finishes what is under way, at most for 10 s, and ends. */
async function leave() {
  leaving = true;
  for (let tries = 0; claims.size > 0 && tries < 100; tries++) await new Promise((later) => setTimeout(later, 100));
  current?.close();
}
process.once("SIGTERM", leave);
process.once("SIGINT", leave);

for (let pause = 100; !leaving; pause = Math.min(pause * 2, 5000)) {
  try {
    if (await serve() === 4401) process.exitCode = 1; // the token is no longer good: another try does not help
  } catch (e) {
    console.error(e.message);
    if (e.reason && !e.retryable) process.exitCode = 1; // refused: another try does not help
  }
  if (leaving || process.exitCode) break;
  await new Promise((later) => setTimeout(later, pause * (0.5 + Math.random())));
}
process.exit();
