package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/internal/spannames"
	"github.com/parleyhub/parley/internal/telemetry/telemetrytest"
	"github.com/parleyhub/parley/sdk"
)

// contentKeys are the attributes that docs/reference/spans.md calls content.
var contentKeys = []string{
	spannames.AttrGenAISystemInstructions, spannames.AttrGenAIInputMessages, spannames.AttrGenAIOutputMessages,
	spannames.AttrGenAIToolCallArguments, spannames.AttrGenAIToolCallResult,
}

// TestCanary: no content of people, agents, tools or callers, and no secret, is exported. If
// content is enabled, it is in its attributes only, and tokens are not even there.
func TestCanary(t *testing.T) {
	t.Parallel()
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprint("content ", content), func(t *testing.T) {
			c := telemetrytest.New(t)
			args := []string{"--otlp-endpoint", c.URL}
			if content {
				args = append(args, "--otlp-content")
			}
			h := newFrontHub(t, []string{"OTEL_EXPORTER_OTLP_HEADERS=x-key=canary-header"}, args...)
			h.start(clitest.OpenMCPSession(t, h.origin(), frontToken, "2026-07-28"), clientTrace)
			h.send(`,"metadata":{"traceparent":"`+clientTrace+`","tracestate":"vendor=canary-state","k":"canary-metadata"}`, "")
			h.sayCanaries()
			clitest.Terminate(t, h.cmd)
			found := false
			for _, s := range c.Spans() {
				for key, value := range s.Attributes {
					text := fmt.Sprint(key, value)
					has := strings.Contains(text, "canary")
					found = found || has
					if has && !(content && slices.Contains(contentKeys, key)) || strings.Contains(text, frontToken) ||
						strings.Contains(text, "canary-header") {
						t.Errorf("%s tells %s", s.Name, text)
					}
				}
				if strings.Contains(s.Name, "canary") {
					t.Errorf("a span is called %s", s.Name)
				}
			}
			if found != content {
				t.Errorf("content was told: %v", found)
			}
			if rest := fmt.Sprint(c.Resource(), c.Metrics()); strings.Contains(rest, "canary") {
				t.Errorf("resource and metrics tell %s", rest)
			}
		})
	}
}

// sayCanaries sends private content in every other way: titles, metadata, private texts, notes,
// traces, reasons, comments, keys and unknown names.
func (h *frontHub) sayCanaries() {
	h.Helper()
	ctx, cancel := context.WithTimeout(parley.WithTraceparent(h.Context(), clientTrace), clitest.Patience)
	defer cancel()
	client, err := sdk.Dial(ctx, h.first.URL,
		&sdk.Options{Token: frontToken, AgentID: "admin", ClientName: "canary-client"})
	if err != nil {
		h.Fatal(err)
	}
	defer client.Close()
	made, err := client.CreateConversation(ctx, &parley.CreateConversationParams{
		Title: "canary-title", Metadata: []byte(`{"k":"canary-metadata"}`), ClientRequestID: "canary-key",
		Participants: []parley.Participant{{ID: "admin", Kind: parley.KindHuman, Private: "canary-private",
			Role: "canary-role"}, {ID: "bot", Kind: parley.KindAgent}},
	})
	if err != nil {
		h.Fatal(err)
	}
	id := made.ConversationID
	_, err = client.SendTrace(ctx, &parley.SendTraceParams{ConversationID: id, Payload: []byte(`{"kind":"canary-kind"}`)})
	must(h.T, err)
	_, err = client.SendNote(ctx,
		&parley.SendNoteParams{ConversationID: id,
			Payload: parley.Note{Schema: "canary-schema", Tags: []string{"canary-tag"}, Data: []byte(`"canary-data"`)}})
	must(h.T, err)
	_, err = client.SendMessage(ctx,
		&parley.SendMessageParams{ConversationID: id, Payload: []byte(`{"text":"canary-text"}`),
			Finality: parley.FinalityTurn})
	must(h.T, err)
	lent, err := client.CreateToken(ctx, &parley.CreateTokenParams{AgentID: "bot"})
	must(h.T, err)
	bot, err := sdk.Dial(ctx, h.first.URL, &sdk.Options{Token: lent.Token, AgentID: "bot"})
	must(h.T, err)
	defer bot.Close()
	_, err = bot.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: id, Turn: 2})
	must(h.T, err)
	asked, err := bot.RequestApproval(ctx, &parley.RequestApprovalParams{
		ConversationID: id, Key: "canary-key", Title: "canary-title", Details: []byte(`{"x":"canary-asked"}`),
		AnswerSchema: []byte(`{"description":"canary-schema"}`),
	})
	must(h.T, err)
	_, err = client.ResolveApproval(ctx, &parley.ResolveApprovalParams{
		ApprovalID: asked.ApprovalID, Decision: parley.DecisionApproved, Answer: []byte(`{"x":"canary-answer"}`),
		Comment: "canary-comment",
	})
	must(h.T, err)
	_, err = client.ForkConversation(ctx, &parley.ForkConversationParams{ConversationID: id, Seq: 2, Title: "canary-fork"})
	must(h.T, err)
	for name, call := range map[string]func() error{
		"session": func() error {
			_, err := client.StartSession(ctx, &parley.StartSessionParams{AgentName: "canary-agent", Prompt: "canary-prompt"})
			return err
		},
		"message": func() error {
			_, err := client.SendMessage(ctx,
				&parley.SendMessageParams{ConversationID: "canary conversation", Payload: []byte(`{"text":"canary"}`),
					Finality: parley.FinalityTurn})
			return err
		},
	} {
		if call() == nil {
			h.Errorf("%s was not refused", name)
		}
	}
	_, err = bot.SendMessage(ctx,
		&parley.SendMessageParams{ConversationID: id, Payload: []byte(`{"text":"canary-text"}`),
			Finality: parley.FinalityConversation})
	must(h.T, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
