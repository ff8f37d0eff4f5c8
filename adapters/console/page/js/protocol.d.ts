// What goes over the wire. Made from the schemas of the protocol: go test ./internal/schema/typescript -update

/** Add a participant. Only the creator and admins may do that. */
export interface AddParticipantParams {
  conversationId: string;
  participant: ParticipantInput;
}

/** A row of listAgents. */
export interface AgentInfo {
  name: string;
  type: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  description: string;
  /** parameters_schema is a JSON Schema of the parameters of a session; absent: {prompt}. */
  parameters_schema?: any;
  /** output_schema is a JSON Schema of the result_data, if the agent has one. */
  output_schema?: any;
  /** agent_config is the config of an LLM agent, if the call has includeConfig. */
  agent_config?: any;
  /** subscriptions are the triggers of the agent. They are present under the same conditions as the config. */
  subscriptions?: any;
  /** runner is the participant that registered the agent. It is empty for the process of the hub. runner_id is the id of the runner if the agent comes from a blueprint. */
  runner?: string;
  runner_id?: string;
  labels?: {[name: string]: string};
  online: boolean;
  /** stale is true if its runner has been disconnected for 90 s. After 180 s the hub forgets the agent. */
  stale?: boolean;
}

/** A request for permission by an agent that works on its turn. It is decided once, or times out. */
export interface Approval {
  /** approvalId is the id of the conversation, a dot, and the seq of the event approval_requested. */
  approvalId: string;
  conversationId: string;
  /** agentId is the participant that asks, in the turn turn. */
  agentId: string;
  turn: number;
  /** key is the idempotency key. One turn has one approval for a key, however many attempts ask. */
  key: string;
  title: string;
  /** details is what to decide on. The hub shows details, answerSchema and answer only to the participant that asks, to participants that may answer, to tokens with the scope trace, and to admins. */
  details?: any;
  /** answerSchema is a JSON Schema of the answer that may come with an approval, such as edited arguments. If it is absent, an answer is not allowed. */
  answerSchema?: any;
  status: 'pending' | 'approved' | 'rejected' | 'timed_out' | 'canceled' | (string & {});
  requestedAt: string;
  expiresAt: string;
  /** resolvedAt, by, comment and answer describe the resolution. by is empty if the approval timed out. */
  resolvedAt?: string;
  by?: string;
  comment?: string;
  answer?: any;
  /** mayAnswer is true if the approval is pending and the caller may answer it. */
  mayAnswer?: boolean;
  /** seq is the last seq of the conversation that this state includes. */
  seq: number;
  /** duplicate is true if an earlier call with the same key had already done the same. */
  duplicate?: boolean;
  /** timedOut is true if the call waited for its whole timeout and the approval is still pending. */
  timedOut?: boolean;
}

/** The payload of the events of an approval: each kind has some of the members. */
export interface ApprovalRecord {
  approvalId: string;
  key?: string;
  title?: string;
  expiresAt?: string;
  status?: 'pending' | 'approved' | 'rejected' | 'timed_out' | 'canceled' | (string & {});
  by?: string;
  comment?: string;
  details?: any;
  answerSchema?: any;
  answer?: any;
  /** hash distinguishes the request from another one with the same key. tokenId is the token that was used, and account is its account. Both are empty for an agent in the process of the hub. */
  hash?: string;
  tokenId?: string;
  account?: string;
}

/** Refers to a file of the conversation. See putAttachment. */
export interface Attachment {
  sha256: string;
  /** At most 255 bytes. */
  name?: string;
  /** At most 127 bytes. */
  mediaType?: string;
}

/** Authenticate the connection. */
export interface AuthenticateParams {
  /** At most 8192 bytes. */
  token: string;
  /** agentId is one of the ids that the token may speak as; absent, the first id of the token. */
  agentId?: string;
  /** clientName is for the log of the hub. It has at most 128 bytes. */
  clientName?: string;
  /** traceparent is used for each call of this connection that has none. */
  traceparent?: string;
}

/** Describes the authenticated caller and the hub. */
export interface AuthenticateResult {
  ok: boolean;
  agentId: string;
  protocolVersion: string;
  /** agents are the ids that the token may speak as, including agentId; absent, any id. scopes are the scopes of the token, and expiresAt is when it expires. */
  agents?: string[];
  scopes: ('read' | 'write' | 'create' | 'claim' | 'approve' | 'trace' | 'admin' | (string & {}))[];
  expiresAt?: string;
  hub: HubInfo;
  limits: WireLimits;
}

/** The first line of a backup. */
export interface BackupHeader {
  /** The version of backups. */
  parleyBackup: 1;
  /** That of the program that wrote it. */
  hubVersion: string;
  at: string;
  /** How many events the hub had when the backup began. */
  position: number;
}

/** Any line of a backup (application/x-ndjson). */
export type BackupLine = BackupHeader | BackupTrailer | ExportEvent | ExportAttachment | ExportMissing;

/** The last line of a backup. Without it the backup was cut off. */
export interface BackupTrailer {
  end: true;
  /** Lines of events. */
  records: number;
  conversations: number;
  /** SHA-256 of all bytes before this line. */
  sha256: string;
}

/** The registration of an agent that a runner runs. The hub does not see what a command is, but it checks and stores the config of an LLM agent. */
export interface Blueprint {
  /** name is the name of the agent, in the form of a participant id. */
  name: string;
  description?: string;
  /** type is deterministic, agent, function or workflow; absent, deterministic. */
  type?: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  /** agent_config is an agent_config as in the file of the blueprint. It is required with type agent, and not allowed with other types. params_via and idempotent are not allowed with it. */
  agent_config?: any;
  /** parameters_schema is a JSON Schema of the parameters of a session, and output_schema is one of its result_data. Each has at most 64 KiB. */
  parameters_schema: any;
  output_schema?: any;
  params_via?: 'flags' | 'stdin' | 'env' | (string & {});
  /** timeout_ms bounds one run, in milliseconds: 100 ms to 23 h; absent, 5 minutes. */
  timeout_ms?: number;
  /** idempotent allows the hub to start an interrupted run again, at most twice. */
  idempotent?: boolean;
  /** subscriptions are the triggers and the context selectors of the agent, in any form that ParseSubscriptions accepts. They require a token that may speak as name. */
  subscriptions?: any;
  /** labels are added to the labels of the runner. A session can demand labels. */
  labels?: {[name: string]: string};
}

/** The registration of an agent that a runner runs. The hub does not see what a command is, but it checks and stores the config of an LLM agent. */
export interface BlueprintInput {
  /** name is the name of the agent, in the form of a participant id. */
  name: string;
  /** At most 1024 bytes. */
  description?: string;
  /** type is deterministic, agent, function or workflow; absent, deterministic. */
  type?: 'agent' | 'deterministic' | 'function' | 'workflow';
  /** agent_config is an agent_config as in the file of the blueprint. It is required with type agent, and not allowed with other types. params_via and idempotent are not allowed with it. */
  agent_config?: {[name: string]: any};
  /** parameters_schema is a JSON Schema of the parameters of a session, and output_schema is one of its result_data. Each has at most 64 KiB. */
  parameters_schema: {[name: string]: any};
  output_schema?: {[name: string]: any};
  params_via?: 'flags' | 'stdin' | 'env';
  /** timeout_ms bounds one run, in milliseconds: 100 ms to 23 h; absent, 5 minutes. */
  timeout_ms?: number;
  /** idempotent allows the hub to start an interrupted run again, at most twice. */
  idempotent?: boolean;
  /** subscriptions are the triggers and the context selectors of the agent, in any form that ParseSubscriptions accepts. They require a token that may speak as name. */
  subscriptions?: {[name: string]: any} | any[];
  /** labels are added to the labels of the runner. A session can demand labels. */
  labels?: {[name: string]: string};
}

/** The result of one session in the message with which the hub reports the end of sessions to their parent. */
export interface Callback {
  callback_type: string;
  child_session_id: string;
  agent_name: string;
  status: 'pending' | 'running' | 'input_required' | 'completed' | 'failed' | 'stopped' | (string & {});
  result: SessionResult;
}

/** Payload.data of such a message. */
export interface Callbacks {
  callbacks: Callback[];
}

/** End a turn without a final message. Human participants, the author of the last message before the turn, and admins may do that. */
export interface CancelTurnParams {
  conversationId: string;
  /** turn is the open turn, or the next one if it belongs to one participant. */
  turn: number;
  /** reason is a word or sentence of at most 1 KiB that all participants can read. At most 1024 bytes. */
  reason?: string;
}

/** Comes once, after the events up to seq. */
export interface CaughtUpNotification {
  subscriptionId: string;
  conversationId: string;
  seq: number;
}

/** Comes once, after the events up to seq. */
export interface CaughtUpNotificationOfStream {
  conversationId: string;
  seq: number;
}

/** The event that something was written for. It is in the same conversation unless another one is named. */
export interface Cause {
  conversationId?: string;
  seq: number;
}

