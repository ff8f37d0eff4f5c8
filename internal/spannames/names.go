// Code generated from internal/spannames/generate by its test. DO NOT EDIT.

// Package spannames has the names of the spans, attributes and metrics that Parley exports to
// OpenTelemetry. Package parley has the functions that start spans, such as parley.StartSpan.
package spannames

// The prefixes of the names of spans.
const (
	// SpanCall is a call of a method of a hub. The whole name is "parley.{method}".
	SpanCall = "parley."
	// SpanMCP is a request of the Model Context Protocol to a hub. The whole name is "parley.mcp {method}".
	SpanMCP = "parley.mcp "
	// SpanA2A is a request of the Agent2Agent protocol to a hub. The whole name is "parley.a2a {method}".
	SpanA2A = "parley.a2a "
	// SpanTurn is a claimed turn, from the time at which the agent got the floor to its end. The whole name is "turn {agent}".
	SpanTurn = "turn "
	// SpanInvokeAgent is an attempt of an agent at a turn. The whole name is "invoke_agent {agent}". From the GenAI semantic conventions 1.41 (Development).
	SpanInvokeAgent = "invoke_agent "
	// SpanChat is a call of a model. The whole name is "chat {model}". From the GenAI semantic conventions 1.41 (Development).
	SpanChat = "chat "
	// SpanEmbeddings is a call of a model that embeds. The whole name is "embeddings {model}". From the GenAI semantic conventions 1.41 (Development).
	SpanEmbeddings = "embeddings "
	// SpanExecuteTool is a call of a tool. The whole name is "execute_tool {tool}". From the GenAI semantic conventions 1.41 (Development).
	SpanExecuteTool = "execute_tool "
	// SpanApproval is the wait of a tool call for its approval.
	SpanApproval = "approval"
	// SpanStep is a step of a workflow. The whole name is "parley.step {name}".
	SpanStep = "parley.step "
	// SpanProcess is a program that an agent runs. The whole name is "parley.process {program}".
	SpanProcess = "parley.process "
)

