// A remote agent, in the shapes of A2A 1.0, for the servers beside it. It does what the last text says, and prints one JSON object a line of what it hears.

export const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('base64');

export const print = (step, more) => console.log(JSON.stringify({ step, ...more }));

let gone = () => {};

// heard plays one message. of has text, files (their number), messageId, taskId, contextId and known: whether the task was there before.
export async function heard(of, publish) {
  print('heard', of);
  const { taskId, contextId } = of;
  const say = (words) => ({ messageId: `${taskId}-${Math.random()}`, role: 'ROLE_AGENT', parts: [{ text: words }], taskId, contextId });
  const status = (state, words) =>
    publish({ statusUpdate: { taskId, contextId, status: { state: `TASK_STATE_${state}`, message: words && say(words), timestamp: new Date().toISOString() } } });
  const artifact = (artifactId, parts, more) => publish({ artifactUpdate: { taskId, contextId, artifact: { artifactId, parts }, append: false, lastChunk: true, ...more } });

  if (of.text === 'plain') {
    publish({ message: { ...say('no task for that'), taskId: undefined } });
    return;
  }
  // A stream of 1.3.0 must begin with a task, also where that is known: else the server answers with an error, and keeps nothing of what comes.
  publish({ task: { id: taskId, contextId, status: { state: of.known ? 'TASK_STATE_WORKING' : 'TASK_STATE_SUBMITTED', timestamp: new Date().toISOString() } } });
  if (of.known) {
    artifact('answer', [{ text: `you chose ${of.text}` }]);
    status('COMPLETED');
    return;
  }
  status('WORKING', `looking at ${of.text}`);
  switch (of.text) {
    case 'ask': return status('INPUT_REQUIRED', 'which one?');
    case 'fail': return status('FAILED', 'it is broken');
    case 'reject': return status('REJECTED', 'not for me');
    case 'file':
      artifact('file', [{ text: 'a file' }, { raw: bytes, filename: 'all.bin', mediaType: 'application/octet-stream' }, { data: { n: 42 } }]);
      return status('COMPLETED');
    case 'hold': // until it is canceled
      await new Promise((done) => { gone = done; });
      return;
    default:
      artifact('answer', [{ text: 'the answer ' }], { lastChunk: false });
      artifact('answer', [{ text: `to ${of.text}` }], { append: true });
      return status('COMPLETED');
  }
}

// canceled ends a task.
export function canceled(taskId, contextId, publish) {
  publish({ statusUpdate: { taskId, contextId, status: { state: 'TASK_STATE_CANCELED', timestamp: new Date().toISOString() } } });
  gone();
}

// told is a store of tasks that prints which are canceled: a server may do that without a word to the agent.
export const told = (Store, state) => class extends Store {
  async save(task, ...more) {
    if (task.status?.state === state) print('canceled', { taskId: task.id });
    return super.save(task, ...more);
  }
};

export const lastText = (parts, of) => parts.map(of).filter((t) => t !== undefined).at(-1);

export function listen(app, ready) {
  const server = app.listen(0, '127.0.0.1', () => ready(`http://127.0.0.1:${server.address().port}`));
}