/** Reports to the holder of a claim that the claim ended for another reason than its own final message or releaseClaim. */
export interface ClaimEndedNotification {
  conversationId: string;
  agentId: string;
  turn: number;
  claimId: string;
  /** reason is how the claim ended. */
  reason: 'expired' | 'declined' | 'silent' | 'failed' | 'disconnected' | 'restarted' | 'yielded' | 'final' | 'turn_ended' | 'closed' | (string & {});
}

/** Identifies a claim. */
export interface ClaimRef {
  conversationId: string;
  claimId: string;
}

/** The current claim of a turn. */
export interface ClaimState {
  agentId: string;
  executorId?: string;
  /** attempt is 1 unless earlier claims of this turn failed. */
  attempt: number;
  /** deadlineMs is when the claim expires unless it is renewed, in Unix milliseconds. It is approximate, and for information only. */
  deadlineMs: number;
}

/** Claim a turn: with the claimId of a request_turn, or with turn alone as the participant that has the floor. */
export type ClaimTurnParams = any;

/** The claim. Keep claimId: it proves the claim, and no one else receives it. */
export interface ClaimTurnResult {
  claimId: string;
  agentId: string;
  turn: number;
  attempt: number;
  /** sinceSeq is the seq of the last message with which agentId ended a turn, or 0. */
  sinceSeq: number;
  /** deadlineMs is when the claim expires unless it is renewed, in Unix milliseconds of hub time. It is approximate. durationMs is the time until then, and maxClaimMs is the maximum duration of the claim with all renewals. */
  deadlineMs: number;
  durationMs: number;
  maxClaimMs: number;
  /** duplicate is true if the caller already had this claim. */
  duplicate?: boolean;
  /** traceparent is the parent for spans of the executor: the span of the turn, or of the event that the turn answers. It is empty if there is no such span. */
  traceparent?: string;
}

/** Reports to the holder of a claim that its turn starts or stops waiting for a session that its agent started in mode sync. A waiting turn does not use capacity of its executor. */
export interface ClaimWaitingNotification {
  conversationId: string;
  agentId: string;
  turn: number;
  claimId: string;
  waiting: boolean;
}

/** Close a conversation. Only the creator, human participants and admins may do that. */
export interface CloseConversationParams {
  conversationId: string;
  outcome?: OutcomeInput;
}

/** Announces that the hub will close the connection or end the stream. */
export interface ClosingNotification {
  reason: string;
  /** retryAfterMs is when to connect again, in milliseconds. */
  retryAfterMs?: number;
  /** stays is true if the hub does not close the connection. The hub lost the log that it shares with other hubs, so a client that knows another one of them should connect there. Streams never have it. */
  stays?: boolean;
}

/** Announces that the hub will close the connection or end the stream. */
export interface ClosingNotificationOfStream {
  reason: string;
  /** retryAfterMs is when to connect again, in milliseconds. */
  retryAfterMs?: number;
  /** stays is true if the hub does not close the connection. The hub lost the log that it shares with other hubs, so a client that knows another one of them should connect there. Streams never have it. */
  stays?: boolean;
}

/** Describes which events a context selector fetched, without their content. */
export interface ContextSource {
  key: string;
  selector: number;
  fetch: 'event_data' | 'latest' | 'recent' | 'vector' | (string & {});
  /** events are the fetched events, in the order of the context. Their conversation is named if it is not that of the trigger. */
  events: Cause[];
  /** dropped is the number of events that were omitted to keep the context within its bound. */
  dropped?: number;
  /** embedder names the method that found similar events, such as lexical or a model. */
  embedder?: string;
  /** error is why nothing could be fetched. The context has the other keys. */
  error?: string;
}

/** A row of listConversations. */
export interface ConversationSummary {
  conversationId: string;
  status: 'active' | 'closed' | (string & {});
  title?: string;
  createdBy: string;
  createdAt: string;
  updatedAt: string;
  participants: string[];
  latestSeq: number;
  turn: number;
  workspace?: string;
  outcome?: Outcome;
  /** floor is present in active conversations. */
  floor?: Floor;
  /** session is set if the conversation is a session, and fork if it is a fork. */
  session?: SessionSummary;
  fork?: ForkRecord;
}

/** Create a conversation. */
export interface CreateConversationParams {
  /** conversationId is the id of the conversation. If it is absent, the hub chooses one. With clientRequestId, the id depends on the caller and the key only. */
  conversationId?: string;
  /** At most 256 bytes. */
  title?: string;
  participants: ParticipantInput[];
  /** policy is round_robin if it is absent. */
  policy?: PolicyInput;
  /** startsWith is the participant that has the floor first; absent, the first participant, or the moderator (moderator), or anyone (open). */
  startsWith?: string;
  limits?: LimitsInput;
  metadata?: {[name: string]: any};
  /** workspace is a workspace that the token of the caller grants. Other tokens of the workspace may read the conversation, and its events trigger the watchers of the workspace. */
  workspace?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and the spans that the event causes belong to the same trace. A retry does not change it. */
  traceparent?: string;
}

/** Create a ticket: a replacement for the token of the caller in a URL. It works once, within 30 s, for browsers that cannot set headers. */
export interface CreateTicketParams {
  /** conversationId restricts the ticket to this conversation. The caller must be able to read it. */
  conversationId?: string;
  /** origin is the origin of the page that will use the ticket; absent, any that the hub allows. */
  origin?: string;
}

/** Has the ticket, which is returned once. */
export interface CreateTicketResult {
  ticket: string;
  expiresInMs: number;
}

/** Create a token that has at most the rights of the caller. The secret is returned once. */
export interface CreateTokenParams {
  /** agentId is the id that the token speaks as by default. */
  agentId: string;
  /** agents are further ids that the token may speak as. */
  agents?: string[];
  /** scopes are, when absent, read, write, create and claim as far as the caller has them. Empty is refused. */
  scopes?: ('read' | 'write' | 'create' | 'claim' | 'approve' | 'trace' | 'admin')[];
  /** conversations restrict the token to these conversations; absent, to those of the caller's token. An empty list is refused. */
  conversations?: string[];
  /** workspaces are the workspaces that the token grants. They must be among those of the caller, unless it is an admin; absent, none. An empty list is refused. */
  workspaces?: string[];
  /** expiresInMs is the validity in milliseconds: 1,000 ms to 366 days; absent, that of the caller's token. */
  expiresInMs?: number;
  /** claim restricts the token to one turn. The caller must hold the claim, and the token ends with it. The token can access that conversation only, speaks as the participant of the claim, and need not name the claim. agentId must be that participant. agents and conversations must be absent. */
  claim?: ClaimRef;
}

/** Has the secret of the token, which is returned once. */
export interface CreateTokenResult {
  token: string;
  tokenId: string;
}

/** A part of the text of the open turn, for live subscribers only. It is not stored: the message that follows has the whole text. index is the number of the part, so that a reader notices a skipped part. */
export interface Delta {
  conversationId: string;
  turn: number;
  from: string;
  index: number;
  text: string;
}

/** Has a delta. */
export interface DeltaNotification {
  subscriptionId: string;
  conversationId: string;
  turn: number;
  from: string;
  index: number;
  text: string;
}

/** Has a delta. */
export interface DeltaNotificationOfStream {
  conversationId: string;
  turn: number;
  from: string;
  index: number;
  text: string;
}

/** A cumulative histogram. buckets[i] counts the durations of at most boundsMs[i]. count includes those beyond the last bound. */
export interface Durations {
  count: number;
  sumMs: number;
  boundsMs: number[];
  buckets: number[];
}

/** An empty object. */
export type EmptyResult = {[name: string]: any};

/** The data member of a JSON-RPC error. */
export interface ErrorData {
  reason: 'parse_error' | 'invalid_request' | 'method_not_found' | 'invalid_params' | 'internal' | 'validation_failed' | 'parameter_validation_failed' | 'unauthenticated' | 'forbidden' | 'not_found' | 'not_your_turn' | 'turn_closed' | 'conversation_closed' | 'turn_conflict' | 'claim_required' | 'claim_lost' | 'idempotency_conflict' | 'already_exists' | 'already_resolved' | 'cursor_ahead' | 'too_large' | 'rate_limited' | 'unavailable' | 'outcome_unknown' | 'storage_full' | (string & {});
  retryable: boolean;
  retryAfterMs?: number;
  expected?: string;
  guidance?: Guidance;
  /** error is the reason, and message is the message of the error. With parameter_validation_failed. */
  error?: string;
  /** With parameter_validation_failed. */
  message?: string;
  /** With parameter_validation_failed. */
  agent_name?: string;
  /** With parameter_validation_failed. */
  validation_errors?: ValidationError[];
  /** parameters_schema is the whole schema. With parameter_validation_failed. */
  parameters_schema?: any;
}

/** One record of a conversation, exactly as it is stored. The hash chain covers these bytes. */
export interface Event {
  /** seq is the position in the conversation: 1, 2, 3 and so on, without gaps. */
  seq: number;
  /** turn is the turn of a message or trace, from 1. System events are in no turn: it is 0. */
  turn?: number;
  type: 'message' | 'trace' | 'system' | (string & {});
  /** from is the authenticated participant, or hub. */
  from: string;
  /** at is hub time. It never decreases within a conversation. */
  at: string;
  /** finality is set on messages only. */
  finality?: 'none' | 'turn' | 'conversation' | (string & {});
  /** outcome may be set on a message with finality conversation; absent means completed. */
  outcome?: Outcome;
  /** turnHint names the participant that should be next, under a policy that uses hints. */
  turnHint?: TurnHint;
  payload: any;
  /** clientRequestId is the idempotency key of the author. */
  clientRequestId?: string;
  /** cause is the event that triggered the author, if there was one. hops is the number of triggers between this event and one that nothing triggered. The hub writes both; callers cannot set them. */
  cause?: Cause;
  hops?: number;
  /** traceparent is the span in which the event was written, in the form of W3C Trace Context. */
  traceparent?: string;
}

