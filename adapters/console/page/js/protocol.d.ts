// What goes over the wire. Made from the schemas of the protocol: go test ./internal/schema/typescript -update

/** Adds a seat. Creator and admin only. */
export interface AddParticipantParams {
  conversationId: string;
  participant: ParticipantInput;
}

/** A row of listAgents. */
export interface AgentInfo {
  name: string;
  type: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  description: string;
  /** parameters_schema is a JSON Schema of what a session with the agent takes; absent: {prompt}. */
  parameters_schema?: any;
  /** output_schema is a JSON Schema of what it gives as result_data, where it says so. */
  output_schema?: any;
  /** agent_config is there where it was asked for, of an LLM agent: see ListAgentsParams. */
  agent_config?: any;
  /** subscriptions are there where it has some and includeConfig gives them. */
  subscriptions?: any;
  /** runner is who registered it; empty for the hub's own process. runner_id is the id of the runner of a blueprint's agent. */
  runner?: string;
  runner_id?: string;
  labels?: {[name: string]: string};
  online: boolean;
  /** stale is true when its runner has been away for 90000. After 180000 it is gone. */
  stale?: boolean;
}

/** A question of an agent that works on its turn: may I do this? It is answered once, or times out. */
export interface Approval {
  /** approvalId is the id of the conversation, a dot, and the seq of approval_requested. */
  approvalId: string;
  conversationId: string;
  /** agentId is the participant that asks, in the turn turn. */
  agentId: string;
  turn: number;
  /** key is the asker's own name for it: in one turn there is one approval of a key, however many attempts ask. */
  key: string;
  title: string;
  /** details are what is to be decided on, for whoever decides. They, answerSchema and answer are given to the asker, to who may answer, to tokens with the scope trace, and to admins. */
  details?: any;
  /** answerSchema is a JSON Schema of the answer that may come with an approval, as edited arguments; absent: none may. */
  answerSchema?: any;
  status: 'pending' | 'approved' | 'rejected' | 'timed_out' | 'canceled' | (string & {});
  requestedAt: string;
  expiresAt: string;
  /** resolvedAt, by, comment and answer are of one that was answered; by is empty when it timed out. */
  resolvedAt?: string;
  by?: string;
  comment?: string;
  answer?: any;
  /** mayAnswer is true when it is pending and the caller may answer it. */
  mayAnswer?: boolean;
  /** seq is where the log of its conversation stood when this was so: what comes later is after it. */
  seq: number;
  /** duplicate is true when the call has met what an earlier call with the same key has done. */
  duplicate?: boolean;
  /** timedOut is true when the time to wait was over before it was resolved. */
  timedOut?: boolean;
}

/** What the events of an approval say of it: each kind has some of the members. */
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
  /** hash tells a question from another one with the same key. tokenId is the token with which it was asked, account the one that its use is counted under; both are empty for an agent in the hub's process. */
  hash?: string;
  tokenId?: string;
  account?: string;
}

/** Refers to a file of the conversation: see putAttachment. */
export interface Attachment {
  sha256: string;
  /** At most 255 bytes. */
  name?: string;
  /** At most 127 bytes. */
  mediaType?: string;
}

/** Says who the caller is. */
export interface AuthenticateParams {
  /** At most 8192 bytes. */
  token: string;
  /** agentId chooses among the ids that the token may speak as; absent, the token's first. */
  agentId?: string;
  /** clientName is for the hub's log: at most 128 bytes. */
  clientName?: string;
  /** traceparent is that of every call of this connection that names none. */
  traceparent?: string;
}

