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
var DefaultScopes = []Scope{ScopeRead, ScopeWrite, ScopeCreate}

// The methods.
const (
	MethodAuthenticate       = "authenticate"
	MethodPing               = "ping"
	MethodCreateConversation = "createConversation"
	MethodGetConversation    = "getConversation"
	MethodListConversations  = "listConversations"
	MethodAddParticipant     = "addParticipant"
	MethodCloseConversation  = "closeConversation"
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
	MethodListAgents         = "listAgents"
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
)

// Method is a row of the one table from which doors serve, the authorization matrix is made and protocol.md is
// checked.
type Method struct {
	Name  string
	Group string
	// Scope is what the caller's token must carry.
	Scope Scope
	// Socket is true for methods that need a WebSocket.
	Socket bool
	// Later is true for methods of the design that this version refuses by name.
	Later bool
}

// Methods is the table, in the order of protocol.md.
var Methods = []Method{
	{Name: MethodAuthenticate, Group: "session", Scope: ScopeNone, Socket: true},
	{Name: MethodPing, Group: "session", Scope: ScopeSelf},
	{Name: MethodCreateConversation, Group: "conversations", Scope: ScopeCreate},
	{Name: MethodGetConversation, Group: "conversations", Scope: ScopeRead},
	{Name: MethodListConversations, Group: "conversations", Scope: ScopeRead},
	{Name: MethodAddParticipant, Group: "conversations", Scope: ScopeWrite},
	{Name: MethodCloseConversation, Group: "conversations", Scope: ScopeWrite},
	{Name: MethodTail, Group: "read", Scope: ScopeRead},
	{Name: MethodWaitForChange, Group: "read", Scope: ScopeRead},
	{Name: MethodGetUpdates, Group: "read", Scope: ScopeRead},
	{Name: MethodSubscribe, Group: "read", Scope: ScopeRead, Socket: true},
	{Name: MethodUnsubscribe, Group: "read", Scope: ScopeRead, Socket: true},
	{Name: MethodGetGuidance, Group: "read", Scope: ScopeRead},
	{Name: MethodExplain, Group: "read", Scope: ScopeRead},
	{Name: MethodSendMessage, Group: "write", Scope: ScopeWrite},
	{Name: MethodSendTrace, Group: "write", Scope: ScopeWrite},
	{Name: MethodSendNote, Group: "write", Scope: ScopeWrite},
	{Name: MethodSendDelta, Group: "write", Scope: ScopeWrite},
	{Name: MethodCreateToken, Group: "admin", Scope: ScopeSelf},

	{Name: MethodPutAttachment, Group: "write", Scope: ScopeWrite, Later: true},
	{Name: MethodGetAttachment, Group: "write", Scope: ScopeRead, Later: true},
	{Name: "registerExecutor", Group: "turns", Scope: ScopeClaim, Socket: true, Later: true},
	{Name: "claimTurn", Group: "turns", Scope: ScopeClaim, Later: true},
	{Name: "renewClaim", Group: "turns", Scope: ScopeClaim, Later: true},
	{Name: "releaseClaim", Group: "turns", Scope: ScopeClaim, Later: true},
	{Name: "cancelTurn", Group: "turns", Scope: ScopeWrite, Later: true},
	{Name: MethodListAgents, Group: "agents", Scope: ScopeRead, Later: true},
	{Name: "registerBlueprints", Group: "agents", Scope: ScopeClaim, Later: true},
	{Name: "startSession", Group: "agents", Scope: ScopeCreate, Later: true},
	{Name: "getSession", Group: "agents", Scope: ScopeRead, Later: true},
	{Name: "stopSession", Group: "agents", Scope: ScopeWrite, Later: true},
	{Name: "requestApproval", Group: "approvals", Scope: ScopeClaim, Later: true},
	{Name: "resolveApproval", Group: "approvals", Scope: ScopeApprove, Later: true},
	{Name: "listApprovals", Group: "approvals", Scope: ScopeApprove, Later: true},
	{Name: MethodListTokens, Group: "admin", Scope: ScopeSelf, Later: true},
	{Name: MethodRevokeToken, Group: "admin", Scope: ScopeSelf, Later: true},
	{Name: MethodStats, Group: "admin", Scope: ScopeAdmin, Later: true},
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