/** Has an event of a subscription. */
export interface EventNotification {
  subscriptionId: string;
  conversationId: string;
  event: Event;
}

/** An executor in the answer of listAgents. */
export interface ExecutorInfo {
  executorId: string;
  /** registeredBy is the participant that registered it. internal is true if it is in the process of the hub. */
  registeredBy: string;
  internal?: boolean;
  mode: 'pull' | 'push' | (string & {});
  /** agents are the agents whose turns it takes. The agents that it registered as a runner are in the rows of the agents with its runner_id. */
  agents: string[];
  labels?: {[name: string]: string};
  /** claims is the number of claims that it works on, without those that wait for an approval or a session. capacity is the number of claims up to which the hub offers turns. */
  claims: number;
  capacity: number;
}

/** Request the guidance of all participants at a seq, with the rules that were tried. */
export interface ExplainParams {
  conversationId: string;
  /** seq is 1 to latestSeq; absent, the latest. */
  seq?: number;
}

/** Has the guidance of every participant at seq. */
export interface ExplainResult {
  seq: number;
  guidance: ParticipantGuidance[];
}

/** Request which agents an event triggered, or would trigger now, and why. */
export interface ExplainTriggersParams {
  conversationId: string;
  seq: number;
}

/** Has the agents of the conversation in the order of their seats, and then the watchers of its workspace in the order of their names. At most 256. */
export interface ExplainTriggersResult {
  seq: number;
  agents: TriggerExplained[];
  /** more is the number of omitted watchers of the workspace. */
  more?: number;
}

/** A file, right before the first event that names it. */
export interface ExportAttachment {
  /** SHA-256 of the file. */
  attachment: string;
  /** Of the file, in bytes. */
  size: number;
  data: string;
}

/** An event of a conversation, with the hash of the chain up to it. */
export interface ExportEvent {
  /** One that begins with ~ is the hub's own; only backups have it. */
  conversationId: string;
  /** That of the event. */
  seq: number;
  /** SHA-256 of the hash before it and the bytes of event. Before the first it is SHA-256 of conversationId. */
  hash: string;
  event: Event;
}

/** Any line of an export (application/x-ndjson). */
export type ExportLine = ExportEvent | ExportAttachment | ExportMissing;

/** A file that was gone or damaged when the line was written. */
export interface ExportMissing {
  /** SHA-256 of the file. */
  attachment: string;
  /** Of the file, in bytes. */
  size: number;
  missing: true;
}

/** Describes the participant that has the floor in a conversation, and what its turn waits for. */
export interface Floor {
  /** turn is the open turn, or the next one. */
  turn: number;
  /** speaker is the only participant that may speak. It is empty if anyone may speak, or no one. */
  speaker?: string;
  kind?: 'human' | 'agent' | 'tool' | 'peer' | (string & {});
  /** open is true if the turn has messages or traces. */
  open?: boolean;
  /** since is when the participant got the floor. In an open turn without claims, it is the time of the last message or trace. */
  since: string;
  /** claim is the current claim. */
  claim?: ClaimState;
  /** attempts is the number of claims of the turn that failed. */
  attempts?: number;
  /** approvals is the number of pending approvals. */
  approvals?: number;
  /** stuck is what the turn waits for if that does not happen by itself. It is empty otherwise. */
  stuck?: 'no_executor' | 'approval' | 'attempts' | (string & {});
}

/** Create a conversation that begins with the events of another one up to seq, byte for byte. The callers that may close the other conversation may fork it: its creator, its human participants and admins. If it belongs to a workspace, the token must grant that workspace. Sessions and the conversations of the hub cannot be forked. */
export interface ForkConversationParams {
  /** conversationId is the conversation to fork. It may be closed. */
  conversationId: string;
  /** seq is the last shared event: 1 to latestSeq, and before the event that closed the conversation. A fork copies at most 20,000 events and 16 MiB. */
  seq: number;
  /** forkId is the id of the new conversation, in the form of conversationId of createConversation. If it is absent, the hub chooses one. With clientRequestId, the id depends on the caller and the key only. */
  forkId?: string;
  /** title is the title of the fork; absent, the title of the other conversation. At most 256 bytes. */
  title?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and the spans that the event causes belong to the same trace. A retry does not change it. */
  traceparent?: string;
}

/** Describes the origin of a fork. The event conversation_forked, which follows the shared events, has it. */
export interface ForkRecord {
  conversationId: string;
  /** seq is the last shared event. hash is the value of the hash chain of the other conversation at seq, in lower-case hex. It can be computed from the shared events and the id of the other conversation. */
  seq: number;
  hash: string;
}

/** Request the state of an approval. The hub answers not_found to a caller that neither requested it nor may answer it. */
export interface GetApprovalParams {
  approvalId: string;
  /** timeoutMs is how long the call waits until the approval is resolved. If it is absent or 0, the call does not wait. The hub reduces a value over 60000 to 60000. */
  timeoutMs?: number;
}

/** Read a part of a file of a conversation. */
export interface GetAttachmentParams {
  conversationId: string;
  /** sha256 is the hash of the file, in lower-case hex. */
  sha256: string;
  offset?: number;
  /** length is the maximum length of the part: 1 byte to 512 KiB; absent, 512 KiB. */
  length?: number;
}

/** Has a part of a file. size is the size of the whole file in bytes. */
export interface GetAttachmentResult {
  data: string;
  size: number;
}

/** Request the current agent context of a seat. */
export interface GetContextParams {
  conversationId: string;
  /** agentId is the seat. The token must be able to speak as it; absent, the caller. */
  agentId?: string;
  /** claimId is the claim of the turn that the context is for; absent, the context that the seat would receive now. At most 128 bytes. */
  claimId?: string;
}

/** Has the agent context: one object, with the same bytes for every kind of agent. It has the members trigger, triggers if there are several, and the keys of the context selectors. */
export interface GetContextResult {
  /** context is absent for an agent without subscriptions. */
  context?: any;
  /** triggers are the seqs of the matches of the turn or session, in order. It is empty without a trigger. */
  triggers: number[];
  sources: ContextSource[];
  bytes: number;
  /** latestSeq is the last seq of the log. */
  latestSeq: number;
}

/** Request a snapshot with the events after sinceSeq. */
export interface GetConversationParams {
  conversationId: string;
  sinceSeq?: number;
  limit?: number;
}

/** Request the guidance of the caller. */
export interface GetGuidanceParams {
  conversationId: string;
  /** explain adds all rules that were tried. */
  explain?: boolean;
}

/** The guidance at latestSeq. */
export interface GetGuidanceResult {
  guidance: Guidance;
  latestSeq: number;
}

/** Request the state of a session. */
export interface GetSessionParams {
  sessionId: string;
  /** timeoutMs is how long the call waits until the session ends or requires input. If it is absent or 0, the call does not wait. The hub reduces a value over 60000 to 60000. */
  timeoutMs?: number;
  /** progressSince also ends the wait at progress after this seq. */
  progressSince?: number;
}

/** Request the messages after sinceSeq and the guidance of the caller. */
export interface GetUpdatesParams {
  conversationId: string;
  sinceSeq?: number;
  limit?: number;
  timeoutMs?: number;
  until?: 'any' | 'message' | 'my_turn' | 'closed';
}

/** Has the messages after sinceSeq. nextSeq is the last examined seq: the cursor of the next call. */
export interface GetUpdatesResult {
  messages: Event[];
  /** withdrawn are the ranges of events of failed attempts that end after sinceSeq. A reader that has some of these messages must discard them. messages never includes them. */
  withdrawn?: Withdrawn[];
  guidance: Guidance;
  nextSeq: number;
  latestSeq: number;
  status: 'active' | 'closed' | (string & {});
  timedOut: boolean;
}

/** The answer of the hub to one participant: whether it may speak, in which turn, and why. It is a function of the log and the participant. It is the same whether it is pushed, requested, or computed after a restart. Only reason also reports that no executor runs the agent that has the floor. */
export interface Guidance {
  kind: 'may_speak' | 'wait' | 'closed' | (string & {});
  /** action is set with may_speak. */
  action?: 'start_turn' | 'continue_turn' | (string & {});
  /** turn is the open turn, or the next one. After the close, it is the last one. */
  turn: number;
  /** speaker is the participant that has the floor. It is empty if anyone may take it, or no one. */
  speaker?: string;
  /** claim is the current claim of speaker. */
  claim?: ClaimState;
  /** deadlineMs is when a limit closes the conversation if no event is added before, in Unix milliseconds. It is for information only, and absent if there is no such limit. */
  deadlineMs?: number;
  /** reason is one sentence with the rule that decided. A second sentence follows if no executor runs the agent that has the floor. */
  reason: string;
  /** rules are the rules in the order in which they were tried, up to the one that decided. They are present with explain only. */
  rules?: RuleTried[];
}

