// Code generated from internal/spannames/generate by its test. DO NOT EDIT.

// Package spannames has the names of the spans, attributes and metrics that Parley exports to
// OpenTelemetry. Package parley has the functions that start spans, such as parley.StartSpan.
package spannames

// What the names of spans begin with.
const (
	// SpanCall is a call of a method at the door of a hub. The whole name is "parley.{method}".
	SpanCall = "parley."
	// SpanMCP is a request of the Model Context Protocol at the door of a hub. The whole name is "parley.mcp {method}".
	SpanMCP = "parley.mcp "
	// SpanA2A is a request of the Agent2Agent protocol at the door of a hub. The whole name is "parley.a2a {method}".
	SpanA2A = "parley.a2a "
	// SpanTurn is a turn that was claimed, from when the agent was given the floor to how it ended. The whole name is "turn {agent}".
	SpanTurn = "turn "
	// SpanInvokeAgent is an attempt of an agent at a turn. The whole name is "invoke_agent {agent}". From the GenAI semantic conventions 1.41 (Development).
	SpanInvokeAgent = "invoke_agent "
	// SpanChat is a call of a model. The whole name is "chat {model}". From the GenAI semantic conventions 1.41 (Development).
	SpanChat = "chat "
	// SpanEmbeddings is a call of a model that embeds. The whole name is "embeddings {model}". From the GenAI semantic conventions 1.41 (Development).
	SpanEmbeddings = "embeddings "
	// SpanExecuteTool is a call of a tool. The whole name is "execute_tool {tool}". From the GenAI semantic conventions 1.41 (Development).
	SpanExecuteTool = "execute_tool "
	// SpanApproval is the wait of a tool call for somebody to approve it.
	SpanApproval = "approval"
	// SpanStep is a step of a workflow. The whole name is "parley.step {name}".
	SpanStep = "parley.step "
	// SpanProcess is a program that an agent is, or has started. The whole name is "parley.process {program}".
	SpanProcess = "parley.process "
)

