package parley

import "iter"

// EventsOf implements [Client.Events] with the notifications of [Client.Subscribe]. It yields the
// events up to the one that closes the conversation. If that event is not after the cursor, it ends
// at the head.
func EventsOf(notifications iter.Seq2[Notification, error]) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for n, err := range notifications {
			if err != nil {
				yield(Event{}, err)
				return
			}
			if n.Guidance != nil && n.Guidance.Guidance.Kind == Closed {
				return // closed already at the cursor that the caller gave
			}
			if n.Event == nil {
				continue
			}
			if !yield(*n.Event, nil) || n.Event.Closes() {
				return
			}
		}
	}
}