/** Has the guidance of the caller at seq. It follows caught_up, and comes again after each change. */
export interface GuidanceNotification {
  subscriptionId: string;
  conversationId: string;
  seq: number;
  guidance: Guidance;
}

/** Has the guidance of the caller at seq. It follows caught_up, and comes again after each change. */
export interface GuidanceNotificationOfStream {
  conversationId: string;
  seq: number;
  guidance: Guidance;
}

/** Describes the hub that answered. */
export interface HubInfo {
  /** version is a semantic version (semver.org), such as 0.1.0 or 0.1.0-dev+8526c70. */
  version: string;
  /** commit is the full hash of the commit that the hub was built from. It is absent for a build outside of a repository. */
  commit?: string;
  /** date is the time of that commit. */
  date?: string;
  nowMs: number;
}

/** Limits close a conversation automatically. An absent limit has no effect, except the two that have a default. */
export interface Limits {
  /** maxTurns is the maximum number of ended turns of participants, with or without a message. 1 to 1,000,000. */
  maxTurns?: number;
  /** maxEvents is the maximum number of messages, traces, notes, attachments, and turns that ended without a message. 1 to 1,000,000; default 100,000. */
  maxEvents?: number;
  /** maxBytes is the maximum number of encoded bytes of the same events, and of the files. 1,024 to 1 GiB; default 256 MiB. */
  maxBytes?: number;
  /** idleTimeoutMs is measured from the last message, trace, note or attachment, or from creation. 100 ms to 366 days. */
  idleTimeoutMs?: number;
  /** deadlineMs is measured from creation. 100 ms to 366 days. */
  deadlineMs?: number;
  /** turnTimeoutMs is how long a claim lasts without renewal, and how long the turn of an agent may be without a claim. 100 ms to 24 h; default 60 s. An explicit value also applies to humans and peers. */
  turnTimeoutMs?: number;
  /** onTurnTimeout is what happens to a turn that was not taken in time, or that failed maxAttempts times. Absent, reoffer. */
  onTurnTimeout?: 'reoffer' | 'skip' | 'close' | (string & {});
  /** maxAttempts is the maximum number of failed claims of one turn. 1 to 100; default 3. */
  maxAttempts?: number;
  /** maxClaimMs is the maximum duration of one claim with all renewals. turnTimeoutMs to 24 h; default ten times turnTimeoutMs. */
  maxClaimMs?: number;
  /** claimWindowMs is how long the hub offers a turn to one executor before it offers it to another one. 50 ms to 60 s; default 2 s. */
  claimWindowMs?: number;
  /** maxAutonomousTurns is the maximum number of turns of others since a human last ended a turn with a message. Then a human has the floor. Without a human, the hub closes the conversation. 1 to 1,000,000. */
  maxAutonomousTurns?: number;
  /** maxHops is the maximum length of a chain of events in which each event triggered the author of the next one. 1 to 100; default 8. */
  maxHops?: number;
  /** maxWakesPerMinute is how often per minute the events of one agent may trigger one agent. An agent that triggers itself is counted too. Events of humans and peers that nothing triggered are not counted. 1 to 10,000; default 30. */
  maxWakesPerMinute?: number;
  /** stopWhen is a CEL expression like the condition of a rule. If it holds after a turn that ended with a message, the hub closes the conversation as completed. */
  stopWhen?: string;
}

/** Limits close a conversation automatically. An absent limit has no effect, except the two that have a default. */
export interface LimitsInput {
  /** maxTurns is the maximum number of ended turns of participants, with or without a message. 1 to 1,000,000. */
  maxTurns?: number;
  /** maxEvents is the maximum number of messages, traces, notes, attachments, and turns that ended without a message. 1 to 1,000,000; default 100,000. */
  maxEvents?: number;
  /** maxBytes is the maximum number of encoded bytes of the same events, and of the files. 1,024 to 1 GiB; default 256 MiB. */
  maxBytes?: number;
  /** idleTimeoutMs is measured from the last message, trace, note or attachment, or from creation. 100 ms to 366 days. */
  idleTimeoutMs?: number;
  /** deadlineMs is measured from creation. 100 ms to 366 days. */
  deadlineMs?: number;
  /** turnTimeoutMs is how long a claim lasts without renewal, and how long the turn of an agent may be without a claim. 100 ms to 24 h; default 60 s. An explicit value also applies to humans and peers. */
  turnTimeoutMs?: number;
  /** onTurnTimeout is what happens to a turn that was not taken in time, or that failed maxAttempts times. Absent, reoffer. */
  onTurnTimeout?: 'reoffer' | 'skip' | 'close';
  /** maxAttempts is the maximum number of failed claims of one turn. 1 to 100; default 3. */
  maxAttempts?: number;
  /** maxClaimMs is the maximum duration of one claim with all renewals. turnTimeoutMs to 24 h; default ten times turnTimeoutMs. */
  maxClaimMs?: number;
  /** claimWindowMs is how long the hub offers a turn to one executor before it offers it to another one. 50 ms to 60 s; default 2 s. */
  claimWindowMs?: number;
  /** maxAutonomousTurns is the maximum number of turns of others since a human last ended a turn with a message. Then a human has the floor. Without a human, the hub closes the conversation. 1 to 1,000,000. */
  maxAutonomousTurns?: number;
  /** maxHops is the maximum length of a chain of events in which each event triggered the author of the next one. 1 to 100; default 8. */
  maxHops?: number;
  /** maxWakesPerMinute is how often per minute the events of one agent may trigger one agent. An agent that triggers itself is counted too. Events of humans and peers that nothing triggered are not counted. 1 to 10,000; default 30. */
  maxWakesPerMinute?: number;
  /** stopWhen is a CEL expression like the condition of a rule. If it holds after a turn that ended with a message, the hub closes the conversation as completed. At most 2048 bytes. */
  stopWhen?: string;
}

/** List the agents that the caller can use. */
export interface ListAgentsParams {
  /** includeConfig adds agent_config to the LLM agents that the caller registered. An admin receives all configs. */
  includeConfig?: boolean;
  /** includeExecutors adds the executors that the caller registered. An admin receives all executors. */
  includeExecutors?: boolean;
}

/** Has the agents in the order of their names. */
export interface ListAgentsResult {
  agents: AgentInfo[];
  /** executors are present if they were requested, in the order of the registering participants and of their ids, as many as fit. executorsMore is the number of the others. */
  executors?: ExecutorInfo[];
  executorsMore?: number;
}

/** List the approvals that the caller may answer or has requested, oldest first. Of the resolved approvals, only the last 100 of each conversation are listed; the log has all of them. With a status other than pending and without conversationId, the approvals of open conversations are listed one conversation after the other, and a page may be empty although it has a nextCursor. */
export interface ListApprovalsParams {
  /** status is pending, approved, rejected, timed_out or canceled; absent, pending. */
  status?: 'pending' | 'approved' | 'rejected' | 'timed_out' | 'canceled';
  /** conversationId restricts the list to one conversation. */
  conversationId?: string;
  limit?: number;
  cursor?: string;
}

/** A page; nextCursor is empty on the last. */
export interface ListApprovalsResult {
  approvals: Approval[];
  nextCursor?: string;
}

/** List the conversations that the caller takes part in or created. Admins see all. They are in the order of their creation. A page may have fewer than limit conversations, or none, and still a nextCursor, because the hub examines a bounded number of conversations in one call. */
export interface ListConversationsParams {
  status?: 'active' | 'closed';
  /** workspace lists the conversations of a workspace of the token instead. */
  workspace?: string;
  /** participant restricts the list to conversations of this participant. */
  participant?: string;
  /** text restricts the list to conversations whose id or title contains it, in upper or lower case. 1 to 256 bytes. */
  text?: string;
  /** newest reverses the order: the conversation that was created last comes first. */
  newest?: boolean;
  /** limit is 1 to 100; default 50. */
  limit?: number;
  /** cursor is the nextCursor of the previous page. */
  cursor?: string;
}

/** A page; nextCursor is empty on the last. */
export interface ListConversationsResult {
  conversations: ConversationSummary[];
  nextCursor?: string;
}

/** List the valid tokens that the caller may revoke, in the order of their creation. */
export interface ListTokensParams {
  /** limit is 1 to 1000; default 200. */
  limit?: number;
  /** cursor is the nextCursor of the previous page. */
  cursor?: string;
}

/** A page; nextCursor is empty on the last. */
export interface ListTokensResult {
  tokens: TokenInfo[];
  nextCursor?: string;
}

/** The payload of a message. At least one of text, data, attachments, parameters and result is there. Other members are kept. */
export type Message = any;

/** The payload of sendNote: a system event that any participant may post at any time while the conversation is open. It does not change the floor. */
export interface Note {
  /** At most 128 bytes. */
  schema: string;
  tags?: string[];
  data: any;
}

/** What the hub sends by itself. Let unknown methods pass. */
export interface Notification {
  jsonrpc: '2.0';
  method: string;
  params: {[name: string]: any};
}

