package archive

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
)

// checkSpeech refuses a message or a trace that no hub writes on s, the state before
// it.
func checkSpeech(s *fold.State, e *parley.Event) error {
	if err := check.Key(e.ClientRequestID); err != nil {
		return err
	}
	switch {
	case e.Type == parley.TypeMessage && e.From == parley.HubID:
		if e.Finality != parley.FinalityConversation {
			return checkCallback(s, e)
		}
		if err := checkCarries(e, nil, 0); err != nil {
			return err
		}
	case !s.HasParticipant(e.From):
		return errNoPart(e.From)
	case !s.MaySpeak(e.From):
		return fmt.Errorf("%s does not have the floor", e.From)
	}
	if e.From != parley.HubID {
		cause, hops := s.CauseOfSpeech(e.From)
		if err := checkCarries(e, cause, hops); err != nil {
			return err
		}
	}
	if e.Type == parley.TypeTrace {
		return check.Trace(e.Payload)
	}
	if err := check.Finality(e.Finality, e.Outcome); err != nil {
		return err
	}
	if err := checkHint(s, e); err != nil {
		return err
	}
	speech, err := check.Message(e.Payload)
	if err != nil {
		return err
	}
	for _, h := range speech.Refers {
		if _, there := s.Attachments.Find(h); !there {
			return fmt.Errorf("the attachment %.12s was not added to the conversation before", h)
		}
	}
	return checkInSession(s, e, &speech)
}

func errNoPart(id string) error { return fmt.Errorf("%s does not take part in the conversation", id) }

// checkKind refuses a system event that no hub writes on s, the state before it.
// Unknown kinds pass.
func checkKind(s *fold.State, e *parley.Event, sys *parley.System) error {
	authored := sys.Kind == parley.KindNote || sys.Kind == parley.KindAttachmentAdded
	switch {
	case authored && !s.HasParticipant(e.From):
		return errNoPart(e.From)
	case !authored && e.From != parley.HubID:
		return fmt.Errorf("%s is from %s, not from %s", sys.Kind, e.From, parley.HubID)
	}
	if err := check.Key(e.ClientRequestID); err != nil {
		return err
	}
	if err := checkSystemCarries(s, e, sys); err != nil {
		return err
	}
	switch sys.Kind {
	case parley.KindConversationCreated:
		if err := checkSession(s.ID, sys); err != nil {
			return err
		}
		if sys.Workspace != "" && (sys.Session != nil || check.AdapterConversationID(s.ID)) {
			return errors.New("a workspace of a session, or of what an adapter keeps")
		}
		return check.Create(&parley.CreateConversationParams{
			Participants: sys.Participants, Policy: sys.Policy, StartsWith: sys.StartsWith, Limits: sys.Limits, Title: sys.Title, Metadata: sys.Metadata,
			Workspace: sys.Workspace,
		})
	case parley.KindParticipantAdded:
		if s.HasParticipant(sys.Participant.ID) {
			return fmt.Errorf("participant %s has a seat already", sys.Participant.ID)
		}
		if s.Session != nil {
			return errors.New("a participant that was added to a session")
		}
		return check.Participant("participant", *sys.Participant)
	case parley.KindNote:
		return check.Note(&parley.Note{Schema: sys.Schema, Tags: sys.Tags, Data: sys.Data})
	case parley.KindAttachmentAdded:
		return check.Attachment(sys.Name, sys.MediaType)
	case parley.KindTurnClaimed, parley.KindClaimRenewed, parley.KindClaimEnded, parley.KindTurnEnded,
		parley.KindTurnReoffered:
		return checkTurn(s, sys)
	case parley.KindSessionStarted, parley.KindSessionEnded, parley.KindSessionBound:
		return checkChild(s, sys)
	case parley.KindApprovalRequested, parley.KindApprovalDetails, parley.KindApprovalResolved, parley.KindApprovalAnswer:
		return checkApproval(s, e, sys)
	case parley.KindConversationForked:
		return checkForked(sys)
	case parley.KindTriggerMatched:
		return checkMatched(s, e, sys.Trigger)
	case parley.KindTriggerEnded:
		return checkTriggerEnded(sys)
	case parley.KindTokenCreated, parley.KindTokenRevoked, parley.KindRunnerRegistered, parley.KindRunnerLeft:
		return fmt.Errorf("%s in a conversation that is not the hub's own", sys.Kind)
	}
	return nil
}

// checkOwnKind refuses events that do not belong in a reserved conversation of the hub. Such a
// conversation has no participants.
func checkOwnKind(id string, sys *parley.System) error {
	switch {
	case sys.Kind == parley.KindConversationCreated:
		if len(sys.Participants) == 0 && sys.Session == nil && sys.Workspace == "" {
			return nil
		}
	case id == tokensConversation:
		return checkTokenKind(sys)
	case id == runnersConversation:
		return checkRunnerKind(sys)
	}
	return fmt.Errorf("%s does not belong in %s", sys.Kind, id)
}

// checkTokenKind refuses events that are not about a token.
func checkTokenKind(sys *parley.System) error {
	switch sys.Kind {
	case parley.KindTokenCreated:
		if sys.Token != nil {
			return checkGranted(sys.Token.Workspaces)
		}
		return nil
	case parley.KindTokenRevoked:
		return nil
	}
	return fmt.Errorf("%s does not belong in %s", sys.Kind, tokensConversation)
}