// The keys of attributes.
const (
	// AttrGenAIOperationName is the operation: one of the list below. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIOperationName = "gen_ai.operation.name"
	// AttrGenAIProviderName is the provider of the model. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIProviderName = "gen_ai.provider.name"
	// AttrGenAIAgentID is the id of the agent that has the turn. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIAgentID = "gen_ai.agent.id"
	// AttrGenAIAgentName is the name of the agent that has the turn. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIAgentName = "gen_ai.agent.name"
	// AttrGenAIConversationID is the conversation. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIConversationID = "gen_ai.conversation.id"
	// AttrGenAIRequestModel is the requested model. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestModel = "gen_ai.request.model"
	// AttrGenAIRequestMaxTokens is the maximum number of tokens of the answer. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestMaxTokens = "gen_ai.request.max_tokens"
	// AttrGenAIRequestTemperature is the requested temperature. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestTemperature = "gen_ai.request.temperature"
	// AttrGenAIRequestTopP is the requested top_p. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestTopP = "gen_ai.request.top_p"
	// AttrGenAIRequestSeed is the requested seed. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestSeed = "gen_ai.request.seed"
	// AttrGenAIRequestStopSequences is the texts at which the model stops. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestStopSequences = "gen_ai.request.stop_sequences"
	// AttrGenAIRequestStream is whether the answer was streamed. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIRequestStream = "gen_ai.request.stream"
	// AttrGenAIResponseModel is the model that answered. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseModel = "gen_ai.response.model"
	// AttrGenAIResponseID is the id of the answer at the provider. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseID = "gen_ai.response.id"
	// AttrGenAIResponseFinishReasons is the reasons why the model stopped. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseFinishReasons = "gen_ai.response.finish_reasons"
	// AttrGenAIResponseTimeToFirstChunk is seconds until the first part of a streamed answer. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIResponseTimeToFirstChunk = "gen_ai.response.time_to_first_chunk"
	// AttrGenAIUsageInputTokens is the number of input tokens. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageInputTokens = "gen_ai.usage.input_tokens"
	// AttrGenAIUsageOutputTokens is the number of output tokens. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageOutputTokens = "gen_ai.usage.output_tokens"
	// AttrGenAIUsageCacheReadInputTokens is the number of input tokens from a cache. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageCacheReadInputTokens = "gen_ai.usage.cache_read.input_tokens"
	// AttrGenAIUsageCacheCreationInputTokens is the number of input tokens that were written to a cache. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageCacheCreationInputTokens = "gen_ai.usage.cache_creation.input_tokens"
	// AttrGenAIUsageReasoningOutputTokens is the number of output tokens of reasoning. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIUsageReasoningOutputTokens = "gen_ai.usage.reasoning.output_tokens"
	// AttrGenAITokenType is input or output, for the metric of tokens. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAITokenType = "gen_ai.token.type"
	// AttrGenAIOutputType is text or json, as requested. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIOutputType = "gen_ai.output.type"
	// AttrGenAIToolName is the tool. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolName = "gen_ai.tool.name"
	// AttrGenAIToolCallID is the id of the call of the tool. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolCallID = "gen_ai.tool.call.id"
	// AttrGenAIToolType is function, extension or datastore. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolType = "gen_ai.tool.type"
	// AttrGenAIWorkflowName is the workflow of a step. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIWorkflowName = "gen_ai.workflow.name"
	// AttrGenAISystemInstructions is content: the instructions to the model, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAISystemInstructions = "gen_ai.system_instructions"
	// AttrGenAIInputMessages is content: the input of the model, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIInputMessages = "gen_ai.input.messages"
	// AttrGenAIOutputMessages is content: the output of the model, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIOutputMessages = "gen_ai.output.messages"
	// AttrGenAIToolCallArguments is content: the arguments of a tool call, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolCallArguments = "gen_ai.tool.call.arguments"
	// AttrGenAIToolCallResult is content: the result of a tool call, as JSON. From the GenAI semantic conventions 1.41 (Development).
	AttrGenAIToolCallResult = "gen_ai.tool.call.result"
	// AttrErrorType is the kind of an error: an error name of protocol.md or another short word. From the semantic conventions 1.41.
	AttrErrorType = "error.type"
	// AttrRPCSystemName is the protocol of a call: jsonrpc. From the semantic conventions 1.41.
	AttrRPCSystemName = "rpc.system.name"
	// AttrRPCMethod is the method of a call. From the semantic conventions 1.41.
	AttrRPCMethod = "rpc.method"
	// AttrRPCResponseStatusCode is the error code of a call. From the semantic conventions 1.41.
	AttrRPCResponseStatusCode = "rpc.response.status_code"
	// AttrMCPMethodName is the method of the Model Context Protocol. From the GenAI semantic conventions 1.41 (Development).
	AttrMCPMethodName = "mcp.method.name"
	// AttrMCPSessionID is the session of the Model Context Protocol. From the GenAI semantic conventions 1.41 (Development).
	AttrMCPSessionID = "mcp.session.id"
	// AttrProcessExitCode is the exit code of a program. From the semantic conventions 1.41.
	AttrProcessExitCode = "process.exit.code"
	// AttrDoor is the server of the hub that received a call: ws, http, mcp or a2a.
	AttrDoor = "parley.door"
	// AttrCallerID is the agent id of the caller.
	AttrCallerID = "parley.caller.id"
	// AttrWorkspace is the workspace of the conversation.
	AttrWorkspace = "parley.workspace"
	// AttrEventSeq is the seq of the event of a call, written by it or by an earlier one.
	AttrEventSeq = "parley.event.seq"
	// AttrDuplicate is whether the call repeated an earlier one.
	AttrDuplicate = "parley.duplicate"
	// AttrTurnNumber is the turn.
	AttrTurnNumber = "parley.turn.number"
	// AttrTurnAttempts is the number of attempts of the turn.
	AttrTurnAttempts = "parley.turn.attempts"
	// AttrTurnOutcome is how the turn ended.
	AttrTurnOutcome = "parley.turn.outcome"
	// AttrAttemptNumber is the number of the attempt.
	AttrAttemptNumber = "parley.attempt.number"
	// AttrAttemptOutcome is how the attempt ended.
	AttrAttemptOutcome = "parley.attempt.outcome"
	// AttrRunnerID is the runner that took the turn.
	AttrRunnerID = "parley.runner.id"
	// AttrAgentConfigHash is the SHA-256 of the agent config that was used.
	AttrAgentConfigHash = "parley.agent.config_sha256"
	// AttrModelTries is how many times the model was asked until it answered.
	AttrModelTries = "parley.model.tries"
	// AttrModelErrorCode is the error code of the vendor of a model.
	AttrModelErrorCode = "parley.model.error_code"
	// AttrModelErrorDetail is the error of the vendor of a model, without keys.
	AttrModelErrorDetail = "parley.model.error_detail"
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

// The metrics that are computed from spans. The metrics of /metrics have other names.
const (
	// MetricGenAIOperationDuration is the duration of calls of models, in seconds. From the GenAI semantic conventions 1.41 (Development).
	MetricGenAIOperationDuration = "gen_ai.client.operation.duration"
	// MetricGenAITokenUsage is the number of tokens that calls of models read and write. From the GenAI semantic conventions 1.41 (Development).
	MetricGenAITokenUsage = "gen_ai.client.token.usage"
)