/** The turn that is open now. */
export interface OpenTurn {
  turn: number;
  owner: string;
  /** claim is the current claim. */
  claim?: ClaimState;
}

/** How and why a conversation ended. */
export interface Outcome {
  status: 'completed' | 'failed' | 'canceled' | (string & {});
  /** reason is free text of the closer, at most 1 KiB, or one of the reasons of the hub. */
  reason?: string;
}

/** How and why a conversation ended. */
export interface OutcomeInput {
  status: 'completed' | 'failed' | 'canceled';
  /** reason is free text of the closer, at most 1 KiB, or one of the reasons of the hub. At most 1024 bytes. */
  reason?: string;
}

/** A seat in a conversation. */
export interface Participant {
  /** id is the id that tokens speak as: 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -. The first one is a letter or digit. "hub" is not allowed. */
  id: string;
  kind: 'human' | 'agent' | 'tool' | 'peer' | (string & {});
  /** agent is the name of the agent on the seat, for the kinds agent and tool. It has the form of id; absent, it is id. */
  agent?: string;
  /** executor is where the agent may run: any, internal (in the process of the hub) or external (over a connection). The hub offers turns only there, and refuses claims from elsewhere. */
  executor?: 'any' | 'internal' | 'external' | (string & {});
  /** role is free text of at most 64 bytes. The hub stores it, and rules can use it. */
  role?: string;
  /** private is a text of at most 16 KiB for this participant only. It is stored in a separate event that no one else can read, and is never part of a list of participants. */
  private?: string;
}

/** A row of ExplainResult. */
export interface ParticipantGuidance {
  participantId: string;
  guidance: Guidance;
}

/** A seat in a conversation. */
export interface ParticipantInput {
  /** id is the id that tokens speak as: 1 to 64 characters of A-Z, a-z, 0-9, ., _ and -. The first one is a letter or digit. "hub" is not allowed. */
  id: string;
  kind: 'human' | 'agent' | 'tool' | 'peer';
  /** agent is the name of the agent on the seat, for the kinds agent and tool. It has the form of id; absent, it is id. */
  agent?: string;
  /** executor is where the agent may run: any, internal (in the process of the hub) or external (over a connection). The hub offers turns only there, and refuses claims from elsewhere. */
  executor?: 'any' | 'internal' | 'external';
  /** role is free text of at most 64 bytes. The hub stores it, and rules can use it. */
  role?: string;
  /** private is a text of at most 16 KiB for this participant only. It is stored in a separate event that no one else can read, and is never part of a list of participants. At most 16384 bytes. */
  private?: string;
}

/** Request the hub time. */
export type PingParams = {[name: string]: any};

/** The hub time. */
export interface PingResult {
  nowMs: number;
}

/** Decides which participant has the floor when no turn is open. If a policy finds no participant, it falls back to round_robin after the participant of the last turn. Guidance reports that as its reason. */
export interface Policy {
  kind: 'round_robin' | 'open' | 'addressed' | 'rules' | 'moderator' | 'triggers' | (string & {});
  /** rules are for kind rules: 1 to 32 rules with at most 8 KiB of expressions in all. The hub tries them in order after a turn that ended with a message. */
  rules?: Rule[];
  /** moderator is the id of a participant, for kind moderator. */
  moderator?: string;
}

/** Decides which participant has the floor when no turn is open. If a policy finds no participant, it falls back to round_robin after the participant of the last turn. Guidance reports that as its reason. */
export interface PolicyInput {
  kind: 'round_robin' | 'open' | 'addressed' | 'rules' | 'moderator' | 'triggers';
  /** rules are for kind rules: 1 to 32 rules with at most 8 KiB of expressions in all. The hub tries them in order after a turn that ended with a message. */
  rules?: RuleInput[];
  /** moderator is the id of a participant, for kind moderator. */
  moderator?: string;
}

/** An error over plain HTTP: application/problem+json (RFC 9457). */
export interface Problem {
  /** urn:parley:error: and the reason. */
  type: string;
  /** The reason, for people. */
  title: string;
  /** The HTTP status. */
  status: number;
  /** One sentence for a person. */
  detail: string;
  code: -32700 | -32600 | -32601 | -32602 | -32603 | 4000 | 4001 | 4010 | 4030 | 4040 | 4090 | 4091 | 4092 | 4093 | 4094 | 4095 | 4096 | 4097 | 4098 | 4100 | 4130 | 4290 | 5030 | 5031 | 5070 | number;
  reason: 'parse_error' | 'invalid_request' | 'method_not_found' | 'invalid_params' | 'internal' | 'validation_failed' | 'parameter_validation_failed' | 'unauthenticated' | 'forbidden' | 'not_found' | 'not_your_turn' | 'turn_closed' | 'conversation_closed' | 'turn_conflict' | 'claim_required' | 'claim_lost' | 'idempotency_conflict' | 'already_exists' | 'already_resolved' | 'cursor_ahead' | 'too_large' | 'rate_limited' | 'unavailable' | 'outcome_unknown' | 'storage_full' | (string & {});
  retryable: boolean;
  retryAfterMs?: number;
  expected?: string;
  guidance?: Guidance;
  /** error is the reason, and message is the message of the error. With parameter_validation_failed. */
  error?: string;
  /** With parameter_validation_failed. */
  message?: string;
  /** With parameter_validation_failed. */
  agent_name?: string;
  /** With parameter_validation_failed. */
  validation_errors?: ValidationError[];
  /** parameters_schema is the whole schema. With parameter_validation_failed. */
  parameters_schema?: any;
}

/** Add a file to a conversation. The same bytes are the same attachment. */
export interface PutAttachmentParams {
  conversationId: string;
  /** data is the file, at most 16777216 bytes. JSON has it in base64 (RFC 4648, section 4), so 1048576 bounds it over JSON-RPC. */
  data: string;
  /** name is the file name for readers: at most 255 bytes, without a path. The hub never uses it as a path. */
  name?: string;
  /** mediaType is the type that the author declares, such as application/pdf. The hub does not check it. At most 127 bytes. */
  mediaType?: string;
}

/** Has the hash of the file and the seq of the event that added it. duplicate is true if the conversation already had the file. */
export interface PutAttachmentResult {
  sha256: string;
  size: number;
  seq: number;
  duplicate?: boolean;
}

/** Register the agents that the executor of this connection runs. They replace the earlier registration. With an empty list the runner leaves, and the sessions of its commands fail. */
export interface RegisterBlueprintsParams {
  blueprints: BlueprintInput[];
}

/** Has the agents in the order of the blueprints. */
export interface RegisterBlueprintsResult {
  agents: RegisteredBlueprint[];
}

/** Register this connection as an executor, until the connection ends. A second registration with the same executorId replaces the first. Another executorId on the same connection is refused with already_exists. */
export interface RegisterExecutorParams {
  /** executorId distinguishes the replicas of an agent. It has the form of a participant id, and a process keeps it over reconnects. A second connection of the same caller with the same id replaces the first one, which receives closing. */
  executorId: string;
  /** agents are the names of the agents that it runs: at most 64 different ones. The token must be able to speak as each of them. A runner of blueprints needs none. */
  agents: string[];
  /** mode is pull or push; absent, pull. */
  mode?: 'pull' | 'push';
  /** capacity is the number of claims up to which the hub offers turns. 1 to 10,000; absent, 16. */
  capacity?: number;
  /** graceMs is how long its claims remain valid after the connection was lost, in milliseconds. 100 to 600,000; absent, 5,000. */
  graceMs?: number;
  /** holding are the claims that the executor still holds. All other claims of this executorId end, because the process that held them no longer exists. */
  holding?: string[];
  /** labels are key-value pairs that sessions can demand. At most 32. */
  labels?: {[name: string]: string};
}

/** Has the claims of holding that are current, and the number of other claims that the registration ended. */
export interface RegisterExecutorResult {
  ok: boolean;
  holding: string[];
  ended: number;
}

/** Has the name under which the agent of a blueprint was registered: its own name, or name@runnerId if another runner has registered that name. */
export interface RegisteredBlueprint {
  name: string;
  agentName: string;
}

/** Release a claim. */
export interface ReleaseClaimParams {
  conversationId: string;
  /** At most 128 bytes. */
  claimId: string;
  outcome: 'yield' | 'decline' | 'silent' | 'failed';
  /** reason is a word or sentence of at most 1 KiB that all participants can read. At most 1024 bytes. */
  reason?: string;
}

/** Extend a claim. */
export interface RenewClaimParams {
  conversationId: string;
  /** At most 128 bytes. */
  claimId: string;
}

/** Has the new deadline of the claim in Unix milliseconds of hub time, and the time until then. The deadline is never later than the maxClaimMs of the claim allows. */
export interface RenewClaimResult {
  deadlineMs: number;
  durationMs: number;
}

/** What the hub answers. What result is depends on the method. */
export type Reply = {
  jsonrpc: '2.0';
  /** Comes back as it was written. At most 128 bytes as written. */
  id: (string & {}) | number;
  result: {[name: string]: any};
} | {
  jsonrpc: '2.0';
  /** Comes back as it was written. At most 128 bytes as written. */
  id: (string & {}) | number | null;
  error: WireError;
};

