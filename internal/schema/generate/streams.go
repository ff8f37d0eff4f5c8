package generate

import (
	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// subscriptionID is the member of notifications that a stream omits, because a stream is one
// subscription.
const subscriptionID = "subscriptionId"

// streamed returns the name of the schema of a notification on a stream. It returns "" for an
// event, which is sent as stored, and for notifications that only executors receive.
func streamed(notification string, params any) string {
	switch notification {
	case methods.NotifyEvent, methods.NotifyRequestTurn, methods.NotifyClaimEnded, methods.NotifyClaimWaiting:
		return ""
	}
	return typeName(params) + "OfStream"
}

// addStreams adds the schemas of notifications on a stream of server-sent events. On a socket, they
// always have a subscriptionId.
func (d *definitions) addStreams() {
	for _, n := range notifications {
		name := streamed(n.name, n.params)
		if name == "" {
			continue
		}
		onSocket := d.schemas[typeName(n.params)]
		s := *onSocket
		s.Properties = jsonschema.NewProperties()
		for p := onSocket.Properties.Oldest(); p != nil; p = p.Next() {
			if p.Key != subscriptionID {
				s.Properties.Set(p.Key, p.Value)
			}
		}
		if s.Properties.Len() < onSocket.Properties.Len() {
			onSocket.Required = append([]string{subscriptionID}, onSocket.Required...)
		}
		d.schemas[name] = &s
	}
}

// waitEvents is the schema of the answer of waitForChange over plain HTTP with include=events.
const waitEvents = "WaitForChangeEvents"

func (d *definitions) addWait() {
	s := *d.schemas[typeName(parley.TailResult{})]
	s.Description = "What waitForChange answers over plain HTTP to include=events: that of tail, and timedOut."
	s.Properties = jsonschema.NewProperties()
	for p := d.schemas[typeName(parley.TailResult{})].Properties.Oldest(); p != nil; p = p.Next() {
		s.Properties.Set(p.Key, p.Value)
	}
	s.Properties.Set("timedOut", d.property(typeName(parley.WaitForChangeResult{}), "timedOut"))
	s.Required = append(append([]string{}, s.Required...), "timedOut")
	d.schemas[waitEvents] = &s
}
