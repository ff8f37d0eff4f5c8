package parley

import "iter"

// EventsOf makes Client.Events of Client.Subscribe: the events alone, up to the one that closes the
// conversation (or up to the head, when that one lies before the cursor).
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
