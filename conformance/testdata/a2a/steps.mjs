// What each client does with the agent echo. It prints one JSON object a line, {"step": name, ...}, in the shapes of A2A 1.0, whatever the client spoke; the test judges them.
//
// A client has the methods of the protocol. They take and give JSON of 1.0; streams are async iterators of StreamResponses. Options of subscribe are {signal, lastEventId}.

const cursorKey = 'https://github.com/parleyhub/parley/a2a/cursor/v1';

const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('base64');

export const print = (step, more) => console.log(JSON.stringify({ step, ...more }));

const message = (id, parts, more) => ({ message: { messageId: id, role: 'ROLE_USER', parts, ...more } });
const text = (id, words, more) => message(id, [{ text: words }], more);

// refused gives the error that a call ends with.
async function refused(call) {
  try {
    return { result: await call() };
  } catch (err) {
    return { error: err.name ?? String(err), message: err.message };
  }
}

async function all(stream) {
  const events = [];
  for await (const e of stream) events.push(e);
  return events;
}

// cursor of an event is the seq that its metadata name.
const cursor = (e) => Object.values(e)[0].metadata?.[cursorKey]?.seq;

const words = (e) => (e.statusUpdate ?? e.task)?.status?.message?.parts?.[0]?.text;

// part reads a stream until an event says words, and goes away then.
async function until(open, said) {
  const gone = new AbortController();
  const events = [];
  try {
    for await (const e of open(gone.signal)) {
      events.push(e);
      if (words(e) === said) break;
    }
  } finally {
    gone.abort();
  }
  return events;
}

export async function play(client, tag, webhook, lists) {
  const id = (name) => `${tag}-${name}`;
  print('card', { card: await client.card(), extended: await refused(() => client.extended()) });

  const sent = await client.send(text(id('send'), 'hello there'));
  print('send', { ...sent });
  print('again', { ...(await client.send(text(id('send'), 'hello there'))) });
  print('get', { task: await client.get({ id: sent.task.id }), short: await client.get({ id: sent.task.id, historyLength: 0 }) });
  print('ended', await refused(() => client.send(text(id('ended'), 'more', { taskId: sent.task.id }))));
  print('missing', await refused(() => client.get({ id: 'cnv_0123456789abcdef.2' })));
  print('stream', { events: await all(client.stream(text(id('stream'), 'hello stream'))) });

  const asked = await client.send(text(id('ask'), 'ask'));
  const { id: taskId, contextId } = asked.task;
  print('ask', asked);
  if (lists) print('list', { ...(await client.list({ contextId })), one: await client.list({ pageSize: 1 }) });
  else print('list', await refused(() => client.list({ contextId })));

  const config = { taskId, id: 'mine', url: webhook, token: tag };
  print('push', {
    made: await client.createPush(config),
    read: await client.getPush({ taskId, id: 'mine' }),
    listed: await client.listPush({ taskId }),
  });
  print('reply', await client.send(text(id('reply'), 'a reply', { taskId, contextId })));

  print('parts', await client.send(message(id('parts'), [
    { text: 'a file' },
    { raw: bytes, filename: 'all.bin', mediaType: 'application/octet-stream' },
    { data: { count: 42, nested: { list: [1, null, 'x'] } } },
  ])));

  // Non-blocking, and canceled.
  const begun = await client.send({ ...text(id('now'), 'slow and canceled'), configuration: { returnImmediately: true } });
  const canceled = await client.cancel({ id: begun.task.id });
  print('cancel', { begun, canceled, again: await refused(() => client.cancel({ id: begun.task.id })) });

  // A stream that is left in the middle, and taken up again: as the protocol has it, and from where it was.
  const first = await until((signal) => client.stream(text(id('slow'), 'slow'), { signal }), '1 of 5');
  const slow = first[0].task.id;
  const lastEventId = String(cursor(first.at(-1)));
  const [plain, behind] = await Promise.all([
    all(client.subscribe({ id: slow })),
    all(client.subscribe({ id: slow }, { lastEventId })),
  ]);
  print('resubscribe', { first, plain, behind, lastEventId });
  print('terminal', await refused(() => all(client.subscribe({ id: slow }))));

  // After the delivery, which is at least once: deleted twice, as that may be.
  await client.deletePush({ taskId, id: 'mine' });
  print('unpush', { ...(await refused(() => client.deletePush({ taskId, id: 'mine' }))), listed: await client.listPush({ taskId }) });
  print('end');
}
