// Package methods is the table of the methods and notifications of the protocol. The servers of
// package rpc, the authorization tests, the generated reference and the clients use the same table.
//
//	m, ok := methods.ByName(methods.SendMessage)
//	fmt.Println(m.Scope, m.Route) // write POST /conversations/{conversationId}/messages
package methods

import "github.com/parleyhub/parley"

// Markers of [Method.Scope] that no token has.
const (
	// ScopeNone marks a method that needs no authentication.
	ScopeNone parley.Scope = ""
	// ScopeSelf marks a method that every authenticated caller may use within its own rights.
	ScopeSelf parley.Scope = "self"
)

// The names of the methods. Each is a method of parley.Client, or of a connection.
const (
	Authenticate       = "authenticate"
	Ping               = "ping"
	CreateConversation = "createConversation"
	GetConversation    = "getConversation"
	ListConversations  = "listConversations"
	AddParticipant     = "addParticipant"
	CloseConversation  = "closeConversation"
	ForkConversation   = "forkConversation"
	WatchConversations = "watchConversations"
	Tail               = "tail"
	WaitForChange      = "waitForChange"
	GetUpdates         = "getUpdates"
	Subscribe          = "subscribe"
	Unsubscribe        = "unsubscribe"
	GetGuidance        = "getGuidance"
	Explain            = "explain"
	SendMessage        = "sendMessage"
	SendTrace          = "sendTrace"
	SendNote           = "sendNote"
	SendDelta          = "sendDelta"
	PutAttachment      = "putAttachment"
	GetAttachment      = "getAttachment"
	RegisterExecutor   = "registerExecutor"
	ClaimTurn          = "claimTurn"
	RenewClaim         = "renewClaim"
	ReleaseClaim       = "releaseClaim"
	CancelTurn         = "cancelTurn"
	ListAgents         = "listAgents"
	RegisterBlueprints = "registerBlueprints"
	StartSession       = "startSession"
	GetSession         = "getSession"
	StopSession        = "stopSession"
	RequestApproval    = "requestApproval"
	ResolveApproval    = "resolveApproval"
	GetApproval        = "getApproval"
	ListApprovals      = "listApprovals"
	GetContext         = "getContext"
	ExplainTriggers    = "explainTriggers"
	CreateTicket       = "createTicket"
	CreateToken        = "createToken"
	ListTokens         = "listTokens"
	RevokeToken        = "revokeToken"
	Stats              = "stats"
)

// The names of the notifications that the hub sends.
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

// Method is a row of [Table].
type Method struct {
	// Name is the method of JSON-RPC, such as sendMessage.
	Name string
	// Group is the chapter of the reference that describes the method.
	Group string
	// Scope is the scope that the caller's token must have, or ScopeNone or ScopeSelf.
	Scope parley.Scope
	// Socket is true for methods that JSON-RPC serves on a WebSocket only.
	Socket bool
	// Route is "VERB /path" of the method over plain HTTP, or empty if it has no route. A {name} in
	// the path is the parameter of that name. The other parameters are query parameters of GET and
	// DELETE, and members of the JSON body of POST. See protocol.md, section 13.
	Route string
}

