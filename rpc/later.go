package rpc

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// laterParams are the params of the design that this version refuses by name: see protocol.md, section 15. What a message's payload
// may not hold yet, and which policies there are, the hub knows.
var laterParams = map[string]map[string]bool{parley.MethodRegisterExecutor: {"labels": true}}

// laterParam gives a param that is unknown because it is of a later version an error of its own.
func laterParam(method string, e *wire.ParamError) error {
	if e.Unknown && laterParams[method][e.Path] {
		return parley.Refuse(parley.ErrValidationFailed, e.Path+" is not served by this version", "")
	}
	return e
}