/** What a client sends: a text frame, or the body of POST /rpc. */
export interface Request {
  jsonrpc: '2.0';
  /** Comes back as it was written. At most 128 bytes as written. */
  id: (string & {}) | number;
  method: 'authenticate' | 'ping' | 'createTicket' | 'createConversation' | 'getConversation' | 'listConversations' | 'addParticipant' | 'closeConversation' | 'forkConversation' | 'watchConversations' | 'tail' | 'waitForChange' | 'getUpdates' | 'subscribe' | 'unsubscribe' | 'getGuidance' | 'explain' | 'sendMessage' | 'sendTrace' | 'sendNote' | 'sendDelta' | 'putAttachment' | 'getAttachment' | 'registerExecutor' | 'claimTurn' | 'renewClaim' | 'releaseClaim' | 'cancelTurn' | 'listAgents' | 'registerBlueprints' | 'startSession' | 'getSession' | 'stopSession' | 'requestApproval' | 'getApproval' | 'listApprovals' | 'resolveApproval' | 'getContext' | 'explainTriggers' | 'createToken' | 'listTokens' | 'revokeToken' | 'stats';
  params?: {[name: string]: any};
}

/** Request an approval under the current claim (claim_required, claim_lost). A request with the same key in the same turn returns the first approval, answered or not. This includes requests of later attempts. With another title, details or schema the hub refuses it: idempotency_conflict. */
export interface RequestApprovalParams {
  conversationId: string;
  /** claimId may be absent under the same conditions as in sendMessage. At most 128 bytes. */
  claimId?: string;
  /** key has 1 to 128 bytes. */
  key: string;
  /** title is one line of at most 256 bytes that all participants can read. */
  title: string;
  /** details is an object of at most 64 KiB. */
  details?: {[name: string]: any};
  /** answerSchema is a JSON Schema of at most 64 KiB. */
  answerSchema?: {[name: string]: any};
  /** expiresInMs is the time to answer in milliseconds: 100 ms to 7 days; absent, 10 minutes. It is measured in hub time, and includes time in which the hub is down. */
  expiresInMs?: number;
}

/** Offers a turn to an executor in push mode. The first executor that claims it takes the turn. */
export interface RequestTurn {
  conversationId: string;
  /** agentId is the participant that has the floor, and agent is the name of the agent on its seat. */
  agentId: string;
  agent: string;
  turn: number;
  /** claimId is the argument of claimTurn. It is valid for this turn and this executor only, until the turn is claimed. */
  claimId: string;
  /** attempt is 1 unless earlier attempts failed. */
  attempt: number;
  /** sinceSeq is the seq of the last message with which agentId ended a turn, or 0. */
  sinceSeq: number;
  /** deadlineMs is when a claim that is made now would expire without renewal, in Unix milliseconds of hub time. It is approximate. */
  deadlineMs: number;
  /** claimWindowMs is how long the hub waits before it offers the turn to another executor too. This offer remains valid after that. */
  claimWindowMs: number;
  /** traceparent is the parent for spans of the executor: the span of the turn, or of the event that the turn answers. It is empty if there is no such span. */
  traceparent?: string;
}

/** Resolve a pending approval. A second call is refused with already_resolved. Humans and peers of the conversation, or of a conversation above it in the tree of sessions, may resolve it with a token that has the scope approve. Admins may always do so. The participant that asks, agents, and the token that asked never may. Without the scope admin, the token must not belong to the account that asked, and must not be able to speak as the participant that asks. */
export interface ResolveApprovalParams {
  approvalId: string;
  decision: 'approved' | 'rejected';
  /** answer is allowed with the decision approved only. It must match the answerSchema. */
  answer?: any;
  /** comment has at most 1 KiB. All participants can read it. At most 1024 bytes. */
  comment?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
}

/** Revoke a token, and all tokens that were created with it, directly or indirectly. */
export interface RevokeTokenParams {
  tokenId: string;
}

/** Has the ids of the revoked tokens. */
export interface RevokeTokenResult {
  revoked: string[];
}

/** Grants the floor to next if when holds. */
export interface Rule {
  /** when is a CEL expression of type bool, at most 2 KiB. protocol.md, section 8, has its variables and the limit of its cost. */
  when: string;
  /** next is the id of a participant. */
  next: string;
}

/** Grants the floor to next if when holds. */
export interface RuleInput {
  /** when is a CEL expression of type bool, at most 2 KiB. protocol.md, section 8, has its variables and the limit of its cost. At most 2048 bytes. */
  when: string;
  /** next is the id of a participant. */
  next: string;
}

/** A step in the computation of guidance. */
export interface RuleTried {
  rule: string;
  /** decided is true in the last step: this rule applied. */
  decided: boolean;
  because: string;
}

/** The data of the event runner_registered in the hub's own log of runners. */
export interface RunnerRecord {
  runnerId: string;
  participantId: string;
  blueprints: Blueprint[];
  labels?: {[name: string]: string};
  /** workspaces are the workspaces of its token. "*" alone means any workspace, with an admin token. */
  workspaces?: string[];
  /** internal is true for a runner in the process of the hub. */
  internal?: boolean;
}

/** Identifies a runner by its executor and the participant that registered it. */
export interface RunnerRef {
  runnerId: string;
  participantId: string;
}

/** The result of one selector for an event. */
export interface SelectorTried {
  selector: number;
  role: 'trigger' | 'context' | (string & {});
  matched: boolean;
  because: string;
}

/** Send a part of the text of a message to live subscribers. The hub checks the turn and the claim as in sendMessage. */
export interface SendDeltaParams {
  conversationId: string;
  turn: number;
  /** At most 128 bytes. */
  claimId?: string;
  index: number;
  /** At most 16384 bytes. */
  text: string;
}

/** Append a message. */
export interface SendMessageParams {
  conversationId: string;
  payload: Message;
  finality: 'none' | 'turn' | 'conversation';
  /** turn is the turn of the message. The hub refuses the call if that turn ended or has not started. */
  turn?: number;
  /** afterSeq is the last seq that the author has read. The hub refuses the call if another participant spoke after it. */
  afterSeq?: number;
  /** turnHint names the participant that should be next. It is allowed with finality turn, under the policies addressed and moderator. */
  turnHint?: TurnHintInput;
  /** outcome is allowed with finality conversation only; absent means completed. */
  outcome?: OutcomeInput;
  /** claimId is the claim of the author. The hub refuses the call if it is not the current one. The connection that made the claim may omit it. At most 128 bytes. */
  claimId?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and the spans that the event causes belong to the same trace. A retry does not change it. */
  traceparent?: string;
}

/** Append a note. */
export interface SendNoteParams {
  conversationId: string;
  payload: Note;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and the spans that the event causes belong to the same trace. A retry does not change it. */
  traceparent?: string;
}

/** The result of sendMessage and sendTrace. duplicate is true if the hub knew the key: then it is the first result. */
export interface SendResult {
  seq: number;
  turn: number;
  /** claimId is set if the message or trace made the claim of its turn, which happens when an agent leaves its turn open. The following calls of this turn name it. */
  claimId?: string;
  duplicate?: boolean;
}

/** Append a trace. */
export interface SendTraceParams {
  conversationId: string;
  payload: Trace;
  turn?: number;
  /** At most 128 bytes. */
  claimId?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and the spans that the event causes belong to the same trace. A retry does not change it. */
  traceparent?: string;
}

/** Has the seq of the event that addParticipant, closeConversation, sendNote or cancelTurn appended. */
export interface SeqResult {
  seq: number;
  duplicate?: boolean;
}

/** A session as its caller sees it. */
export interface Session {
  sessionId: string;
  agentName: string;
  agentType: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  status: 'pending' | 'running' | 'input_required' | 'completed' | 'failed' | 'stopped' | (string & {});
  mode: 'sync' | 'async_poll' | 'async_callback' | (string & {});
  createdBy: string;
  /** parentConversationId is empty for a session without a parent. */
  parentConversationId?: string;
  depth: number;
  runnerId?: string;
  createdAt: string;
  /** startedAt is when its agent took it most recently. */
  startedAt?: string;
  endedAt?: string;
  /** progress is present while the session runs. */
  progress?: SessionProgress;
  /** result is present after the end. While input is required, it is the last message of the agent. */
  result?: SessionResult;
  /** reason is the reason of the outcome: one of the reasons of the hub, or a text of the agent. */
  reason?: string;
  /** callback is present in mode async_callback. */
  callback?: 'pending' | 'delivered' | 'undeliverable' | (string & {});
  /** latestSeq is the last seq of its log. */
  latestSeq: number;
  /** timedOut is true if the call waited for its whole timeout and the session has no result yet. */
  timedOut?: boolean;
  /** duplicate is true if startSession returns the session of an earlier call with the same key. */
  duplicate?: boolean;
}

/** The last progress that a running agent reported. */
export interface SessionProgress {
  seq: number;
  text: string;
}

