package sdk_test

import (
	"testing"

	"github.com/parleyhub/parley"
)

// TestContractNilParams: calls without params are refused or answered, and never panic.
func TestContractNilParams(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		ctx, admin := t.Context(), s.door.client(t, s.hub, "admin", parley.ScopeAdmin)
		refused := func(method string, err error) {
			t.Helper()
			if err == nil {
				t.Errorf("%s of nothing is answered", method)
			}
		}
		_, err := s.a.CreateConversation(ctx, nil)
		refused("createConversation", err)
		_, err = s.a.GetConversation(ctx, nil)
		refused("getConversation", err)
		_, err = s.a.AddParticipant(ctx, nil)
		refused("addParticipant", err)
		_, err = s.a.CloseConversation(ctx, nil)
		refused("closeConversation", err)
		_, err = s.a.ForkConversation(ctx, nil)
		refused("forkConversation", err)
		_, err = s.a.Tail(ctx, nil)
		refused("tail", err)
		_, err = s.a.WaitForChange(ctx, nil)
		refused("waitForChange", err)
		_, err = s.a.GetUpdates(ctx, nil)
		refused("getUpdates", err)
		_, err = s.a.GetGuidance(ctx, nil)
		refused("getGuidance", err)
		_, err = s.a.Explain(ctx, nil)
		refused("explain", err)
		_, err = s.a.SendMessage(ctx, nil)
		refused("sendMessage", err)
		_, err = s.a.SendTrace(ctx, nil)
		refused("sendTrace", err)
		_, err = s.a.SendNote(ctx, nil)
		refused("sendNote", err)
		refused("sendDelta", s.a.SendDelta(ctx, nil))
		_, err = s.a.PutAttachment(ctx, nil)
		refused("putAttachment", err)
		_, err = s.a.GetAttachment(ctx, nil)
		refused("getAttachment", err)
		_, err = s.a.ClaimTurn(ctx, nil)
		refused("claimTurn", err)
		_, err = s.a.RenewClaim(ctx, nil)
		refused("renewClaim", err)
		refused("releaseClaim", s.a.ReleaseClaim(ctx, nil))
		_, err = s.a.CancelTurn(ctx, nil)
		refused("cancelTurn", err)
		_, err = s.a.GetContext(ctx, nil)
		refused("getContext", err)
		_, err = s.a.ExplainTriggers(ctx, nil)
		refused("explainTriggers", err)
		_, err = s.a.CreateToken(ctx, nil)
		refused("createToken", err)
		_, err = s.a.RevokeToken(ctx, nil)
		refused("revokeToken", err)
		_, err = s.a.RegisterBlueprints(ctx, nil)
		refused("registerBlueprints", err)
		_, err = s.a.StartSession(ctx, nil)
		refused("startSession", err)
		_, err = s.a.GetSession(ctx, nil)
		refused("getSession", err)
		_, err = s.a.StopSession(ctx, nil)
		refused("stopSession", err)
		_, err = s.a.RequestApproval(ctx, nil)
		refused("requestApproval", err)
		_, err = s.a.GetApproval(ctx, nil)
		refused("getApproval", err)
		_, err = s.person().ResolveApproval(ctx, nil)
		refused("resolveApproval", err)
		if _, err := s.a.ListApprovals(ctx, nil); err != nil {
			t.Error(err)
		}
		for _, err := range s.a.RegisterExecutor(ctx, nil, nil) {
			refused("registerExecutor", err)
		}
		for _, err := range s.a.Subscribe(ctx, nil) {
			refused("subscribe", err)
		}
		if _, err := s.a.ListConversations(ctx, nil); err != nil {
			t.Error(err)
		}
		if _, err := s.a.WatchConversations(ctx, nil); err != nil {
			t.Error(err)
		}
		if _, err := s.a.ListAgents(ctx, nil); err != nil {
			t.Error(err)
		}
		if _, err := s.a.ListTokens(ctx, nil); err != nil {
			t.Error(err)
		}
		if _, err := admin.Stats(ctx, nil); err != nil {
			t.Error(err)
		}
	})
}
