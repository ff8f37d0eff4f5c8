// A server of @a2a-js/sdk 1.3.0 that speaks one binding of one version: node server.mjs BINDING VERSION
import express from 'express';
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express';
import { canceled, heard, lastText, listen, print, told } from './agent.mjs';

const [binding, version] = process.argv.slice(2);
const legacyCompat = { enabled: version === '0.3' };

const publisher = (bus) => (e) => {
  if (e.task) bus.publish(AgentEvent.task(Task.fromJSON(e.task)));
  if (e.message) bus.publish(AgentEvent.message(Message.fromJSON(e.message)));
  if (e.statusUpdate) bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(e.statusUpdate)));
  if (e.artifactUpdate) bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(e.artifactUpdate)));
};

const contexts = new Map();

const executor = {
  async execute({ userMessage, taskId, contextId, task }, bus) {
    contexts.set(taskId, contextId);
    const files = userMessage.parts.filter((p) => p.content.$case === 'raw').map((p) => Buffer.from(p.content.value).toString('base64'));
    const text = lastText(userMessage.parts, (p) => (p.content.$case === 'text' ? p.content.value : undefined));
    await heard({ text, files, messageId: userMessage.messageId, taskId, contextId, known: Boolean(task) }, publisher(bus));
    bus.finished();
  },
  async cancelTask(taskId, bus) {
    canceled(taskId, contexts.get(taskId), publisher(bus));
    bus.finished();
  },
};

const app = express();
listen(app, (url) => {
  const card = AgentCard.fromJSON({
    name: 'far', description: 'a scripted agent', version: '1', capabilities: { streaming: true }, defaultInputModes: ['*/*'], defaultOutputModes: ['text/plain'],
    skills: [{ id: 's', name: 's', description: 's', tags: ['s'] }], supportedInterfaces: [{ url: `${url}/far`, protocolBinding: binding, protocolVersion: version }],
  });
  const requestHandler = new DefaultRequestHandler(card, new (told(InMemoryTaskStore, TaskState.TASK_STATE_CANCELED))(), executor);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
  const handler = binding === 'JSONRPC' ? jsonRpcHandler : restHandler;
  app.use('/far', handler({ requestHandler, userBuilder: UserBuilder.noAuthentication, legacyCompat }));
  print('listening', { url });
});