/** The data of a session in the event conversation_created. */
export interface SessionRecord {
  /** agent is the name with which the session was started. agentId is the participant that produces the result. */
  agent: string;
  agentId: string;
  type: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  /** caller is the participant that started it. */
  caller: string;
  mode: 'sync' | 'async_poll' | 'async_callback' | (string & {});
  /** parent is the conversation in which the session was started; it may be empty. root is the conversation at the root of the tree: the session itself if it has no parent. depth is the number of sessions from the root down to this one. */
  parent?: string;
  root: string;
  depth: number;
  /** runner is the only runner that may run it. It is absent if any executor of the agent may, and while the session waits for a runner. */
  runner?: RunnerRef;
  /** hosted is true for an LLM agent of a runner. */
  hosted?: boolean;
  /** demands are labels that its executor must have. */
  demands?: {[name: string]: string};
  /** timeoutMs bounds the run of a command, in milliseconds. It is 0 for other agents. */
  timeoutMs?: number;
  /** trigger is set if an event of the parent started the session. */
  trigger?: SessionTrigger;
  /** cause and hops are those of the events of the session, unless an event of the session triggers its agent. */
  cause?: Cause;
  hops?: number;
}

/** The result of a session. */
export interface SessionResult {
  result_type: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  /** result_text is the text of the agent, or the whole standard output of the command. It is null if there is no text, or if it was omitted. */
  result_text?: (string & {}) | null;
  /** result_data is set if the text is JSON. */
  result_data?: any;
  /** exit_code is the exit code of a command that ended by itself. */
  exit_code?: number;
  /** error is why the session failed or was stopped. */
  error?: string;
  /** validation_errors are set if the result does not match the output_schema of the agent. */
  validation_errors?: ValidationError[];
  /** attachment has the whole text if it was too large for the message. Then result_text is its beginning. */
  attachment?: Attachment;
  /** omitted is set in a callback if the result was too large for it. getSession returns the result. */
  omitted?: boolean;
}

/** Describes a session in listConversations. */
export interface SessionSummary {
  agent: string;
  caller: string;
  parent?: string;
  status: 'pending' | 'running' | 'input_required' | 'completed' | 'failed' | 'stopped' | (string & {});
}

/** The data of conversation_created for a session that an event started. */
export interface SessionTrigger {
  /** seq is the event in the parent, and selector is the index of the selector that matched it. */
  seq: number;
  selector: number;
  /** workspace is true if the agent does not take part in the parent. */
  workspace?: boolean;
}

/** A conversation as one participant sees it at latestSeq. */
export interface Snapshot {
  conversationId: string;
  status: 'active' | 'closed' | (string & {});
  title?: string;
  createdBy: string;
  createdAt: string;
  participants: Participant[];
  policy: Policy;
  startsWith?: string;
  limits: Limits;
  metadata?: any;
  workspace?: string;
  /** session is set if the conversation is a session. */
  session?: SessionRecord;
  /** fork is set if the conversation is a fork. */
  fork?: ForkRecord;
  latestSeq: number;
  /** turn is the open turn, or the next one. After the close, it is the last one. */
  turn: number;
  openTurn?: OpenTurn;
  guidance: Guidance;
  /** headHash is the value of the hash chain at latestSeq, in lower-case hex. */
  headHash: string;
  outcome?: Outcome;
  /** events are the visible events after sinceSeq. nextSeq is the last examined seq: the cursor of the next call. */
  events: Event[];
  nextSeq: number;
  /** duplicate is true if an earlier createConversation with the same key created the conversation. */
  duplicate?: boolean;
}

/** Start an agent for a result. */
export interface StartSessionParams {
  /** agentName is the name of an agent of listAgents, or name@runnerId. */
  agentName: string;
  /** parameters are an object that matches the parameters_schema of the agent; absent, an empty object. The hub fills in the defaults of the schema. */
  parameters?: {[name: string]: any};
  /** prompt is short for the parameters {"prompt": prompt}. It excludes parameters. */
  prompt?: string;
  mode?: 'sync' | 'async_poll' | 'async_callback';
  /** parentConversationId is the conversation that starts the session. The caller must take part in it. The hub writes the start and the end of the session to it, and stops the session when it is closed. mode async_callback requires it. */
  parentConversationId?: string;
  /** demands are labels that the executor of the agent must have. At most 32. */
  demands?: {[name: string]: string};
  /** metadata is the metadata of the conversation of the session: an object of at most 16 KiB. A command receives its member traceparent (W3C Trace Context). */
  metadata?: {[name: string]: any};
  /** timeoutMs bounds the wait in mode sync, and nothing else; absent, 60000. The hub reduces a larger value to 60000. */
  timeoutMs?: number;
  /** resume is a session that waits for input. parameters are its next message. Deterministic agents do not support resumption. demands, metadata and mode are those of the session. */
  resume?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent is the span of the caller (W3C Trace Context, version 00). The event records it, and the spans that the event causes belong to the same trace. A retry does not change it. */
  traceparent?: string;
}

/** Counters since the start of the hub, and its current state. The same numbers are at /metrics. */
export interface Stats {
  version: string;
  state: 'ready' | 'storage_full' | 'draining' | 'failed' | (string & {});
  uptimeMs: number;
  /** eventsAppended counts committed events by type, including those in conversations of the hub. */
  eventsAppended: {[name: string]: number};
  /** duplicates counts writes that were answered with an earlier result. */
  duplicates: number;
  /** append is the duration of appends, from the decision to the commit. */
  append: Durations;
  /** refusals counts refused calls and requests by the reason of the error. It has only reasons that occurred. */
  refusals: {[name: string]: number};
  /** loginsRefused counts refused tokens and tickets. */
  loginsRefused: number;
  /** connectionsRefused counts connections that were closed because too many were not authenticated. */
  connectionsRefused: number;
  /** turns is the duration of the turns of agents, from the claim that led to the final message to that message. claimWaits is how long the turns of agents waited for a claim. */
  turns: Durations;
  claimWaits: Durations;
  /** offers counts offers of turns to executors. claimsTaken counts claims, and claimsEnded counts them by how they ended. */
  offers: number;
  claimsTaken: number;
  claimsEnded: {[name: string]: number};
  /** executors is the number of registered executors, claims the number of current claims, and conversationsOpen the number of conversations that are not closed. */
  executors: number;
  claims: number;
  conversationsOpen: number;
  /** conversationsLoaded is the number of conversations in memory. */
  conversationsLoaded: number;
  /** subscribers is the number of subscriptions, including SSE streams. maxLag and sumLag are the numbers of events that they have not examined yet. */
  subscribers: number;
  maxLag: number;
  sumLag: number;
  /** journalBytes is the size of the log and its files on disk. */
  journalBytes: number;
  /** sockets is the number of open WebSockets. pendingSockets is the number of those that are not authenticated yet. */
  sockets: number;
  pendingSockets: number;
  /** streams is the number of open SSE streams. */
  streams: number;
  /** requests is the number of HTTP requests in progress that make a call, including that of stats. SSE streams are not counted. */
  requests: number;
  /** received and sent count the traffic of WebSockets. */
  received: Traffic;
  sent: Traffic;
}

/** Request the counters of the hub since its start. */
export type StatsParams = {[name: string]: any};

/** Stop a session. Its caller, humans of its parent conversation, and admins may do that. */
export interface StopSessionParams {
  sessionId: string;
  /** reason is a word or sentence of at most 1 KiB for the readers of the session. At most 1024 bytes. */
  reason?: string;
}

/** Request the events after sinceSeq, and then new events. */
export interface SubscribeParams {
  conversationId: string;
  sinceSeq?: number;
  /** types filters stored and new events alike; absent means all. An empty list is refused. */
  types?: ('message' | 'trace' | 'system')[];
}

/** Precedes the first notification of the subscription. */
export interface SubscribeResult {
  subscriptionId: string;
  latestSeq: number;
}

