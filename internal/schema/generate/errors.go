package generate

import (
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

func typeName(v any) string { return reflect.TypeOf(v).Name() }

// addErrors lists the codes and reasons, and adds the schema of an error over plain HTTP.
func (d *definitions) addErrors() {
	var codes, reasons []any
	for _, row := range parley.Errors {
		codes = append(codes, row.Code)
		reasons = append(reasons, row.Reason())
	}
	code := d.property("WireError", "code")
	code.Type, code.AnyOf = "", []*jsonschema.Schema{{Enum: codes}, {Type: "integer"}}
	reason := d.property("ErrorData", "reason")
	reason.Type, reason.AnyOf = "", known(reasons...).AnyOf

	d.inErrors("ValidationData")
	delete(d.schemas, "ValidationFailure")

	word := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	data := d.schemas["ErrorData"]
	problem := members(
		"type", word("urn:parley:error: and the reason."), "title", word("The reason, for people."),
		"status", &jsonschema.Schema{Type: "integer", Description: "The HTTP status."}, "detail", word("One sentence for a person."),
		"code", d.property("WireError", "code"),
	)
	for p := data.Properties.Oldest(); p != nil; p = p.Next() {
		problem.Properties.Set(p.Key, p.Value)
	}
	problem.Required = append(problem.Required, data.Required...)
	problem.Description = "An error over plain HTTP: application/problem+json (RFC 9457)."
	d.schemas["Problem"] = problem
}

// inErrors makes the members of a struct that ErrorData embeds optional, because only some errors
// have them.
func (d *definitions) inErrors(name string) {
	data, some := d.schemas["ErrorData"], d.schemas[name]
	data.Required = slices.DeleteFunc(data.Required, func(r string) bool { return slices.Contains(some.Required, r) })
	for p := some.Properties.Oldest(); p != nil; p = p.Next() {
		told := d.property("ErrorData", p.Key)
		told.Description = strings.TrimSpace(told.Description + " With parameter_validation_failed.")
	}
	delete(d.schemas, name)
}

// Every method can return these errors.
var always = []error{
	parley.ErrParse, parley.ErrInvalidRequest, parley.ErrInvalidParams, parley.ErrInternal, parley.ErrValidationFailed,
	parley.ErrUnauthenticated, parley.ErrForbidden, parley.ErrTooLarge, parley.ErrRateLimited, parley.ErrUnavailable,
}

// refusals returns the errors that a method can return, in the order of the table.
func (d *definitions) refusals(m Method) []parley.ErrorRow {
	takes := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			_, ok := d.schemas[d.name(m.Params, true)].Properties.Get(n)
			return ok
		})
	}
	writes := m.Scope == parley.ScopeWrite || m.Scope == parley.ScopeCreate
	can := slices.Clone(always)
	add := func(holds bool, errs ...error) {
		if holds {
			can = append(can, errs...)
		}
	}
	add(takes("conversationId", "conversations", "subscriptionId", "tokenId", "sha256", "sessionId", "agentName", "approvalId"), parley.ErrNotFound)
	add(takes("agentName"), parley.ErrParameters)
	add(takes("sinceSeq", "afterSeq", "forkId"), parley.ErrCursorAhead)
	add(takes("clientRequestId"), parley.ErrIdempotencyConflict)
	add(writes && takes("turn"), parley.ErrNotYourTurn, parley.ErrTurnClosed, parley.ErrTurnConflict)
	add(writes, parley.ErrConversationClosed)
	add(takes("participant", "participants", "executorId", "forkId"), parley.ErrAlreadyExists)
	claims := m.Scope == parley.ScopeClaim
	add(claims && takes("conversationId"), parley.ErrNotYourTurn, parley.ErrTurnClosed, parley.ErrTurnConflict, parley.ErrConversationClosed)
	add(takes("claimId", "claim"), parley.ErrClaimLost)
	add(writes && takes("claimId") && !slices.Contains(d.schemas[d.name(m.Params, true)].Required, "claimId"), parley.ErrClaimRequired)
	stores := writes || claims || m.Scope == parley.ScopeApprove || m.Name == methods.CreateToken || m.Name == methods.RevokeToken
	add(stores && m.Name != methods.SendDelta, parley.ErrOutcomeUnknown, parley.ErrStorageFull)
	add(m.Name == methods.RequestApproval, parley.ErrNotYourTurn, parley.ErrTurnClosed, parley.ErrIdempotencyConflict)
	add(m.Name == methods.ResolveApproval, parley.ErrAlreadyResolved)
	add(m.Socket, parley.ErrMethodNotFound)
	var rows []parley.ErrorRow
	for _, row := range parley.Errors {
		if slices.Contains(can, row.Err) {
			rows = append(rows, row)
		}
	}
	return rows
}
