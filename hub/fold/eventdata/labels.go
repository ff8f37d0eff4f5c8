package eventdata

import "github.com/parleyhub/parley"

// SeatLabel is the label under which the conversations of a participant or creator are listed.
func SeatLabel(participant string) string { return "p:" + participant }

// WorkspaceLabel is the label under which the conversations of a workspace are listed.
func WorkspaceLabel(name string) string { return "w:" + name }

// CreateLabels returns the labels of a new conversation, with that of its workspace unless that is
// empty.
func CreateLabels(createdBy string, seats []parley.Participant, workspace string) []string {
	labels := SeatLabels(createdBy, seats)
	if workspace != "" {
		labels = append(labels, WorkspaceLabel(workspace))
	}
	return labels
}

// SeatLabels returns the labels for its creator and participants.
func SeatLabels(createdBy string, seats []parley.Participant) []string {
	labels := []string{SeatLabel(createdBy)}
	for _, seat := range seats {
		if seat.ID != createdBy {
			labels = append(labels, SeatLabel(seat.ID))
		}
	}
	return labels
}

// Labels returns the labels that a conversation gets with an event, the same as the hub used when
// it wrote the event. Only system events have labels; sys is the payload.
func Labels(sys *parley.System) []string {
	switch {
	case sys.Kind == parley.KindConversationCreated:
		return CreateLabels(sys.CreatedBy, sys.Participants, sys.Workspace)
	case sys.Kind == parley.KindConversationForked:
		return []string{SeatLabel(sys.CreatedBy)}
	case sys.Kind == parley.KindParticipantAdded && sys.Participant != nil:
		return []string{SeatLabel(sys.Participant.ID)}
	}
	return nil
}

// Shared is an event of another conversation and its stored bytes, which must not be changed.
type Shared struct {
	Event parley.Event
	Data  []byte
}

// ForkLabels returns the labels of a fork: those of a new conversation with the participants and the workspace of the
// shared events.
func ForkLabels(createdBy string, shared []Shared) ([]string, error) {
	var seats []parley.Participant
	workspace := ""
	for i := range shared {
		e := &shared[i].Event
		if k := Kind(e); k != parley.KindConversationCreated && k != parley.KindParticipantAdded {
			continue
		}
		sys, err := e.System()
		if err != nil {
			return nil, err
		}
		seats = append(seats, sys.Participants...)
		if sys.Participant != nil {
			seats = append(seats, *sys.Participant)
		}
		if sys.Workspace != "" {
			workspace = sys.Workspace
		}
	}
	return CreateLabels(createdBy, seats, workspace), nil
}