/** Says who the caller is now. */
export interface AuthenticateResult {
  ok: boolean;
  agentId: string;
  protocolVersion: string;
  /** agents are the ids that the token may speak as, agentId among them; absent: any. scopes are its powers, and expiresAt is when it ends. */
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

/** What a runner tells the hub of an agent that it runs: a command, of which what it is stays with the runner, or an LLM agent, whose config the hub checks and keeps. */
export interface Blueprint {
  /** name is that of the agent: an id like a participant's. */
  name: string;
  description?: string;
  /** type is deterministic, agent, function or workflow; absent, the first. What a function or workflow does stays with the runner. */
  type?: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  /** agent_config is an agent_config, as it stands in the file, and is there with agent alone. params_via and idempotent are not. */
  agent_config?: any;
  /** parameters_schema is a JSON Schema of what a session takes, and output_schema one of its result_data; at most 64 KiB each. */
  parameters_schema: any;
  output_schema?: any;
  params_via?: 'flags' | 'stdin' | 'env' | (string & {});
  /** timeout_ms bounds one run: 100 to 82800000; absent, 300000. */
  timeout_ms?: number;
  /** idempotent allows that a run that was interrupted is begun again, at most twice. */
  idempotent?: boolean;
  /** subscriptions are what wakes the agent, and its context: an object as ParseSubscriptions takes it, in any of its spellings. They need a token that may speak as name. */
  subscriptions?: any;
  /** labels are added to the runner's; what a session demands must be among them. */
  labels?: {[name: string]: string};
}

/** What a runner tells the hub of an agent that it runs: a command, of which what it is stays with the runner, or an LLM agent, whose config the hub checks and keeps. */
export interface BlueprintInput {
  /** name is that of the agent: an id like a participant's. */
  name: string;
  /** At most 1024 bytes. */
  description?: string;
  /** type is deterministic, agent, function or workflow; absent, the first. What a function or workflow does stays with the runner. */
  type?: 'agent' | 'deterministic' | 'function' | 'workflow';
  /** agent_config is an agent_config, as it stands in the file, and is there with agent alone. params_via and idempotent are not. */
  agent_config?: {[name: string]: any};
  /** parameters_schema is a JSON Schema of what a session takes, and output_schema one of its result_data; at most 64 KiB each. */
  parameters_schema: {[name: string]: any};
  output_schema?: {[name: string]: any};
  params_via?: 'flags' | 'stdin' | 'env';
  /** timeout_ms bounds one run: 100 to 82800000; absent, 300000. */
  timeout_ms?: number;
  /** idempotent allows that a run that was interrupted is begun again, at most twice. */
  idempotent?: boolean;
  /** subscriptions are what wakes the agent, and its context: an object as ParseSubscriptions takes it, in any of its spellings. They need a token that may speak as name. */
  subscriptions?: {[name: string]: any} | any[];
  /** labels are added to the runner's; what a session demands must be among them. */
  labels?: {[name: string]: string};
}

/** One of payload.data.callbacks in the message with which the hub tells a parent of sessions that have ended. */
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

/** Ends a turn without a final message. For human participants, for the author of the last message that was said before the turn, and for admins. */
export interface CancelTurnParams {
  conversationId: string;
  /** turn is the open turn, or the next one, if that belongs to one participant. */
  turn: number;
  /** reason is a word or sentence that all participants read: at most 1 KiB. At most 1024 bytes. */
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

/** The event of the same conversation, or of the one named, for which something was said. */
export interface Cause {
  conversationId?: string;
  seq: number;
}

/** Tells the holder of a claim that it has ended by something else than its own final message or releaseClaim. */
export interface ClaimEndedNotification {
  conversationId: string;
  agentId: string;
  turn: number;
  claimId: string;
  /** reason is one of the ends of claims. */
  reason: 'expired' | 'declined' | 'silent' | 'failed' | 'disconnected' | 'restarted' | 'yielded' | 'final' | 'turn_ended' | 'closed' | (string & {});
}

/** Names a claim. */
export interface ClaimRef {
  conversationId: string;
  claimId: string;
}

/** The claim that stands. */
export interface ClaimState {
  agentId: string;
  executorId?: string;
  /** attempt is 1 unless earlier claims of this turn have failed. */
  attempt: number;
  /** deadlineMs is about when it ends unless it is renewed, in Unix ms. Information only. */
  deadlineMs: number;
}

/** Takes a turn: with the claimId of a request_turn, or with turn alone as the participant that has the floor. */
export type ClaimTurnParams = any;

/** The claim. Keep claimId: it is the proof, and nobody else is told it. */
export interface ClaimTurnResult {
  claimId: string;
  agentId: string;
  turn: number;
  attempt: number;
  /** sinceSeq is the seq of the last message with which agentId has ended a turn; 0 when there was none. */
  sinceSeq: number;
  /** deadlineMs is about when it ends unless it is renewed, in Unix ms of hub time; durationMs is how long that is from now, and maxClaimMs how long renewals can make it. */
  deadlineMs: number;
  durationMs: number;
  maxClaimMs: number;
  /** duplicate is true when the claim was this caller's already. */
  duplicate?: boolean;
  /** traceparent names the span of the turn, or of what the turn answers, for the spans of who takes it; empty where there is none. */
  traceparent?: string;
}

/** Tells the holder of a claim that its turn waits for a session that its agent has started in mode sync, and so holds no capacity of its executor; or that it does no longer. */
export interface ClaimWaitingNotification {
  conversationId: string;
  agentId: string;
  turn: number;
  claimId: string;
  waiting: boolean;
}

/** Closes a conversation. Creator, human participants and admin only. */
export interface CloseConversationParams {
  conversationId: string;
  outcome?: OutcomeInput;
}

/** Says that the hub is about to close the socket, or to end the stream. */
export interface ClosingNotification {
  reason: string;
  /** retryAfterMs is when to come back. */
  retryAfterMs?: number;
  /** stays says that nothing is closed: the hub has lost the log that it shares with others, and whoever knows another hub of it is better there. Never of a stream. */
  stays?: boolean;
}

/** Says that the hub is about to close the socket, or to end the stream. */
export interface ClosingNotificationOfStream {
  reason: string;
  /** retryAfterMs is when to come back. */
  retryAfterMs?: number;
  /** stays says that nothing is closed: the hub has lost the log that it shares with others, and whoever knows another hub of it is better there. Never of a stream. */
  stays?: boolean;
}

/** Says what a context selector has brought: where from, not what. */
export interface ContextSource {
  key: string;
  selector: number;
  fetch: 'event_data' | 'latest' | 'recent' | 'vector' | (string & {});
  /** events are those that were brought, in the order in which they stand there. Their conversation is named where it is another than the trigger's. */
  events: Cause[];
  /** dropped are how many were left out so that the context keeps to its bound. */
  dropped?: number;
  /** embedder names what has found the similar ones, such as lexical or a model. */
  embedder?: string;
  /** error says why nothing could be fetched; the others are there. */
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
  /** floor is that of an active conversation. */
  floor?: Floor;
  /** session is set when the conversation is one, and fork when it is a fork. */
  session?: SessionSummary;
  fork?: ForkRecord;
}

/** Creates a conversation. */
export interface CreateConversationParams {
  /** conversationId is chosen by the hub when absent: from the caller and clientRequestId when there is one. */
  conversationId?: string;
  /** At most 256 bytes. */
  title?: string;
  participants: ParticipantInput[];
  /** policy is round_robin when absent. */
  policy?: PolicyInput;
  /** startsWith names who has the floor first; absent, the first participant, or the moderator (moderator), or anyone (open). */
  startsWith?: string;
  limits?: LimitsInput;
  metadata?: {[name: string]: any};
  /** workspace is one that the caller's token grants: who else has a token of it may read the conversation, and its watchers are woken. */
  workspace?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing. */
  traceparent?: string;
}

/** Makes a ticket: a stand-in for the caller's token that is used once, within 30 s, by a browser that cannot set headers. */
export interface CreateTicketParams {
  /** conversationId narrows what the ticket opens to this conversation; the caller must see it. */
  conversationId?: string;
  /** origin is the origin of the page that will use the ticket; absent, any that the hub allows. */
  origin?: string;
}

/** Shows the ticket, once. */
export interface CreateTicketResult {
  ticket: string;
  expiresInMs: number;
}

/** Makes a token that may do no more than the caller's. The secret is shown once. */
export interface CreateTokenParams {
  /** agentId is the id that the token speaks as unless another is chosen. */
  agentId: string;
  /** agents are further ids that it may speak as. */
  agents?: string[];
  /** scopes are, when absent, read, write, create and claim as far as the caller has them. Empty is refused. */
  scopes?: ('read' | 'write' | 'create' | 'claim' | 'approve' | 'trace' | 'admin')[];
  /** conversations narrow the token to these; absent, the caller's own. Empty is refused. */
  conversations?: string[];
  /** workspaces are those that it grants: of the caller's own, and of any for an admin; absent, none. Empty is refused. */
  workspaces?: string[];
  /** expiresInMs is 1,000 to 31622400000; absent, as long as the caller's own. */
  expiresInMs?: number;
  /** claim makes it a token for one turn: it ends with the claim, which the caller must hold, reaches that conversation alone, speaks as the claim's participant, and speaks under the claim without naming it. agentId must be that participant; agents and conversations are left out. */
  claim?: ClaimRef;
}

/** Shows the token, once. */
export interface CreateTokenResult {
  token: string;
  tokenId: string;
}

/** A piece of the text of the open turn, for live subscribers only. It is not stored: the message that follows holds the whole text. index counts the pieces as the author numbers them, so that a reader sees when one was skipped. */
export interface Delta {
  conversationId: string;
  turn: number;
  from: string;
  index: number;
  text: string;
}

/** Carries a delta. */
export interface DeltaNotification {
  subscriptionId: string;
  conversationId: string;
  turn: number;
  from: string;
  index: number;
  text: string;
}

/** Carries a delta. */
export interface DeltaNotificationOfStream {
  conversationId: string;
  turn: number;
  from: string;
  index: number;
  text: string;
}

/** A histogram. buckets[i] counts those of at most boundsMs[i], so it never falls from one to the next; count has those beyond the last bound too. */
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
  /** error is the reason, and message that of the error. With parameter_validation_failed. */
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

/** One record of a conversation: the bytes that are stored. The hash chain is made over them. */
export interface Event {
  /** seq is the place in the conversation: 1, 2, 3, ... without gap. */
  seq: number;
  /** turn is the turn of a message or trace, from 1. System events have none: they are in lane 0. */
  turn?: number;
  type: 'message' | 'trace' | 'system' | (string & {});
  /** from is the participant who was authenticated, or hub. */
  from: string;
  /** at is hub time; it never goes back within a conversation. */
  at: string;
  /** finality is set on messages only. */
  finality?: 'none' | 'turn' | 'conversation' | (string & {});
  /** outcome may be set on a message with finality conversation; absent means completed. */
  outcome?: Outcome;
  /** turnHint names who shall be next, under a policy that takes hints. */
  turnHint?: TurnHint;
  payload: any;
  /** clientRequestId is the idempotency key that the author gave. */
  clientRequestId?: string;
  /** cause is the event for which it was said, where its author was woken by one, and hops how many wakes lie between it and one that nothing has woken. Both are the hub's own: it writes them, and takes them from nobody. */
  cause?: Cause;
  hops?: number;
  /** traceparent names the span in which it was said, by W3C Trace Context. */
  traceparent?: string;
}

/** Carries an event of a subscription. */
export interface EventNotification {
  subscriptionId: string;
  conversationId: string;
  event: Event;
}

/** An executor in the answer of listAgents. */
export interface ExecutorInfo {
  executorId: string;
  /** registeredBy is who has registered it; internal is true of one in the hub's own process. */
  registeredBy: string;
  internal?: boolean;
  mode: 'pull' | 'push' | (string & {});
  /** agents are those whose turns it takes. What it has registered as a runner is in the rows of the agents whose runner_id it has. */
  agents: string[];
  labels?: {[name: string]: string};
  /** claims are those that it works on, without those that wait for an approval or for a session; capacity is how many it may be offered to hold at once. */
  claims: number;
  capacity: number;
}

/** Asks for the guidance of every participant at a seq, with the rules tried. */
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

/** Ask which agents an event has woken or, as things are now, would wake, and why. */
export interface ExplainTriggersParams {
  conversationId: string;
  seq: number;
}

/** Has the agents that sit in the conversation, in order of their seats, and then those that watch its workspace by name; at most 256. */
export interface ExplainTriggersResult {
  seq: number;
  agents: TriggerExplained[];
  /** more is how many watchers of the workspace are left out. */
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

/** Says who is to speak in a conversation, since when, and what keeps it. */
export interface Floor {
  /** turn is the open turn, or the next. */
  turn: number;
  /** speaker is the one participant that may speak; empty: anyone, or nobody. */
  speaker?: string;
  kind?: 'human' | 'agent' | 'tool' | 'peer' | (string & {});
  /** open is true when something was said in the turn. */
  open?: boolean;
  /** since is when the floor was given or, in an open turn without claims, when something was last said. */
  since: string;
  /** claim is the one that stands. */
  claim?: ClaimState;
  /** attempts are the claims of the turn that have ended as failures. */
  attempts?: number;
  /** approvals are how many wait for an answer. */
  approvals?: number;
  /** stuck says what the turn waits for that does not come by itself; empty: nothing. */
  stuck?: 'no_executor' | 'approval' | 'attempts' | (string & {});
}

/** Make a new conversation that begins with the events of another up to seq, byte for byte. For who may close the other: its creator, its human participants and admins; where it belongs to a workspace, with a token that grants that. Sessions and conversations of the hub's own are not forked. */
export interface ForkConversationParams {
  /** conversationId is the conversation that is forked; it may be closed. */
  conversationId: string;
  /** seq is the last event that both share: 1 to latestSeq, and before the event that has closed it. At most 20000 and 16777216 are copied. */
  seq: number;
  /** forkId is the id of the new conversation: like conversationId of createConversation. The hub chooses one when it is absent: from the caller and clientRequestId when there is one. */
  forkId?: string;
  /** title is that of the fork; absent, that of the other. At most 256 bytes. */
  title?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing. */
  traceparent?: string;
}

/** Says of what a conversation is a fork. It is in the event conversation_forked, which follows the events that both share. */
export interface ForkRecord {
  conversationId: string;
  /** seq is the last event that both share, and hash the hash chain of the other there, in lower-case hex: it can be made again from the shared events and the other's id alone. */
  seq: number;
  hash: string;
}

/** Ask how an approval stands. Whoever may neither answer it nor has asked gets not_found. */
export interface GetApprovalParams {
  approvalId: string;
  /** timeoutMs waits until it is resolved; absent or 0 answers at once; more than 60000 is taken as 60000. */
  timeoutMs?: number;
}

/** Reads a part of a file that was added to a conversation. */
export interface GetAttachmentParams {
  conversationId: string;
  /** sha256 names the file, in lower-case hex. */
  sha256: string;
  offset?: number;
  /** length is 1 to 524288; absent, that. The file may end before. */
  length?: number;
}

/** Has a part of a file. size is that of the whole. */
export interface GetAttachmentResult {
  data: string;
  size: number;
}

/** Ask for what the agent of a conversation is to work with, fetched now. */
export interface GetContextParams {
  conversationId: string;
  /** agentId is the seat whose context it is: one that the token may speak as; absent, the caller. */
  agentId?: string;
  /** claimId is the claim of the turn for which it is; absent, what the seat would be given now. At most 128 bytes. */
  claimId?: string;
}

/** Has the context: one object, the same bytes for every kind of agent. With trigger, and triggers where there are several, stand the keys of the context selectors. */
export interface GetContextResult {
  /** context is absent for an agent without subscriptions. */
  context?: any;
  /** triggers are the seqs of the matches that the turn or session was given, in order; empty where nothing has woken it. */
  triggers: number[];
  sources: ContextSource[];
  bytes: number;
  /** latestSeq is where the log stood. */
  latestSeq: number;
}

/** Asks for a snapshot with the events after sinceSeq. */
export interface GetConversationParams {
  conversationId: string;
  sinceSeq?: number;
  limit?: number;
}

/** Asks for the caller's guidance. */
export interface GetGuidanceParams {
  conversationId: string;
  /** explain adds all rules tried. */
  explain?: boolean;
}

/** guidance at latestSeq. */
export interface GetGuidanceResult {
  guidance: Guidance;
  latestSeq: number;
}

/** Ask how a session stands. */
export interface GetSessionParams {
  sessionId: string;
  /** timeoutMs waits until the session has ended or waits for input; absent or 0 answers at once; more than 60000 is taken as 60000. */
  timeoutMs?: number;
  /** progressSince ends the wait as soon as there is progress after this seq too. */
  progressSince?: number;
}

/** Asks for the messages after sinceSeq and the caller's guidance. */
export interface GetUpdatesParams {
  conversationId: string;
  sinceSeq?: number;
  limit?: number;
  timeoutMs?: number;
  until?: 'any' | 'message' | 'my_turn' | 'closed';
}

/** Has the messages after sinceSeq. nextSeq is the last seq examined. */
export interface GetUpdatesResult {
  messages: Event[];
  /** withdrawn are the ranges of messages that a failed attempt has left, and whose end lies after sinceSeq: a reader who has some of them forgets them. messages has none of them. */
  withdrawn?: Withdrawn[];
  guidance: Guidance;
  nextSeq: number;
  latestSeq: number;
  status: 'active' | 'closed' | (string & {});
  timedOut: boolean;
}

/** Tells one participant where it stands. It is a function of the log and the participant: the same whether pushed, asked for, or computed after a restart; but for reason, which also tells that nobody runs the agent whose turn it is. */
export interface Guidance {
  kind: 'may_speak' | 'wait' | 'closed' | (string & {});
  /** action is set with may_speak. */
  action?: 'start_turn' | 'continue_turn' | (string & {});
  /** turn is the open turn, else the next one; after close, the last one. */
  turn: number;
  /** speaker has the floor; empty when anyone may take it, or nobody. */
  speaker?: string;
  /** claim is the one that stands for speaker. */
  claim?: ClaimState;
  /** deadlineMs is the Unix time in ms at which a limit closes the conversation if nothing is said before. Information only. Absent when no such limit runs. */
  deadlineMs?: number;
  /** reason is one sentence: which rule decided. A second one says when nobody runs the agent that has the floor. */
  reason: string;
  /** rules are all rules tried, in order, up to the one that decided; only with explain. */
  rules?: RuleTried[];
}

/** Carries the caller's guidance at seq, after caught_up and whenever it changes. */
export interface GuidanceNotification {
  subscriptionId: string;
  conversationId: string;
  seq: number;
  guidance: Guidance;
}

/** Carries the caller's guidance at seq, after caught_up and whenever it changes. */
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

/** Close a conversation without anybody's doing; one that is absent does not, but for the two that have a default. */
export interface Limits {
  /** maxTurns counts turns of participants that have ended, whether or not with a message. 1 to 1,000,000. */
  maxTurns?: number;
  /** maxEvents counts messages, traces, notes, attachments, and ends of turns without a message. 1 to 1,000,000; default 100,000. */
  maxEvents?: number;
  /** maxBytes counts the encoded bytes of the same, and those of the files. 1,024 to 1 GiB; default 256 MiB. */
  maxBytes?: number;
  /** idleTimeoutMs runs from the last message, trace, note or attachment, or from creation. 100 ms to 366 days. */
  idleTimeoutMs?: number;
  /** deadlineMs runs from creation. 100 ms to 366 days. */
  deadlineMs?: number;
  /** turnTimeoutMs is how long a claim lasts without renewal, and how long the turn of an agent may be without one. 100 ms to 24 h; default 60 s. When it is given it holds for people and peers too. */
  turnTimeoutMs?: number;
  /** onTurnTimeout says what comes of a turn that was not taken in time, or failed maxAttempts times. Absent, reoffer. */
  onTurnTimeout?: 'reoffer' | 'skip' | 'close' | (string & {});
  /** maxAttempts bounds the claims of one turn that end as failures. 1 to 100; default 3. */
  maxAttempts?: number;
  /** maxClaimMs bounds one claim over all renewals. At least turnTimeoutMs, at most 24 h; default ten times turnTimeoutMs. */
  maxClaimMs?: number;
  /** claimWindowMs is how long one executor is asked alone. 50 ms to 60 s; default 2 s. */
  claimWindowMs?: number;
  /** maxAutonomousTurns bounds the turns of others since a human last ended one with a message: then a human has the floor, and where there is none the conversation is closed. 1 to 1,000,000. */
  maxAutonomousTurns?: number;
  /** maxHops bounds how many wakes may follow one from another: 1 to 100; default 8. */
  maxHops?: number;
  /** maxWakesPerMinute bounds how often within a minute one agent's events wake one agent, itself too: 1 to 10000; default 30. Those of people and peers that nothing has woken do not count. */
  maxWakesPerMinute?: number;
  /** stopWhen is an expression in CEL, like that of a rule: when it holds after a turn has ended with a message, the conversation is closed as completed. */
  stopWhen?: string;
}

/** Close a conversation without anybody's doing; one that is absent does not, but for the two that have a default. */
export interface LimitsInput {
  /** maxTurns counts turns of participants that have ended, whether or not with a message. 1 to 1,000,000. */
  maxTurns?: number;
  /** maxEvents counts messages, traces, notes, attachments, and ends of turns without a message. 1 to 1,000,000; default 100,000. */
  maxEvents?: number;
  /** maxBytes counts the encoded bytes of the same, and those of the files. 1,024 to 1 GiB; default 256 MiB. */
  maxBytes?: number;
  /** idleTimeoutMs runs from the last message, trace, note or attachment, or from creation. 100 ms to 366 days. */
  idleTimeoutMs?: number;
  /** deadlineMs runs from creation. 100 ms to 366 days. */
  deadlineMs?: number;
  /** turnTimeoutMs is how long a claim lasts without renewal, and how long the turn of an agent may be without one. 100 ms to 24 h; default 60 s. When it is given it holds for people and peers too. */
  turnTimeoutMs?: number;
  /** onTurnTimeout says what comes of a turn that was not taken in time, or failed maxAttempts times. Absent, reoffer. */
  onTurnTimeout?: 'reoffer' | 'skip' | 'close';
  /** maxAttempts bounds the claims of one turn that end as failures. 1 to 100; default 3. */
  maxAttempts?: number;
  /** maxClaimMs bounds one claim over all renewals. At least turnTimeoutMs, at most 24 h; default ten times turnTimeoutMs. */
  maxClaimMs?: number;
  /** claimWindowMs is how long one executor is asked alone. 50 ms to 60 s; default 2 s. */
  claimWindowMs?: number;
  /** maxAutonomousTurns bounds the turns of others since a human last ended one with a message: then a human has the floor, and where there is none the conversation is closed. 1 to 1,000,000. */
  maxAutonomousTurns?: number;
  /** maxHops bounds how many wakes may follow one from another: 1 to 100; default 8. */
  maxHops?: number;
  /** maxWakesPerMinute bounds how often within a minute one agent's events wake one agent, itself too: 1 to 10000; default 30. Those of people and peers that nothing has woken do not count. */
  maxWakesPerMinute?: number;
  /** stopWhen is an expression in CEL, like that of a rule: when it holds after a turn has ended with a message, the conversation is closed as completed. At most 2048 bytes. */
  stopWhen?: string;
}

/** Asks for the agents that can be asked to do something. */
export interface ListAgentsParams {
  /** includeConfig adds agent_config to the LLM agents that the caller has registered; an admin gets it of all. */
  includeConfig?: boolean;
  /** includeExecutors adds the executors that the caller has registered; an admin gets all. */
  includeExecutors?: boolean;
}

/** Has the agents in order of their names. */
export interface ListAgentsResult {
  agents: AgentInfo[];
  /** executors are there where they were asked for, in order of who has registered them and of their ids, as many as one answer holds; executorsMore is how many more there are. */
  executors?: ExecutorInfo[];
  executorsMore?: number;
}

/** Ask for the approvals that the caller may answer or has asked for, the oldest first. Of those that are resolved each conversation keeps the last 100 at hand; the log has all. With a status other than pending and no conversationId they come conversation by conversation, of those that are open, and a page that is empty may have a NextCursor. */
export interface ListApprovalsParams {
  /** status is one of ApprovalStatuses; absent, pending. */
  status?: 'pending' | 'approved' | 'rejected' | 'timed_out' | 'canceled';
  /** conversationId narrows to one conversation. */
  conversationId?: string;
  limit?: number;
  cursor?: string;
}

/** A page; nextCursor is empty on the last. */
export interface ListApprovalsResult {
  approvals: Approval[];
  nextCursor?: string;
}

/** Pages through the conversations that the caller takes part in or created; admins see all. They come in order of creation. A page may have fewer than limit, even none, and a nextCursor: the hub looks at a bounded number of them at once. */
export interface ListConversationsParams {
  status?: 'active' | 'closed';
  /** workspace lists the conversations of one that the token grants, instead. */
  workspace?: string;
  /** participant lists those in which it takes part. */
  participant?: string;
  /** text lists those whose id or title has it, whatever the case: 1 to 256. At most 256 bytes. */
  text?: string;
  /** newest lists those that were created last first. */
  newest?: boolean;
  /** limit is 1 to 100; default 50. */
  limit?: number;
  /** cursor is nextCursor of the page before. */
  cursor?: string;
}

/** A page; nextCursor is empty on the last. */
export interface ListConversationsResult {
  conversations: ConversationSummary[];
  nextCursor?: string;
}

/** Pages through the live tokens that the caller may revoke, in order of creation. */
export interface ListTokensParams {
  /** limit is 1 to 1000; default 200. */
  limit?: number;
  /** cursor is nextCursor of the page before. */
  cursor?: string;
}

/** A page; nextCursor is empty on the last. */
export interface ListTokensResult {
  tokens: TokenInfo[];
  nextCursor?: string;
}

/** The payload of a message. At least one of text, data, attachments, parameters and result is there. Other members are kept. */
export type Message = any;

/** The payload of sendNote: a system event that any participant may add at any time while the conversation is open. It never moves the floor. */
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
  /** claim is the one that stands. */
  claim?: ClaimState;
}

/** Says how and why a conversation ended. */
export interface Outcome {
  status: 'completed' | 'failed' | 'canceled' | (string & {});
  /** reason is free text of the closer, at most 1 KiB, or one of the hub's reasons. */
  reason?: string;
}

/** Says how and why a conversation ended. */
export interface OutcomeInput {
  status: 'completed' | 'failed' | 'canceled';
  /** reason is free text of the closer, at most 1 KiB, or one of the hub's reasons. At most 1024 bytes. */
  reason?: string;
}

/** A seat in a conversation. */
export interface Participant {
  /** id is what tokens speak as: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit; not "hub". */
  id: string;
  kind: 'human' | 'agent' | 'tool' | 'peer' | (string & {});
  /** agent is the name of the agent that sits here, for kinds agent and tool: an id like id; absent, id itself. */
  agent?: string;
  /** executor says where the agent may run: any, internal (in the hub's process) or external (over a socket). Offers go nowhere else, and nobody else may claim. */
  executor?: 'any' | 'internal' | 'external' | (string & {});
  /** role is free text, at most 64 bytes, kept and returned. Rules see it. */
  role?: string;
  /** private is a text for this participant alone, at most 16 KiB. It is written as an event of its own that nobody else reads, and is never returned in a participant list. */
  private?: string;
}

/** A row of ExplainResult. */
export interface ParticipantGuidance {
  participantId: string;
  guidance: Guidance;
}

/** A seat in a conversation. */
export interface ParticipantInput {
  /** id is what tokens speak as: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit; not "hub". */
  id: string;
  kind: 'human' | 'agent' | 'tool' | 'peer';
  /** agent is the name of the agent that sits here, for kinds agent and tool: an id like id; absent, id itself. */
  agent?: string;
  /** executor says where the agent may run: any, internal (in the hub's process) or external (over a socket). Offers go nowhere else, and nobody else may claim. */
  executor?: 'any' | 'internal' | 'external';
  /** role is free text, at most 64 bytes, kept and returned. Rules see it. */
  role?: string;
  /** private is a text for this participant alone, at most 16 KiB. It is written as an event of its own that nobody else reads, and is never returned in a participant list. At most 16384 bytes. */
  private?: string;
}

/** Asks for hub time. */
export type PingParams = {[name: string]: any};

/** Hub time. */
export interface PingResult {
  nowMs: number;
}

/** Says who has the floor when no turn is open. A policy that finds nobody falls back to round_robin, after the one who had the last turn, and guidance says why. */
export interface Policy {
  kind: 'round_robin' | 'open' | 'addressed' | 'rules' | 'moderator' | 'triggers' | (string & {});
  /** rules are for kind rules: 1 to 32, 8 KiB of expressions in all, tried in order when a turn has ended with a message. */
  rules?: Rule[];
  /** moderator is for kind moderator: the id of a participant. */
  moderator?: string;
}

/** Says who has the floor when no turn is open. A policy that finds nobody falls back to round_robin, after the one who had the last turn, and guidance says why. */
export interface PolicyInput {
  kind: 'round_robin' | 'open' | 'addressed' | 'rules' | 'moderator' | 'triggers';
  /** rules are for kind rules: 1 to 32, 8 KiB of expressions in all, tried in order when a turn has ended with a message. */
  rules?: RuleInput[];
  /** moderator is for kind moderator: the id of a participant. */
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
  /** error is the reason, and message that of the error. With parameter_validation_failed. */
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

/** Adds a file to a conversation. The same bytes again are the same attachment. */
export interface PutAttachmentParams {
  conversationId: string;
  /** data is the file, at most 16777216; on the wire base64 (RFC 4648, section 4), so that over JSON-RPC a frame bounds it. */
  data: string;
  /** name is what the author calls the file: at most 255, no path. It is told to readers, and never used as a path. At most 255 bytes. */
  name?: string;
  /** mediaType is what the author says it is, such as application/pdf. The hub does not look. At most 127 bytes. */
  mediaType?: string;
}

/** Names the file, and the event that added it. duplicate is true when it was there already. */
export interface PutAttachmentResult {
  sha256: string;
  size: number;
  seq: number;
  duplicate?: boolean;
}

/** Say which agents the executor of this connection runs. They replace what it has said before; none: the runner leaves, and the sessions of its commands fail. */
export interface RegisterBlueprintsParams {
  blueprints: BlueprintInput[];
}

/** Has the agents in the order of the blueprints. */
export interface RegisterBlueprintsResult {
  agents: RegisteredBlueprint[];
}

/** Says that this connection runs agents. It holds until the connection ends. Once more on the same connection with the same executorId replaces what was said; another executorId is ErrAlreadyExists. */
export interface RegisterExecutorParams {
  /** executorId tells replicas of an agent apart: an id like a participant's, kept by a process over its reconnects. A second connection of the same caller with the same one replaces the first, which gets closing. */
  executorId: string;
  /** agents are the names of the agents that it runs: at most 64 different ones, each an id that the token may speak as. A runner of blueprints needs none. */
  agents: string[];
  /** mode is pull when absent. */
  mode?: 'pull' | 'push';
  /** capacity is how many claims it may be offered to hold at once: 1 to 10,000; absent, 16. */
  capacity?: number;
  /** graceMs is how long its claims stand after it was lost without a word: 100 to 600,000; absent, 5,000. */
  graceMs?: number;
  /** holding are the claims that it goes on with. Any other claim of this executorId ends: the process that held it is gone. */
  holding?: string[];
  /** labels are what sessions may demand of it: at most 32. */
  labels?: {[name: string]: string};
}

/** Tells which claims of holding stand, and how many others were ended. */
export interface RegisterExecutorResult {
  ok: boolean;
  holding: string[];
  ended: number;
}

/** Tells by which name a blueprint's agent is found: its own, or name@runnerId where another runner has it. */
export interface RegisteredBlueprint {
  name: string;
  agentName: string;
}

/** Gives a claim back. */
export interface ReleaseClaimParams {
  conversationId: string;
  /** At most 128 bytes. */
  claimId: string;
  outcome: 'yield' | 'decline' | 'silent' | 'failed';
  /** reason is a word or sentence that all participants read: at most 1 KiB. At most 1024 bytes. */
  reason?: string;
}

/** Keeps a claim for longer. */
export interface RenewClaimParams {
  conversationId: string;
  /** At most 128 bytes. */
  claimId: string;
}

/** Tells when the claim ends now, in Unix ms of hub time, and how long that is. It is never later than MaxClaimMs after it was taken. */
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

/** Ask for an approval under a claim that is current (claim_lost, claim_required). The same key in the same turn, also of a later attempt, meets the first one, answered or not; with another title, details or schema it is refused: idempotency_conflict. */
export interface RequestApprovalParams {
  conversationId: string;
  /** claimId may be left out as in sendMessage. At most 128 bytes. */
  claimId?: string;
  /** key has at most 128. At most 128 bytes. */
  key: string;
  /** title is one line that all participants read: at most 256. At most 256 bytes. */
  title: string;
  /** details are an object of at most 65536. */
  details?: {[name: string]: any};
  /** answerSchema is at most 65536. */
  answerSchema?: {[name: string]: any};
  /** expiresInMs is 100 to 604800000; absent, 600000. It runs by hub time, also while the hub is down. */
  expiresInMs?: number;
}

/** Offers a turn to an executor in push mode. Whoever claims it first has it. */
export interface RequestTurn {
  conversationId: string;
  /** agentId is the participant who has the floor, and agent the name of the agent that sits there. */
  agentId: string;
  agent: string;
  turn: number;
  /** claimId is for claimTurn. It was made for this turn and this executor, and is of use until the turn was claimed. */
  claimId: string;
  /** attempt is 1 unless others have failed. */
  attempt: number;
  /** sinceSeq is the seq of the last message with which agentId has ended a turn; 0 when there was none. */
  sinceSeq: number;
  /** deadlineMs is about when a claim that is taken now would end unless it is renewed, in Unix ms of hub time. */
  deadlineMs: number;
  /** claimWindowMs is how long the hub waits before it asks another executor too. The offer stands on after that. */
  claimWindowMs: number;
  /** traceparent names the span of the turn, or of what the turn answers, for the spans of who takes it; empty where there is none. */
  traceparent?: string;
}

/** answer an approval that is pending (already_resolved). They may be sent by people and peers of its conversation, or of one above it in the tree of sessions, whose token has the scope approve, and by admins; never by who asks, by an agent, or with the token that has asked; and, unless the scope is admin, not with one that counts under the same account, or that may speak as who asks. */
export interface ResolveApprovalParams {
  approvalId: string;
  decision: 'approved' | 'rejected';
  /** answer goes with approved alone and matches the answerSchema. */
  answer?: any;
  /** comment is at most 1024, and all participants read it. At most 1024 bytes. */
  comment?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
}

/** Ends a token, and those made with it, and those made with them. */
export interface RevokeTokenParams {
  tokenId: string;
}

/** Names the tokens that ended. */
export interface RevokeTokenResult {
  revoked: string[];
}

/** Gives the floor to next when when holds. */
export interface Rule {
  /** when is an expression in CEL that gives a bool: at most 2 KiB. See protocol.md, section 8, for its variables and its cost. */
  when: string;
  /** next is the id of a participant. */
  next: string;
}

/** Gives the floor to next when when holds. */
export interface RuleInput {
  /** when is an expression in CEL that gives a bool: at most 2 KiB. See protocol.md, section 8, for its variables and its cost. At most 2048 bytes. */
  when: string;
  /** next is the id of a participant. */
  next: string;
}

/** One step of how guidance was found. */
export interface RuleTried {
  rule: string;
  /** decided is true on the last: the rule that applied. */
  decided: boolean;
  because: string;
}

/** The payload of runner_registered in the hub's own log of runners. */
export interface RunnerRecord {
  runnerId: string;
  participantId: string;
  blueprints: Blueprint[];
  labels?: {[name: string]: string};
  /** workspaces are those that its token grants; "*" alone stands for any, with an admin's. */
  workspaces?: string[];
  /** internal is true for a runner in the hub's process. */
  internal?: boolean;
}

/** Names a runner: the executor and who has registered it. */
export interface RunnerRef {
  runnerId: string;
  participantId: string;
}

/** How one selector saw an event. */
export interface SelectorTried {
  selector: number;
  role: 'trigger' | 'context' | (string & {});
  matched: boolean;
  because: string;
}

/** Passes a piece of text to live subscribers. It is fenced like a message. */
export interface SendDeltaParams {
  conversationId: string;
  turn: number;
  /** At most 128 bytes. */
  claimId?: string;
  index: number;
  /** At most 16384 bytes. */
  text: string;
}

/** Appends a message. */
export interface SendMessageParams {
  conversationId: string;
  payload: Message;
  finality: 'none' | 'turn' | 'conversation';
  /** turn is the turn that the author means: refused when that one has ended or is not reached. */
  turn?: number;
  /** afterSeq is the last seq that the author has read: refused when another participant has spoken since. */
  afterSeq?: number;
  /** turnHint names who shall be next. It goes with finality turn, under the policies addressed and moderator. */
  turnHint?: TurnHintInput;
  /** outcome goes with finality conversation only; absent means completed. */
  outcome?: OutcomeInput;
  /** claimId is the claim under which it is said: refused when that is not the current one. A connection that took the claim may leave it out. At most 128 bytes. */
  claimId?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing. */
  traceparent?: string;
}

/** Appends a note. */
export interface SendNoteParams {
  conversationId: string;
  payload: Note;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing. */
  traceparent?: string;
}

/** Answers sendMessage and sendTrace. duplicate is true when the key was known: then it is the first result. */
export interface SendResult {
  seq: number;
  turn: number;
  /** claimId is set when the message or trace has taken the claim of its turn: an agent's that leaves the turn open. What follows in this turn names it. */
  claimId?: string;
  duplicate?: boolean;
}

/** Appends a trace. */
export interface SendTraceParams {
  conversationId: string;
  payload: Trace;
  turn?: number;
  /** At most 128 bytes. */
  claimId?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing. */
  traceparent?: string;
}

/** Answers addParticipant, closeConversation and cancelTurn with the seq of the event that did it. */
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
  /** startedAt is when its agent last took it. */
  startedAt?: string;
  endedAt?: string;
  /** progress is there while it runs. */
  progress?: SessionProgress;
  /** result is there once it has ended, and what was said last while input is required. */
  result?: SessionResult;
  /** reason is the outcome's: one of the hub's reasons, or a text of the agent. */
  reason?: string;
  /** callback is there in mode async_callback. */
  callback?: 'pending' | 'delivered' | 'undeliverable' | (string & {});
  /** latestSeq is where its log stands. */
  latestSeq: number;
  /** timedOut is true when the time to wait was over before it had ended. */
  timedOut?: boolean;
  /** duplicate is true when startSession has met the session of an earlier call with the same key. */
  duplicate?: boolean;
}

/** The last that a running agent has told of its progress. */
export interface SessionProgress {
  seq: number;
  text: string;
}

/** What conversation_created says of a session. */
export interface SessionRecord {
  /** agent is the name by which it was started, and agentId the participant that is to give the result. */
  agent: string;
  agentId: string;
  type: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  /** caller is the participant that has started it. */
  caller: string;
  mode: 'sync' | 'async_poll' | 'async_callback' | (string & {});
  /** parent is the conversation out of which it was started; empty when there is none. root is where the tree of sessions begins: the session itself where it has no parent. depth is 1 there and 1 more for each session above. */
  parent?: string;
  root: string;
  depth: number;
  /** runner is the only one that may run it; absent where any executor of the agent may, and while one is waited for. */
  runner?: RunnerRef;
  /** hosted is true for an LLM agent of a runner. */
  hosted?: boolean;
  /** demands are labels that its executor must have. */
  demands?: {[name: string]: string};
  /** timeoutMs bounds the run of a command; 0 for other agents. */
  timeoutMs?: number;
  /** trigger is set where an event of the parent has started it. */
  trigger?: SessionTrigger;
  /** cause and hops are those of what is said in it, unless it is woken itself. */
  cause?: Cause;
  hops?: number;
}

/** What a session has brought. */
export interface SessionResult {
  result_type: 'agent' | 'deterministic' | 'function' | 'workflow' | (string & {});
  /** result_text is what the agent said, or all that the command wrote to stdout; null when there is none, or when it was left out. */
  result_text?: (string & {}) | null;
  /** result_data is set when that is JSON. */
  result_data?: any;
  /** exit_code is that of a command that has ended by itself. */
  exit_code?: number;
  /** error says why the session has failed or was stopped. */
  error?: string;
  /** validation_errors are set when the result does not match the agent's output_schema. */
  validation_errors?: ValidationError[];
  /** attachment is set when the whole text was too large to stand here: then result_text is its beginning. */
  attachment?: Attachment;
  /** omitted is set in a callback whose result was too large for it: getSession gives it. */
  omitted?: boolean;
}

/** What listConversations says of a session. */
export interface SessionSummary {
  agent: string;
  caller: string;
  parent?: string;
  status: 'pending' | 'running' | 'input_required' | 'completed' | 'failed' | 'stopped' | (string & {});
}

/** What conversation_created says of a session that an event has started. */
export interface SessionTrigger {
  /** seq is the event in the parent, and selector the index of the selector that matched it. */
  seq: number;
  selector: number;
  /** workspace is true where the agent does not take part in the parent. */
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
  /** session is set when the conversation is one. */
  session?: SessionRecord;
  /** fork is set when it is a fork. */
  fork?: ForkRecord;
  latestSeq: number;
  /** turn is the open turn, else the next one; after close, the last one. */
  turn: number;
  openTurn?: OpenTurn;
  guidance: Guidance;
  /** headHash is the hash chain at latestSeq, in lower-case hex. */
  headHash: string;
  outcome?: Outcome;
  /** events are the visible events after sinceSeq; nextSeq is the last seq examined, the cursor to go on from. */
  events: Event[];
  nextSeq: number;
  /** duplicate is true when createConversation has met the conversation of an earlier call with the same key. */
  duplicate?: boolean;
}

/** Start an agent for a result. */
export interface StartSessionParams {
  /** agentName is the name of an agent as listAgents gives it, or name@runnerId. */
  agentName: string;
  /** parameters are an object that matches the agent's parameters_schema; absent, an empty one. Defaults of the schema are filled in. */
  parameters?: {[name: string]: any};
  /** prompt stands for parameters {"prompt": prompt}. It and parameters together are refused. */
  prompt?: string;
  mode?: 'sync' | 'async_poll' | 'async_callback';
  /** parentConversationId is the conversation, in which the caller takes part, out of which the session is started: it is told of the start and of the end, and stops the session when it closes. mode async_callback needs it. */
  parentConversationId?: string;
  /** demands are labels that whoever runs the agent must have: at most 32. */
  demands?: {[name: string]: string};
  /** metadata is that of the session's conversation: an object of at most 16 KiB. Its traceparent (W3C Trace Context) is passed on to a command. */
  metadata?: {[name: string]: any};
  /** timeoutMs bounds the wait of mode sync, and nothing else; absent, 60000, and more is taken as that. */
  timeoutMs?: number;
  /** resume is a session that waits for input: parameters are its next message. Deterministic agents do not support resumption. demands, metadata and mode are those of the session. */
  resume?: string;
  /** At most 128 bytes. */
  clientRequestId?: string;
  /** traceparent names the span of which it is a part (W3C Trace Context, version 00): it stands in the event, and what comes of the event is a part of it too. Another one in a retry changes nothing. */
  traceparent?: string;
}

/** What the hub has counted since it was started, and how it stands. The same numbers are at /metrics. */
export interface Stats {
  version: string;
  state: 'ready' | 'storage_full' | 'draining' | 'failed' | (string & {});
  uptimeMs: number;
  /** eventsAppended counts committed events by type, those of the hub's own conversations among them. */
  eventsAppended: {[name: string]: number};
  /** duplicates counts writes that were answered with an earlier result. */
  duplicates: number;
  /** append is how long appends took, from the decision to the commit. */
  append: Durations;
  /** refusals counts refused calls and requests by the reason of the error. A reason that is absent was never given. */
  refusals: {[name: string]: number};
  /** loginsRefused counts the tokens and tickets that were shown and not taken. */
  loginsRefused: number;
  /** connectionsRefused counts connections that were closed because too many had not shown a token. */
  connectionsRefused: number;
  /** turns is how long turns of agents took, from the claim that brought the final message to that message; claimWaits how long agents' turns were without a claim before they got one. */
  turns: Durations;
  claimWaits: Durations;
  /** offers counts the turns that executors were asked to take; claimsTaken the claims, and claimsEnded how they ended. */
  offers: number;
  claimsTaken: number;
  claimsEnded: {[name: string]: number};
  /** executors are those that are registered now, claims those that stand, and conversationsOpen the conversations that are not closed. */
  executors: number;
  claims: number;
  conversationsOpen: number;
  /** conversationsLoaded counts those in memory. */
  conversationsLoaded: number;
  /** subscribers counts subscriptions, SSE streams among them; maxLag and sumLag are the events that they have still to look at. */
  subscribers: number;
  maxLag: number;
  sumLag: number;
  /** journalBytes is the size of the log and its files on disk. */
  journalBytes: number;
  /** sockets are the WebSockets that are open; pendingSockets those of them that have not shown a token. */
  sockets: number;
  pendingSockets: number;
  /** streams are the SSE streams that are open. */
  streams: number;
  /** requests are the HTTP requests under way that make a call, that of stats among them; SSE streams are not. */
  requests: number;
  /** received and sent are what went over WebSockets. */
  received: Traffic;
  sent: Traffic;
}

/** Asks for what the hub has counted since it was started. */
export type StatsParams = {[name: string]: any};

/** End a session. For who has started it, people in its parent conversation, and admins. */
export interface StopSessionParams {
  sessionId: string;
  /** reason is a word or sentence for whoever reads the session: at most 1 KiB. At most 1024 bytes. */
  reason?: string;
}

/** Asks for the events after sinceSeq and then for what comes. */
export interface SubscribeParams {
  conversationId: string;
  sinceSeq?: number;
  /** types filters events, replay and live alike; absent means all. Empty is refused. */
  types?: ('message' | 'trace' | 'system')[];
}

/** Comes before the first notification of the subscription. */
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

/** Asks for the events after sinceSeq. */
export interface TailParams {
  conversationId: string;
  sinceSeq: number;
  limit?: number;
}

/** A page of visible events. nextSeq is the last seq examined: the cursor to go on from. */
export interface TailResult {
  events: Event[];
  nextSeq: number;
  latestSeq: number;
}

/** What may be told of a token: all but its hash. */
export interface TokenInfo {
  tokenId: string;
  agents: string[];
  scopes: ('read' | 'write' | 'create' | 'claim' | 'approve' | 'trace' | 'admin' | (string & {}))[];
  conversations?: string[];
  workspaces?: string[];
  expiresAt?: string;
  createdBy: string;
  createdAt: string;
  /** parent is the id of the token that it was made with; empty for the dev token and calls inside the hub's process. */
  parent?: string;
}

/** What the hub keeps of a token: never the secret, only its SHA-256. */
export interface TokenRecord {
  tokenId: string;
  sha256: string;
  agents: string[];
  scopes: ('read' | 'write' | 'create' | 'claim' | 'approve' | 'trace' | 'admin' | (string & {}))[];
  conversations?: string[];
  workspaces?: string[];
  expiresAt?: string;
  createdBy: string;
  /** parent is the id of the token that this one was made with: it ends with it. */
  parent?: string;
  /** account is the token that its use is counted under where that is not itself: what was made with a token counts as that one, or making tokens would be a way round every limit. What an admin has made stands for itself. */
  account?: string;
  /** claimHash is set for one that ends with a claim of the one conversation in conversations. */
  claimHash?: string;
}

/** The payload of a trace event: diagnostics of the author, seen by the author itself, by tokens with scope trace, and by admins. kind is required; anything else may stand beside it. */
export interface Trace {
  /** At most 128 bytes. */
  kind: string;
  text?: string;
  data?: any;
}

/** Counts text frames, and the bytes of their text. */
export interface Traffic {
  frames: number;
  bytes: number;
}

/** A row of ExplainTriggersResult: one agent. */
export interface TriggerExplained {
  agent: string;
  agentId: string;
  workspace?: boolean;
  /** woken is true when the log says that the event has woken it, and wouldWake when it would by what holds now: without the minute of Limits.MaxWakesPerMinute, which is not counted. */
  woken: boolean;
  wouldWake: boolean;
  /** because is one sentence. */
  because: string;
  sessionId?: string;
  state?: 'pending' | 'running' | 'finished' | 'ended' | 'stopped' | (string & {});
  /** selectors are all of the agent's, in order. */
  selectors: SelectorTried[];
  /** context is what its context selectors would bring now, where the caller may see it: for an agent that was or would be woken. */
  context?: ContextSource[];
}

/** What trigger_matched and trigger_ended say. seq is the event that was matched. */
export interface TriggerRecord {
  seq: number;
  /** wakes are in trigger_matched: one for each agent. */
  wakes?: Wake[];
  /** agentId and sessionId name the match of trigger_ended, and reason why it has ended. */
  agentId?: string;
  sessionId?: string;
  reason?: string;
}

/** Names who shall be next. */
export interface TurnHint {
  next: string;
}

/** Names who shall be next. */
export interface TurnHintInput {
  next: string;
}

/** Ends a subscription of this socket. */
export interface UnsubscribeParams {
  subscriptionId: string;
}

/** One thing that is wrong with parameters or a result. */
export interface ValidationError {
  /** path is where in the value: $.url, $.list[0]. */
  path: string;
  /** message is one sentence. */
  message: string;
  /** schema_path is what of the schema refuses it: properties.url.format. */
  schema_path: string;
}

/** What waitForChange answers over plain HTTP to include=events: that of tail, and timedOut. */
export interface WaitForChangeEvents {
  events: Event[];
  nextSeq: number;
  latestSeq: number;
  timedOut: boolean;
}

/** Waits until the log is longer than sinceSeq. */
export interface WaitForChangeParams {
  conversationId: string;
  sinceSeq: number;
  /** timeoutMs absent or 0 answers at once; more than 60000 is taken as 60000. */
  timeoutMs?: number;
}

/** Tells whether the log grew. */
export interface WaitForChangeResult {
  latestSeq: number;
  timedOut: boolean;
}

/** An agent that an event wakes: by a turn of its conversation or, where sessionId is set, by a session. */
export interface Wake {
  /** agent is the name of the agent, and agentId the participant that wakes: for a watcher of a workspace, which does not take part, agent's plain name. */
  agent: string;
  agentId: string;
  /** selector is the index of the selector in the agent's subscriptions. */
  selector: number;
  /** sessionId is that of the session that it starts. */
  sessionId?: string;
  /** workspace is true for a watcher of the workspace. */
  workspace?: boolean;
  /** answerSchema is that of the note with which the session answers. */
  answerSchema?: string;
  /** stopped says why it does not wake: one of the stopped reasons. */
  stopped?: string;
}

/** Ask which conversations have changed since a cursor: those that listConversations would give to the same caller. */
export interface WatchConversationsParams {
  /** cursor is that of an earlier answer; absent: none are given, only a cursor of now. */
  cursor?: string;
  /** workspace watches the conversations of one that the token grants, instead. */
  workspace?: string;
  /** limit is 1 to 100; default 50. */
  limit?: number;
  /** timeoutMs is how long to wait for a change; absent or 0 answers at once, more than 60000 is taken as 60000. */
  timeoutMs?: number;
}

/** Has the conversations that have changed, the one that has changed longest ago first, each as it is now: one that changes meanwhile may be told again without news. What is written is a change, and nothing else: not that an executor comes or goes, which Floor.Stuck tells of. */
export interface WatchConversationsResult {
  conversations: ConversationSummary[];
  /** cursor is where to go on. */
  cursor: string;
  /** more is true when more have changed than were looked at: then there may be few conversations here, or none. */
  more?: boolean;
  /** reset is true when the hub does not know what has changed since the cursor, such as after a restart: the caller lists again. */
  reset?: boolean;
  timedOut?: boolean;
}

/** An error on the wire: the error member of a JSON-RPC response. */
export interface WireError {
  code: -32700 | -32600 | -32601 | -32602 | -32603 | 4000 | 4001 | 4010 | 4030 | 4040 | 4090 | 4091 | 4092 | 4093 | 4094 | 4095 | 4096 | 4097 | 4098 | 4100 | 4130 | 4290 | 5030 | 5031 | 5070 | number;
  message: string;
  data: ErrorData;
}

/** The bounds of this hub, told by authenticate. */
export interface WireLimits {
  maxFrameBytes: number;
  maxEventBytes: number;
  maxDepth: number;
  maxInFlight: number;
  maxSubscriptions: number;
  maxWaitMs: number;
  maxPage: number;
}

/** A range of a turn that counts no more: its messages and traces from fromSeq to toSeq, both included. The log keeps them. */
export interface Withdrawn {
  turn: number;
  fromSeq: number;
  toSeq: number;
}
