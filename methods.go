package parley

// Scope is a power that a token carries.
type Scope string

// The scopes. ScopeSelf is no scope of a token: it marks methods that every authenticated caller may use, within its own
// powers; ScopeNone marks those that need no authentication.
const (
	ScopeNone    Scope = ""
	ScopeSelf    Scope = "self"
	ScopeRead    Scope = "read"
	ScopeWrite   Scope = "write"
	ScopeCreate  Scope = "create"
	ScopeClaim   Scope = "claim"
	ScopeApprove Scope = "approve"
	ScopeTrace   Scope = "trace"
	ScopeAdmin   Scope = "admin"
)

// Scopes are the scopes that a token may carry. Admin includes all others.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeCreate, ScopeClaim, ScopeApprove, ScopeTrace, ScopeAdmin}

// DefaultScopes are those of a token made without naming any.
var DefaultScopes = []Scope{ScopeRead, ScopeWrite, ScopeCreate, ScopeClaim}

// The methods.
const (
	MethodAuthenticate       = "authenticate"
	MethodPing               = "ping"
	MethodCreateConversation = "createConversation"
	MethodGetConversation    = "getConversation"
	MethodListConversations  = "listConversations"
	MethodAddParticipant     = "addParticipant"
	MethodCloseConversation  = "closeConversation"
	MethodForkConversation   = "forkConversation"
	MethodWatchConversations = "watchConversations"
	MethodTail               = "tail"
	MethodWaitForChange      = "waitForChange"
	MethodGetUpdates         = "getUpdates"
	MethodSubscribe          = "subscribe"
	MethodUnsubscribe        = "unsubscribe"
	MethodGetGuidance        = "getGuidance"
	MethodExplain            = "explain"
	MethodSendMessage        = "sendMessage"
	MethodSendTrace          = "sendTrace"
	MethodSendNote           = "sendNote"
	MethodSendDelta          = "sendDelta"
	MethodPutAttachment      = "putAttachment"
	MethodGetAttachment      = "getAttachment"
	MethodRegisterExecutor   = "registerExecutor"
	MethodClaimTurn          = "claimTurn"
	MethodRenewClaim         = "renewClaim"
	MethodReleaseClaim       = "releaseClaim"
	MethodCancelTurn         = "cancelTurn"
	MethodListAgents         = "listAgents"
	MethodRegisterBlueprints = "registerBlueprints"
	MethodStartSession       = "startSession"
	MethodGetSession         = "getSession"
	MethodStopSession        = "stopSession"
	MethodRequestApproval    = "requestApproval"
	MethodResolveApproval    = "resolveApproval"
	MethodGetApproval        = "getApproval"
	MethodListApprovals      = "listApprovals"
	MethodGetContext         = "getContext"
	MethodExplainTriggers    = "explainTriggers"
	MethodCreateTicket       = "createTicket"
	MethodCreateToken        = "createToken"
	MethodListTokens         = "listTokens"
	MethodRevokeToken        = "revokeToken"
	MethodStats              = "stats"
)

// The notifications that the hub sends.
const (
	NotifyEvent    = "event"
	NotifyGuidance = "guidance"
	NotifyCaughtUp = "caught_up"
	NotifyDelta    = "delta"
	NotifyClosing  = "closing"

	NotifyRequestTurn  = "request_turn"
	NotifyClaimEnded   = "claim_ended"
	NotifyClaimWaiting = "claim_waiting"
)

// Method is a row of the one table from which doors serve, the authorization matrix is made and protocol.md is
// checked.
type Method struct {
	Name  string
	Group string
	// Scope is what the caller's token must carry.
	Scope Scope
	// Socket is true for methods that need a WebSocket when they are called by JSON-RPC.
	Socket bool
	// Route is the method over plain HTTP: "VERB /path", where {name} in the path is the param of that name. Empty: it has none.
	// What else it needs are query parameters for GET and DELETE, and the JSON body for POST. See protocol.md, section 13.
	Route string
}

