package parley

// Scope is a power that a token carries.
type Scope string

// The scopes.
const (
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