// The keys of attributes.
const (
	// AttrGenAIOperationName is what is done: one of the operations below. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIOperationName = "gen_ai.operation.name"
	// AttrGenAIProviderName is who serves the model. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIProviderName = "gen_ai.provider.name"
	// AttrGenAIAgentID is the id of the agent that has the turn. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIAgentID = "gen_ai.agent.id"
	// AttrGenAIAgentName is the name of the agent that has the turn. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIAgentName = "gen_ai.agent.name"
	// AttrGenAIConversationID is the conversation. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIConversationID = "gen_ai.conversation.id"
	// AttrGenAIRequestModel is the model that was asked for. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestModel = "gen_ai.request.model"
	// AttrGenAIRequestMaxTokens is how many tokens the answer may have. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestMaxTokens = "gen_ai.request.max_tokens"
	// AttrGenAIRequestTemperature is the temperature that was asked for. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestTemperature = "gen_ai.request.temperature"
	// AttrGenAIRequestTopP is the top_p that was asked for. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestTopP = "gen_ai.request.top_p"
	// AttrGenAIRequestSeed is the seed that was asked for. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestSeed = "gen_ai.request.seed"
	// AttrGenAIRequestStopSequences is the texts at which the model stops. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestStopSequences = "gen_ai.request.stop_sequences"
	// AttrGenAIRequestStream is whether the answer was streamed. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestStream = "gen_ai.request.stream"
	// AttrGenAIResponseModel is the model that answered. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseModel = "gen_ai.response.model"
	// AttrGenAIResponseID is the id that the provider gave the answer. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseID = "gen_ai.response.id"
	// AttrGenAIResponseFinishReasons is why the model stopped. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseFinishReasons = "gen_ai.response.finish_reasons"
	// AttrGenAIResponseTimeToFirstChunk is seconds until the first part of a streamed answer. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseTimeToFirstChunk = "gen_ai.response.time_to_first_chunk"
	// AttrGenAIUsageInputTokens is tokens that were read. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageInputTokens = "gen_ai.usage.input_tokens"
	// AttrGenAIUsageOutputTokens is tokens that were written. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageOutputTokens = "gen_ai.usage.output_tokens"
	// AttrGenAIUsageCacheReadInputTokens is tokens of the input that came from a cache. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageCacheReadInputTokens = "gen_ai.usage.cache_read.input_tokens"
	// AttrGenAIUsageCacheCreationInputTokens is tokens of the input that were written to a cache. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageCacheCreationInputTokens = "gen_ai.usage.cache_creation.input_tokens"
	// AttrGenAIUsageReasoningOutputTokens is tokens of the output that were reasoning. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageReasoningOutputTokens = "gen_ai.usage.reasoning.output_tokens"
	// AttrGenAITokenType is input or output, of the metric of tokens. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAITokenType = "gen_ai.token.type"
	// AttrGenAIOutputType is text or json, as it was asked for. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIOutputType = "gen_ai.output.type"
	// AttrGenAIToolName is the tool. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolName = "gen_ai.tool.name"
	// AttrGenAIToolCallID is the id of the call of the tool. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolCallID = "gen_ai.tool.call.id"
	// AttrGenAIToolType is function, extension or datastore. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolType = "gen_ai.tool.type"
	// AttrGenAIWorkflowName is the workflow that a step is of. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIWorkflowName = "gen_ai.workflow.name"
	// AttrGenAISystemInstructions is content: what the model was told to be, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAISystemInstructions = "gen_ai.system_instructions"
	// AttrGenAIInputMessages is content: what the model was given, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIInputMessages = "gen_ai.input.messages"
	// AttrGenAIOutputMessages is content: what the model answered, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIOutputMessages = "gen_ai.output.messages"
	// AttrGenAIToolCallArguments is content: the arguments of the call of a tool, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolCallArguments = "gen_ai.tool.call.arguments"
	// AttrGenAIToolCallResult is content: what the tool gave back, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolCallResult = "gen_ai.tool.call.result"
	// AttrErrorType is the kind of the error, of what has failed: an error name of protocol.md, or another short one. From the semantic conventions 1.41.
	AttrErrorType = "error.type"
	// AttrRPCSystemName is the protocol of a call at a door: jsonrpc. From the semantic conventions 1.41.
	AttrRPCSystemName = "rpc.system.name"
	// AttrRPCMethod is the method that was called at a door. From the semantic conventions 1.41.
	AttrRPCMethod = "rpc.method"
	// AttrRPCResponseStatusCode is the code of the error that a call was answered with. From the semantic conventions 1.41.
	AttrRPCResponseStatusCode = "rpc.response.status_code"
	// AttrMCPMethodName is the method of the Model Context Protocol. From the GenAI semantic conventions 1.41 (Development).
	AttrMCPMethodName = "mcp.method.name"
	// AttrMCPSessionID is the session of the Model Context Protocol. From the GenAI semantic conventions 1.41 (Development).
	AttrMCPSessionID = "mcp.session.id"
	// AttrProcessExitCode is how a program ended. From the semantic conventions 1.41.
	AttrProcessExitCode = "process.exit.code"
	// AttrDoor is the door of a hub that a call came through: ws, http, mcp or a2a.
	AttrDoor = "parley.door"
	// AttrCallerID is the agent id that calls.
	AttrCallerID = "parley.caller.id"
	// AttrWorkspace is the workspace of the conversation.
	AttrWorkspace = "parley.workspace"
	// AttrEventSeq is the seq of the event that a call has written, or has found written.
	AttrEventSeq = "parley.event.seq"
	// AttrDuplicate is whether the call was a retry of one that was served before.
	AttrDuplicate = "parley.duplicate"
	// AttrTurnNumber is the turn.
	AttrTurnNumber = "parley.turn.number"
	// AttrTurnAttempts is how many attempts the turn took.
	AttrTurnAttempts = "parley.turn.attempts"
	// AttrTurnOutcome is how the turn ended.
	AttrTurnOutcome = "parley.turn.outcome"
	// AttrAttemptNumber is which attempt at the turn it is.
	AttrAttemptNumber = "parley.attempt.number"
	// AttrAttemptOutcome is how the attempt ended.
	AttrAttemptOutcome = "parley.attempt.outcome"
	// AttrRunnerID is the runner that took the turn.
	AttrRunnerID = "parley.runner.id"
	// AttrAgentConfigHash is the SHA-256 of the agent config that was used.
	AttrAgentConfigHash = "parley.agent.config_sha256"
	// AttrModelTries is how many times the model was asked until it answered.
	AttrModelTries = "parley.model.tries"
	// AttrApprovalID is the approval that was asked for.
	AttrApprovalID = "parley.approval.id"
	// AttrApprovalDecision is what came of it: approved, rejected, timed_out or canceled.
	AttrApprovalDecision = "parley.approval.decision"
	// AttrChildConversationID is the session that was started.
	AttrChildConversationID = "parley.child.conversation.id"
	// AttrParentConversationID is the conversation that a session was started from.
	AttrParentConversationID = "parley.parent.conversation.id"
	// AttrStepName is the step of a workflow.
	AttrStepName = "parley.step.name"
	// AttrA2ATaskID is the task of the Agent2Agent protocol.
	AttrA2ATaskID = "parley.a2a.task.id"
)

// The values of gen_ai.operation.name.
const (
	// OperationInvokeAgent is an attempt of an agent at a turn. From the GenAI semantic conventions 1.41 (Development).
	OperationInvokeAgent = "invoke_agent"
	// OperationChat is a call of a model. From the GenAI semantic conventions 1.41 (Development).
	OperationChat = "chat"
	// OperationEmbeddings is a call of a model that embeds. From the GenAI semantic conventions 1.41 (Development).
	OperationEmbeddings = "embeddings"
	// OperationExecuteTool is a call of a tool. From the GenAI semantic conventions 1.41 (Development).
	OperationExecuteTool = "execute_tool"
)

// The metrics that are made of spans. Those of /metrics keep their names.
const (
	// MetricGenAIOperationDuration is how long calls of models take, in seconds. From the GenAI semantic conventions 1.41 (Development).
	MetricGenAIOperationDuration = "gen_ai.client.operation.duration"
	// MetricGenAITokenUsage is how many tokens calls of models read and write. From the GenAI semantic conventions 1.41 (Development).
	MetricGenAITokenUsage = "gen_ai.client.token.usage"
)
