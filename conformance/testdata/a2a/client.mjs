// @a2a-js/sdk 1.3.0 as a client: node client.mjs BASE BINDING VERSION WEBHOOK TAG
import {
  AgentCard, CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
  ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse, ListTasksRequest, ListTasksResponse, Message, SendMessageRequest, StreamResponse,
  SubscribeToTaskRequest, Task, TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client';
import { play } from './steps.mjs';

const [base, binding, version, webhook, tag] = process.argv.slice(2);
const legacyCompat = { enabled: version === '0.3' };

const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ legacyCompat }), new RestTransportFactory({ legacyCompat })] });
const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(base);
const whole = AgentCard.toJSON(card);
// Of all that the card offers, the one that is to be tried.
card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolBinding === binding && i.protocolVersion.startsWith(version));
const client = await factory.createFromAgentCard(card);
if (!client.protocolVersion.startsWith(version)) throw new Error(`the client speaks ${client.protocolVersion}`);

const result = (r) => ('messageId' in r ? { message: Message.toJSON(r) } : { task: Task.toJSON(r) });

async function* responses(stream) {
  for await (const e of stream) yield StreamResponse.toJSON(e);
}

await play({
  card: async () => whole,
  extended: async () => AgentCard.toJSON(await client.transport.getExtendedAgentCard(GetExtendedAgentCardRequest.fromJSON({}))),
  send: async (r) => result(await client.sendMessage(SendMessageRequest.fromJSON(r))),
  stream: (r, options) => responses(client.sendMessageStream(SendMessageRequest.fromJSON(r), options)),
  get: async (r) => Task.toJSON(await client.getTask(GetTaskRequest.fromJSON(r))),
  list: async (r) => ListTasksResponse.toJSON(await client.listTasks(ListTasksRequest.fromJSON(r))),
  cancel: async (r) => Task.toJSON(await client.cancelTask(CancelTaskRequest.fromJSON(r))),
  subscribe: (r, { signal, lastEventId } = {}) =>
    responses(client.resubscribeTask(SubscribeToTaskRequest.fromJSON(r), { signal, serviceParameters: lastEventId ? { 'Last-Event-ID': lastEventId } : undefined })),
  createPush: async (r) => TaskPushNotificationConfig.toJSON(await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(r))),
  getPush: async (r) => TaskPushNotificationConfig.toJSON(await client.getTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest.fromJSON(r))),
  listPush: async (r) => ListTaskPushNotificationConfigsResponse.toJSON(await client.listTaskPushNotificationConfig(ListTaskPushNotificationConfigsRequest.fromJSON(r))),
  deletePush: (r) => client.deleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest.fromJSON(r)),
}, tag, webhook, version === '1.0');