// Methods is the table, in the order of protocol.md.
var Methods = []Method{
	{Name: MethodAuthenticate, Group: "session", Scope: ScopeNone, Socket: true},
	{Name: MethodPing, Group: "session", Scope: ScopeSelf},
	{Name: MethodCreateTicket, Group: "session", Scope: ScopeSelf, Route: "POST /tickets"},
	{Name: MethodCreateConversation, Group: "conversations", Scope: ScopeCreate, Route: "POST /conversations"},
	{Name: MethodGetConversation, Group: "conversations", Scope: ScopeRead, Route: "GET /conversations/{conversationId}"},
	{Name: MethodListConversations, Group: "conversations", Scope: ScopeRead, Route: "GET /conversations"},
	{Name: MethodAddParticipant, Group: "conversations", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/participants"},
	{Name: MethodCloseConversation, Group: "conversations", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/close"},
	{Name: MethodForkConversation, Group: "conversations", Scope: ScopeCreate, Route: "POST /conversations/{conversationId}/forks"},
	{Name: MethodWatchConversations, Group: "conversations", Scope: ScopeRead, Route: "GET /changes"},
	{Name: MethodTail, Group: "read", Scope: ScopeRead},
	{Name: MethodWaitForChange, Group: "read", Scope: ScopeRead, Route: "GET /conversations/{conversationId}/wait"},
	{Name: MethodGetUpdates, Group: "read", Scope: ScopeRead, Route: "GET /conversations/{conversationId}/updates"},
	{Name: MethodSubscribe, Group: "read", Scope: ScopeRead, Socket: true, Route: "GET /conversations/{conversationId}/events"},
	{Name: MethodUnsubscribe, Group: "read", Scope: ScopeRead, Socket: true},
	{Name: MethodGetGuidance, Group: "read", Scope: ScopeRead, Route: "GET /conversations/{conversationId}/guidance"},
	{Name: MethodExplain, Group: "read", Scope: ScopeRead},
	{Name: MethodSendMessage, Group: "write", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/messages"},
	{Name: MethodSendTrace, Group: "write", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/traces"},
	{Name: MethodSendNote, Group: "write", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/notes"},
	{Name: MethodSendDelta, Group: "write", Scope: ScopeWrite},
	{Name: MethodPutAttachment, Group: "write", Scope: ScopeWrite, Route: "POST /attachments"},
	{Name: MethodGetAttachment, Group: "read", Scope: ScopeRead, Route: "GET /attachments/{sha256}"},
	{Name: MethodRegisterExecutor, Group: "turns", Scope: ScopeClaim, Socket: true},
	{Name: MethodClaimTurn, Group: "turns", Scope: ScopeClaim, Route: "POST /conversations/{conversationId}/claims"},
	{Name: MethodRenewClaim, Group: "turns", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/claims/renew"},
	{Name: MethodReleaseClaim, Group: "turns", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/claims/release"},
	{Name: MethodCancelTurn, Group: "turns", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/turns/{turn}/cancel"},
	{Name: MethodListAgents, Group: "agents", Scope: ScopeRead, Route: "GET /agents"},
	{Name: MethodRegisterBlueprints, Group: "agents", Scope: ScopeClaim, Socket: true},
	{Name: MethodStartSession, Group: "agents", Scope: ScopeCreate, Route: "POST /sessions"},
	{Name: MethodGetSession, Group: "agents", Scope: ScopeRead, Route: "GET /sessions/{sessionId}"},
	{Name: MethodStopSession, Group: "agents", Scope: ScopeWrite, Route: "POST /sessions/{sessionId}/stop"},
	{Name: MethodRequestApproval, Group: "approvals", Scope: ScopeWrite, Route: "POST /conversations/{conversationId}/approvals"},
	{Name: MethodGetApproval, Group: "approvals", Scope: ScopeRead, Route: "GET /approvals/{approvalId}"},
	{Name: MethodListApprovals, Group: "approvals", Scope: ScopeRead, Route: "GET /approvals"},
	{Name: MethodResolveApproval, Group: "approvals", Scope: ScopeApprove, Route: "POST /approvals/{approvalId}/resolve"},
	{Name: MethodGetContext, Group: "triggers", Scope: ScopeRead, Route: "POST /conversations/{conversationId}/context"},
	{Name: MethodExplainTriggers, Group: "triggers", Scope: ScopeRead, Route: "GET /conversations/{conversationId}/triggers/{seq}"},
	{Name: MethodCreateToken, Group: "admin", Scope: ScopeSelf, Route: "POST /tokens"},
	{Name: MethodListTokens, Group: "admin", Scope: ScopeSelf, Route: "GET /tokens"},
	{Name: MethodRevokeToken, Group: "admin", Scope: ScopeSelf, Route: "DELETE /tokens/{tokenId}"},
	{Name: MethodStats, Group: "admin", Scope: ScopeAdmin, Route: "GET /stats"},
}

// MethodByName finds a row of the table.
func MethodByName(name string) (Method, bool) {
	for _, m := range Methods {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}
