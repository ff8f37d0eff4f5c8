package rpc

import (
	"regexp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// laterParams are the params of the design that this version refuses by name: see protocol.md, section 14. What a message's payload
// may not hold yet, and which policies there are, the hub knows.
var laterParams = func() map[string]map[string]bool {
	later := map[string]map[string]bool{}
	add := func(method string, paths ...string) {
		if later[method] == nil {
			later[method] = map[string]bool{}
		}
		for _, p := range paths {
			later[method][p] = true
		}
	}
	for _, m := range []string{parley.MethodSendMessage, parley.MethodSendTrace, parley.MethodSendDelta} {
		add(m, "claimId", "turnHint")
	}
	add(parley.MethodAddParticipant, "participant.agent", "participant.executor")
	add(parley.MethodCreateConversation, "participants.agent", "participants.executor")
	for _, limit := range []string{"turnTimeoutMs", "onTurnTimeout", "maxAttempts", "maxClaimMs", "claimWindowMs", "maxAutonomousTurns", "stopWhen"} {
		add(parley.MethodCreateConversation, limit, "limits."+limit)
	}
	return later
}()

var index = regexp.MustCompile(`\[\d+\]`)

// laterParam gives a param that is unknown because it is of a later version an error of its own.
func laterParam(method string, e *wire.ParamError) error {
	if e.Unknown && laterParams[method][index.ReplaceAllString(e.Path, "")] {
		return parley.Refuse(parley.ErrValidationFailed, e.Path+" is not served by this version", "")
	}
	return e
}
