// A server of @a2a-js/sdk 0.3.14, which knows 0.3 only: node server-legacy.mjs BINDING 0.3
import express from 'express';
import { DefaultRequestHandler, InMemoryTaskStore } from 'a2a-js-sdk-legacy/server';
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from 'a2a-js-sdk-legacy/server/express';
import { canceled, heard, lastText, listen, print, told } from './agent.mjs';

const [binding] = process.argv.slice(2);

// To the shapes of 0.3.

const toPart = (p) => {
  if ('text' in p) return { kind: 'text', text: p.text };
  if ('data' in p) return { kind: 'data', data: p.data };
  return { kind: 'file', file: { bytes: p.raw, name: p.filename, mimeType: p.mediaType } };
};

const toMessage = (m) => m && { ...m, kind: 'message', role: 'agent', parts: m.parts.map(toPart) };

const toState = (s) => s.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-');

const toStatus = (s) => ({ ...s, state: toState(s.state), message: toMessage(s.message) });

const publisher = (bus) => (e) => {
  if (e.task) bus.publish({ ...e.task, kind: 'task', status: toStatus(e.task.status) });
  if (e.message) bus.publish(toMessage(e.message));
  if (e.statusUpdate) {
    const status = toStatus(e.statusUpdate.status);
    bus.publish({ ...e.statusUpdate, kind: 'status-update', status, final: !['submitted', 'working'].includes(status.state) });
  }
  if (e.artifactUpdate) {
    const { artifact } = e.artifactUpdate;
    bus.publish({ ...e.artifactUpdate, kind: 'artifact-update', artifact: { ...artifact, parts: artifact.parts.map(toPart) } });
  }
};

const contexts = new Map();

const executor = {
  async execute({ userMessage, taskId, contextId, task }, bus) {
    contexts.set(taskId, contextId);
    const files = userMessage.parts.filter((p) => p.kind === 'file').map((p) => p.file.bytes);
    const text = lastText(userMessage.parts, (p) => (p.kind === 'text' ? p.text : undefined));
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
  const card = {
    name: 'far', description: 'a scripted agent', version: '1', protocolVersion: '0.3.0', url: `${url}/far`, preferredTransport: binding, capabilities: { streaming: true },
    defaultInputModes: ['*/*'], defaultOutputModes: ['text/plain'], skills: [{ id: 's', name: 's', description: 's', tags: ['s'] }],
  };
  const requestHandler = new DefaultRequestHandler(card, new (told(InMemoryTaskStore, 'canceled'))(), executor);
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }));
  const handler = binding === 'JSONRPC' ? jsonRpcHandler : restHandler;
  app.use('/far', handler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  print('listening', { url });
});
