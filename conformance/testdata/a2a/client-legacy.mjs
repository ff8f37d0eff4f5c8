// @a2a-js/sdk 0.3.14, which knows 0.3 only, as a client: node client-legacy.mjs BASE BINDING 0.3 WEBHOOK TAG
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory } from 'a2a-js-sdk-legacy/client';
import { play } from './steps.mjs';

const [base, binding, version, webhook, tag] = process.argv.slice(2);

const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory(), new RestTransportFactory()], preferredTransports: [binding] });
const client = await factory.createFromUrl(base);
if (!client.transport.constructor.name.endsWith(binding === 'JSONRPC' ? 'JsonRpcTransport' : 'RestTransport')) throw new Error(`the client speaks by ${client.transport.constructor.name}`);

// To and from the shapes of 1.0.

const toPart = (p) => {
  if ('text' in p) return { kind: 'text', text: p.text };
  if ('data' in p) return { kind: 'data', data: p.data };
  return { kind: 'file', file: { bytes: p.raw, name: p.filename, mimeType: p.mediaType } };
};

const toMessage = (m) => ({ ...m, kind: 'message', role: 'user', parts: m.parts.map(toPart) });

const toSend = (r) => ({
  message: toMessage(r.message),
  configuration: r.configuration && { blocking: !r.configuration.returnImmediately },
});

const fromPart = (p) => {
  if (p.kind === 'text') return { text: p.text };
  if (p.kind === 'data') return { data: p.data };
  return { raw: p.file.bytes, filename: p.file.name, mediaType: p.file.mimeType };
};

const fromParts = (o) => o && { ...o, parts: o.parts.map(fromPart) };

const fromMessage = (m) => m && { ...fromParts(m), role: m.role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT' };

const fromStatus = (s) => ({ ...s, state: `TASK_STATE_${s.state.toUpperCase().replaceAll('-', '_')}`, message: fromMessage(s.message) });

const fromTask = (t) => {
  if (t.kind !== 'task') throw new Error(`a task is a ${t.kind}`);
  return { ...t, status: fromStatus(t.status), artifacts: t.artifacts?.map(fromParts), history: t.history?.map(fromMessage) };
};

const fromEvent = (e) => {
  switch (e.kind) {
    case 'task': return { task: fromTask(e) };
    case 'message': return { message: fromMessage(e) };
    case 'status-update': return { statusUpdate: { ...e, status: fromStatus(e.status) } };
    case 'artifact-update': return { artifactUpdate: { ...e, artifact: fromParts(e.artifact) } };
  }
  throw new Error(`an event is a ${e.kind}`);
};

async function* events(stream) {
  for await (const e of stream) yield fromEvent(e);
}

const fromPush = ({ taskId, pushNotificationConfig }) => ({ taskId, ...pushNotificationConfig });
const named = ({ taskId, id }) => ({ id: taskId, pushNotificationConfigId: id });

await play({
  card: () => client.getAgentCard(),
  extended: () => client.transport.getExtendedAgentCard(),
  send: async (r) => fromEvent(await client.sendMessage(toSend(r))),
  stream: (r, options) => events(client.sendMessageStream(toSend(r), options)),
  get: async (r) => fromTask(await client.getTask(r)),
  list: () => { throw new Error('0.3 has no lists'); },
  cancel: async (r) => fromTask(await client.cancelTask(r)),
  subscribe: (r, { signal, lastEventId } = {}) => events(client.resubscribeTask(r, { signal, serviceParameters: lastEventId ? { 'Last-Event-ID': lastEventId } : undefined })),
  createPush: async ({ taskId, ...config }) => fromPush(await client.setTaskPushNotificationConfig({ taskId, pushNotificationConfig: config })),
  getPush: async (r) => fromPush(await client.getTaskPushNotificationConfig(named(r))),
  listPush: async (r) => ({ configs: (await client.listTaskPushNotificationConfig({ id: r.taskId })).map(fromPush) }),
  deletePush: (r) => client.deleteTaskPushNotificationConfig(named(r)),
}, tag, webhook, false);
