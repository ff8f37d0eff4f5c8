package parley

// Scope is a permission of a token.
type Scope string

// The scopes. The reference documentation lists the scope of each method.
const (
	ScopeRead    Scope = "read"
	ScopeWrite   Scope = "write"
	ScopeCreate  Scope = "create"
	ScopeClaim   Scope = "claim"
	ScopeApprove Scope = "approve"
	ScopeTrace   Scope = "trace"
	ScopeAdmin   Scope = "admin"
)

// Scopes has all values of Scope. ScopeAdmin includes all others.
var Scopes = []Scope{ScopeRead, ScopeWrite, ScopeCreate, ScopeClaim, ScopeApprove, ScopeTrace, ScopeAdmin}

// DefaultScopes are the scopes of a token that is created without naming any.
var DefaultScopes = []Scope{ScopeRead, ScopeWrite, ScopeCreate, ScopeClaim}
