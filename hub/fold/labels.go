package fold

import "github.com/parleyhub/parley"

// SeatLabel is the label under which the conversations of a participant or creator are listed.
func SeatLabel(participant string) string { return "p:" + participant }

// WorkspaceLabel is the label under which the conversations of a workspace are listed.
func WorkspaceLabel(name string) string { return "w:" + name }

// CreateLabels gives the labels of a new conversation, of a workspace or, where that is empty, of none.
func CreateLabels(createdBy string, seats []parley.Participant, workspace string) []string {
	labels := SeatLabels(createdBy, seats)
	if workspace != "" {
		labels = append(labels, WorkspaceLabel(workspace))
	}
	return labels
}

// SeatLabels gives those of them that its creator and participants bring.
func SeatLabels(createdBy string, seats []parley.Participant) []string {
	labels := []string{SeatLabel(createdBy)}
	for _, seat := range seats {
		if seat.ID != createdBy {
			labels = append(labels, SeatLabel(seat.ID))
		}
	}
	return labels
}

// Labels gives the labels that a conversation gets with an event, the same as the hub gave when it wrote it. Only system events bring
// some; sys is the payload.
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