// Table has all methods, in the order of protocol.md.
var Table = []Method{
	{Name: Authenticate, Group: "session", Scope: ScopeNone, Socket: true},
	{Name: Ping, Group: "session", Scope: ScopeSelf},
	{Name: CreateTicket, Group: "session", Scope: ScopeSelf, Route: "POST /tickets"},
	{Name: CreateConversation, Group: "conversations", Scope: parley.ScopeCreate, Route: "POST /conversations"},
	{Name: GetConversation, Group: "conversations", Scope: parley.ScopeRead,
		Route: "GET /conversations/{conversationId}"},
	{Name: ListConversations, Group: "conversations", Scope: parley.ScopeRead, Route: "GET /conversations"},
	{Name: AddParticipant, Group: "conversations", Scope: parley.ScopeWrite,
		Route: "POST /conversations/{conversationId}/participants"},
	{Name: CloseConversation, Group: "conversations", Scope: parley.ScopeWrite,
		Route: "POST /conversations/{conversationId}/close"},
	{Name: ForkConversation, Group: "conversations", Scope: parley.ScopeCreate,
		Route: "POST /conversations/{conversationId}/forks"},
	{Name: WatchConversations, Group: "conversations", Scope: parley.ScopeRead, Route: "GET /changes"},
	{Name: Tail, Group: "read", Scope: parley.ScopeRead},
	{Name: WaitForChange, Group: "read", Scope: parley.ScopeRead, Route: "GET /conversations/{conversationId}/wait"},
	{Name: GetUpdates, Group: "read", Scope: parley.ScopeRead, Route: "GET /conversations/{conversationId}/updates"},
	{Name: Subscribe, Group: "read", Scope: parley.ScopeRead, Socket: true,
		Route: "GET /conversations/{conversationId}/events"},
	{Name: Unsubscribe, Group: "read", Scope: parley.ScopeRead, Socket: true},
	{Name: GetGuidance, Group: "read", Scope: parley.ScopeRead, Route: "GET /conversations/{conversationId}/guidance"},
	{Name: Explain, Group: "read", Scope: parley.ScopeRead},
	{Name: SendMessage, Group: "write", Scope: parley.ScopeWrite,
		Route: "POST /conversations/{conversationId}/messages"},
	{Name: SendTrace, Group: "write", Scope: parley.ScopeWrite, Route: "POST /conversations/{conversationId}/traces"},
	{Name: SendNote, Group: "write", Scope: parley.ScopeWrite, Route: "POST /conversations/{conversationId}/notes"},
	{Name: SendDelta, Group: "write", Scope: parley.ScopeWrite},
	{Name: PutAttachment, Group: "write", Scope: parley.ScopeWrite, Route: "POST /attachments"},
	{Name: GetAttachment, Group: "read", Scope: parley.ScopeRead, Route: "GET /attachments/{sha256}"},
	{Name: RegisterExecutor, Group: "turns", Scope: parley.ScopeClaim, Socket: true},
	{Name: ClaimTurn, Group: "turns", Scope: parley.ScopeClaim, Route: "POST /conversations/{conversationId}/claims"},
	{Name: RenewClaim, Group: "turns", Scope: parley.ScopeWrite,
		Route: "POST /conversations/{conversationId}/claims/renew"},
	{Name: ReleaseClaim, Group: "turns", Scope: parley.ScopeWrite,
		Route: "POST /conversations/{conversationId}/claims/release"},
	{Name: CancelTurn, Group: "turns", Scope: parley.ScopeWrite,
		Route: "POST /conversations/{conversationId}/turns/{turn}/cancel"},
	{Name: ListAgents, Group: "agents", Scope: parley.ScopeRead, Route: "GET /agents"},
	{Name: RegisterBlueprints, Group: "agents", Scope: parley.ScopeClaim, Socket: true},
	{Name: StartSession, Group: "agents", Scope: parley.ScopeCreate, Route: "POST /sessions"},
	{Name: GetSession, Group: "agents", Scope: parley.ScopeRead, Route: "GET /sessions/{sessionId}"},
	{Name: StopSession, Group: "agents", Scope: parley.ScopeWrite, Route: "POST /sessions/{sessionId}/stop"},
	{Name: RequestApproval, Group: "approvals", Scope: parley.ScopeWrite,
		Route: "POST /conversations/{conversationId}/approvals"},
	{Name: GetApproval, Group: "approvals", Scope: parley.ScopeRead, Route: "GET /approvals/{approvalId}"},
	{Name: ListApprovals, Group: "approvals", Scope: parley.ScopeRead, Route: "GET /approvals"},
	{Name: ResolveApproval, Group: "approvals", Scope: parley.ScopeApprove,
		Route: "POST /approvals/{approvalId}/resolve"},
	{Name: GetContext, Group: "triggers", Scope: parley.ScopeRead,
		Route: "POST /conversations/{conversationId}/context"},
	{Name: ExplainTriggers, Group: "triggers", Scope: parley.ScopeRead,
		Route: "GET /conversations/{conversationId}/triggers/{seq}"},
	{Name: CreateToken, Group: "admin", Scope: ScopeSelf, Route: "POST /tokens"},
	{Name: ListTokens, Group: "admin", Scope: ScopeSelf, Route: "GET /tokens"},
	{Name: RevokeToken, Group: "admin", Scope: ScopeSelf, Route: "DELETE /tokens/{tokenId}"},
	{Name: Stats, Group: "admin", Scope: parley.ScopeAdmin, Route: "GET /stats"},
}

// ByName returns the row of a method. It returns false if there is no such method.
func ByName(name string) (Method, bool) {
	for _, m := range Table {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}