/** The payload of a system event: kind says which of the other members are there. */
export interface System {
  kind: 'conversation_created' | 'conversation_forked' | 'participant_added' | 'participant_private' | 'note' | 'attachment_added' | 'turn_claimed' | 'claim_renewed' | 'claim_ended' | 'turn_ended' | 'turn_reoffered' | 'session_started' | 'session_ended' | 'session_bound' | 'approval_requested' | 'approval_details' | 'approval_resolved' | 'approval_answer' | 'trigger_matched' | 'trigger_ended' | 'runner_registered' | 'runner_left' | 'token_created' | 'token_revoked' | (string & {});
  /** conversation_created, conversation_forked */
  title?: string;
  /** conversation_created, conversation_forked */
  createdBy?: string;
  /** conversation_created */
  participants?: Participant[];
  /** conversation_created */
  policy?: Policy;
  /** conversation_created */
  startsWith?: string;
  /** conversation_created */
  limits?: Limits;
  /** conversation_created */
  metadata?: any;
  /** conversation_created, conversation_forked */
  paramsHash?: string;
  /** conversation_created */
  session?: SessionRecord;
  /** conversation_created */
  workspace?: string;
  /** conversation_forked */
  fork?: ForkRecord;
  /** participant_added */
  participant?: Participant;
  /** participant_added */
  addedBy?: string;
  /** participant_private */
  participantId?: string;
  /** participant_private */
  text?: string;
  /** note */
  schema?: string;
  /** note */
  tags?: string[];
  /** note */
  data?: any;
  /** attachment_added */
  sha256?: string;
  /** attachment_added */
  size?: number;
  /** attachment_added */
  name?: string;
  /** attachment_added */
  mediaType?: string;
  /** turn_claimed, claim_renewed, claim_ended, turn_ended, turn_reoffered, approval_requested, approval_details, approval_resolved, approval_answer */
  turn?: number;
  /** turn_claimed, turn_ended, turn_reoffered, session_started, approval_requested, approval_details, approval_resolved, approval_answer */
  agentId?: string;
  /** turn_claimed */
  executorId?: string;
  /** turn_claimed */
  runner?: string;
  /** turn_claimed */
  attempt?: number;
  /** turn_claimed, claim_renewed, claim_ended, approval_requested */
  claimHash?: string;
  /** turn_claimed, claim_renewed, approval_resolved */
  durationMs?: number;
  /** turn_claimed */
  graceMs?: number;
  /** turn_claimed */
  upTo?: number;
  /** turn_claimed */
  internal?: boolean;
  /** claim_renewed, claim_ended, turn_ended, runner_left */
  reason?: string;
  /** claim_ended */
  resetFrom?: number;
  /** claim_ended, turn_ended, trigger_ended */
  detail?: string;
  /** session_started, session_ended */
  sessionId?: string;
  /** session_started */
  agent?: string;
  /** session_started */
  mode?: 'sync' | 'async_poll' | 'async_callback' | (string & {});
  /** session_ended */
  status?: 'pending' | 'running' | 'input_required' | 'completed' | 'failed' | 'stopped' | (string & {});
  /** approval_requested, approval_details, approval_resolved, approval_answer */
  approval?: ApprovalRecord;
  /** trigger_matched, trigger_ended */
  trigger?: TriggerRecord;
  /** runner_registered */
  runnerRecord?: RunnerRecord;
  /** session_bound, runner_left */
  runnerRef?: RunnerRef;
  /** token_created */
  token?: TokenRecord;
  /** token_revoked */
  tokenId?: string;
  /** token_revoked */
  revokedBy?: string;
}

/** Request the events after sinceSeq. */
export interface TailParams {
  conversationId: string;
  sinceSeq: number;
  limit?: number;
}

/** A page of visible events. nextSeq is the last examined seq: the cursor of the next call. */
export interface TailResult {
  events: Event[];
  nextSeq: number;
  latestSeq: number;
}

/** Describes a token without its secret and its hash. */
export interface TokenInfo {
  tokenId: string;
  agents: string[];
  scopes: ('read' | 'write' | 'create' | 'claim' | 'approve' | 'trace' | 'admin' | (string & {}))[];
  conversations?: string[];
  workspaces?: string[];
  expiresAt?: string;
  createdBy: string;
  createdAt: string;
  /** parent is the id of the token that created this one. It is empty for the dev token and for calls in the process of the hub. */
  parent?: string;
}

/** The stored data of a token. It has the SHA-256 of the secret, never the secret. */
export interface TokenRecord {
  tokenId: string;
  sha256: string;
  agents: string[];
  scopes: ('read' | 'write' | 'create' | 'claim' | 'approve' | 'trace' | 'admin' | (string & {}))[];
  conversations?: string[];
  workspaces?: string[];
  expiresAt?: string;
  createdBy: string;
  /** parent is the id of the token that created this one. This token ends with it. */
  parent?: string;
  /** account is the token whose limits count the use of this token, if that is another one. A token that was created with another token counts as that one, so that new tokens do not avoid a limit. A token of an admin is its own account. */
  account?: string;
  /** claimHash is set for a token that ends with a claim in the only conversation of conversations. */
  claimHash?: string;
}

/** The payload of a trace event: a step of the work of the author. The author, tokens with the scope trace, and admins can read it. kind is required. Other members are allowed. */
export interface Trace {
  /** At most 128 bytes. */
  kind: string;
  text?: string;
  data?: any;
}

/** Counts text frames and the bytes of their text. */
export interface Traffic {
  frames: number;
  bytes: number;
}

/** A row of ExplainTriggersResult: one agent. */
export interface TriggerExplained {
  agent: string;
  agentId: string;
  workspace?: boolean;
  /** woken is true if the log records that the event triggered the agent. wouldWake is true if it would trigger the agent now. wouldWake ignores Limits.MaxWakesPerMinute. */
  woken: boolean;
  wouldWake: boolean;
  /** because is one sentence. */
  because: string;
  sessionId?: string;
  state?: 'pending' | 'running' | 'finished' | 'ended' | 'stopped' | (string & {});
  /** selectors are all selectors of the agent, in order. */
  selectors: SelectorTried[];
  /** context is what the context selectors would fetch now, for an agent that was or would be triggered. It is present if the caller may see it. */
  context?: ContextSource[];
}

/** The data of trigger_matched and trigger_ended. seq is the matched event. */
export interface TriggerRecord {
  seq: number;
  /** wakes are in trigger_matched: one for each agent. */
  wakes?: Wake[];
  /** agentId and sessionId identify the match in trigger_ended. reason is why it ended. */
  agentId?: string;
  sessionId?: string;
  reason?: string;
}

/** Names the participant that should have the next turn. */
export interface TurnHint {
  next: string;
}

/** Names the participant that should have the next turn. */
export interface TurnHintInput {
  next: string;
}

/** End a subscription of this connection. */
export interface UnsubscribeParams {
  subscriptionId: string;
}

/** One fault of parameters or of a result. */
export interface ValidationError {
  /** path is the place in the value, such as $.url or $.list[0]. */
  path: string;
  /** message is one sentence. */
  message: string;
  /** schema_path is the keyword of the schema that the value violates, such as properties.url.format. */
  schema_path: string;
}

/** What waitForChange answers over plain HTTP to include=events: that of tail, and timedOut. */
export interface WaitForChangeEvents {
  events: Event[];
  nextSeq: number;
  latestSeq: number;
  timedOut: boolean;
}

/** Block until the log is longer than sinceSeq. */
export interface WaitForChangeParams {
  conversationId: string;
  sinceSeq: number;
  /** timeoutMs is how long the call waits. If it is absent or 0, the call does not wait. The hub reduces a value over 60000 to 60000. */
  timeoutMs?: number;
}

/** Reports whether the log grew. */
export interface WaitForChangeResult {
  latestSeq: number;
  timedOut: boolean;
}

/** An agent that an event triggers: by a turn of its conversation or, if sessionId is set, by a session. */
export interface Wake {
  /** agent is the name of the agent, and agentId is the triggered participant. A watcher of a workspace does not take part in the conversation: its agentId is the plain name of agent. */
  agent: string;
  agentId: string;
  /** selector is the index of the selector in the subscriptions of the agent. */
  selector: number;
  /** sessionId is the id of the session that the event starts. */
  sessionId?: string;
  /** workspace is true for a watcher of the workspace. */
  workspace?: boolean;
  /** answerSchema is the schema of the note with which the session answers. */
  answerSchema?: string;
  /** stopped is why the agent is not triggered: one of the stopped reasons. */
  stopped?: string;
}

/** Request the conversations that changed after a cursor, among those that listConversations returns to the same caller. */
export interface WatchConversationsParams {
  /** cursor is the cursor of an earlier result. If it is absent, the result has no conversations, only the current cursor. */
  cursor?: string;
  /** workspace watches the conversations of a workspace of the token instead. */
  workspace?: string;
  /** limit is 1 to 100; default 50. */
  limit?: number;
  /** timeoutMs is how long the call waits for a change. If it is absent or 0, the call does not wait. The hub reduces a value over 60000 to 60000. */
  timeoutMs?: number;
}

/** Has the changed conversations in their current state, in the order of their last changes, oldest first. A conversation that changes during the call can be reported twice. Only appended events are changes. An executor that connects or disconnects is not a change, although it can change Floor.Stuck. */
export interface WatchConversationsResult {
  conversations: ConversationSummary[];
  /** cursor is the cursor of the next call. */
  cursor: string;
  /** more is true if the hub did not examine all changes. Then the page may have few conversations, or none. */
  more?: boolean;
  /** reset is true if the hub does not know the changes after the cursor, for example after a restart. The caller must list the conversations again. */
  reset?: boolean;
  timedOut?: boolean;
}

/** The error member of a JSON-RPC response. */
export interface WireError {
  code: -32700 | -32600 | -32601 | -32602 | -32603 | 4000 | 4001 | 4010 | 4030 | 4040 | 4090 | 4091 | 4092 | 4093 | 4094 | 4095 | 4096 | 4097 | 4098 | 4100 | 4130 | 4290 | 5030 | 5031 | 5070 | number;
  message: string;
  data: ErrorData;
}

/** The limits of this hub that authenticate reports. */
export interface WireLimits {
  maxFrameBytes: number;
  maxEventBytes: number;
  maxDepth: number;
  maxInFlight: number;
  maxSubscriptions: number;
  maxWaitMs: number;
  maxPage: number;
}

/** A range of a turn that no longer counts: its messages and traces from fromSeq to toSeq, both included. They remain in the log. */
export interface Withdrawn {
  turn: number;
  fromSeq: number;
  toSeq: number;
}
