package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// The examples use a hub in the same process, with its log in memory. With sdk.Dial they are the same.

// openHub opens a hub. The examples call closeHub at their end.
func openHub() (h *hub.Hub, closeHub func()) {
	j := memory.New()
	h, err := hub.Open(j, nil)
	check(err)
	return h, func() {
		check(h.Close())
		check(j.Close())
	}
}

// connect returns a client that speaks as id.
func connect(h *hub.Hub, id string, scopes ...parley.Scope) parley.Client {
	return h.Client(h.LocalPrincipal(id, scopes...))
}

// runAgent runs an agent until stop is called.
func runAgent(h *hub.Hub, id string, agent parley.AgentFunc) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- executors.Run(ctx, connect(h, id), agent, nil) }()
	return func() {
		cancel()
		check(<-ended)
	}
}

// create creates a conversation of ann, a human, and an agent. It returns its id.
func create(c parley.Client, agent string) string {
	s, err := c.CreateConversation(context.Background(), &parley.CreateConversationParams{
		Participants: []parley.Participant{
			{ID: "ann", Kind: parley.KindHuman},
			{ID: agent, Kind: parley.KindAgent},
		},
	})
	check(err)
	return s.ConversationID
}

// send posts a message of one line of text.
func send(c parley.Client, conversation, text string, finality parley.Finality) {
	payload, err := json.Marshal(parley.Message{Text: text})
	check(err)
	_, err = c.SendMessage(context.Background(), &parley.SendMessageParams{
		ConversationID: conversation, Payload: payload, Finality: finality,
	})
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A human asks an agent. The agent closes the conversation with its answer.
func Example() {
	h, closeHub := openHub()
	defer closeHub()
	stop := runAgent(h, "counter", func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		updates, err := turn.Updates(ctx)
		if err != nil {
			return "", err
		}
		answer := parley.Message{Text: fmt.Sprintf("I read %d message.", len(updates.Messages))}
		_, err = turn.Complete(ctx, answer, parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	})
	defer stop()

	ann := connect(h, "ann")
	id := create(ann, "counter")
	send(ann, id, "How many messages are there?", parley.FinalityTurn)
	for event, err := range ann.Events(context.Background(), id, 0) {
		check(err)
		if event.Type == parley.TypeMessage {
			m, err := event.Message()
			check(err)
			fmt.Printf("%s: %s\n", event.From, m.Text)
		}
	}
	// Output:
	// ann: How many messages are there?
	// counter: I read 1 message.
}

// An agent in Go inside the process of the hub. Another process runs the same agent with sdk.Run.
func ExampleAgentFunc() {
	h, closeHub := openHub()
	defer closeHub()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	shout := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		messages, err := turn.Messages(ctx)
		if err != nil {
			return "", err
		}
		last, err := messages[len(messages)-1].Message()
		if err != nil {
			return "", err
		}
		_, err = turn.Post(ctx, parley.Message{Text: strings.ToUpper(last.Text)}, parley.FinalityTurn)
		return parley.TurnPosted, err
	})
	inside := executors.Internal(h.Client(h.LocalPrincipal("shout")), shout, nil)
	go func() { ended <- inside.Run(ctx) }()

	ann := connect(h, "ann")
	id := create(ann, "shout")
	send(ann, id, "hello", parley.FinalityTurn)
	updates, err := ann.GetUpdates(ctx, &parley.GetUpdatesParams{
		ConversationID: id, Until: parley.UntilMyTurn, TimeoutMs: parley.MaxWaitMs,
	})
	check(err)
	for _, event := range updates.Messages {
		fmt.Println(event.From, string(event.Payload))
	}
	cancel()
	check(<-ended)
	// Output:
	// ann {"text":"hello"}
	// shout {"text":"HELLO"}
}

// Events yields the events of a conversation until it is closed.
func ExampleClient_events() {
	h, closeHub := openHub()
	defer closeHub()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	send(ann, id, "one", parley.FinalityNone)
	send(ann, id, "two", parley.FinalityConversation)

	for event, err := range ann.Events(context.Background(), id, 0) {
		check(err)
		fmt.Println(event.Seq, event.From, event.Type)
	}
	// Output:
	// 1 hub system
	// 2 ann message
	// 3 ann message
}

// A page of the conversations of the caller. NextCursor leads to the next page.
func ExampleClient_listConversations() {
	h, closeHub := openHub()
	defer closeHub()
	ann := connect(h, "ann")
	for _, title := range []string{"Invoice 7", "Invoice 8", "Delivery"} {
		_, err := ann.CreateConversation(context.Background(), &parley.CreateConversationParams{
			Title: title, Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
		})
		check(err)
	}
	params := &parley.ListConversationsParams{Text: "invoice", Newest: true, Limit: 1}
	for {
		page, err := ann.ListConversations(context.Background(), params)
		check(err)
		for _, c := range page.Conversations {
			fmt.Println(c.Title, c.Status)
		}
		if params.Cursor = page.NextCursor; params.Cursor == "" {
			break
		}
	}
	// Output:
	// Invoice 8 active
	// Invoice 7 active
}

// A reader of all conversations of a participant waits for changes with the cursor of the call before.
func ExampleClient_watchConversations() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	now, err := ann.WatchConversations(ctx, &parley.WatchConversationsParams{})
	check(err)

	send(ann, id, "hello", parley.FinalityTurn)
	changed, err := ann.WatchConversations(ctx, &parley.WatchConversationsParams{
		Cursor: now.Cursor, TimeoutMs: parley.MaxWaitMs,
	})
	check(err)
	for _, c := range changed.Conversations {
		fmt.Println(c.ConversationID == id, c.LatestSeq, c.Floor.Speaker)
	}
	// Output:
	// true 2 bot
}

// A token for one participant and one conversation, which can read and write for an hour.
func ExampleClient_createToken() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	admin := connect(h, "admin", parley.ScopeAdmin)
	id := create(admin, "bot")
	token, err := admin.CreateToken(ctx, &parley.CreateTokenParams{
		AgentID: "ann", Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeWrite},
		Conversations: []string{id}, ExpiresInMs: 3600 * 1000,
	})
	check(err)

	principal, err := h.Authenticate(ctx, token.Token, "")
	check(err)
	ann := h.Client(principal)
	send(ann, id, "hello", parley.FinalityTurn)
	_, err = ann.CreateConversation(ctx, &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
	})
	fmt.Println(errors.Is(err, parley.ErrForbidden))
	// Output:
	// true
}

// A note is a system event that a participant posts at any time, also while another one has the floor.
func ExampleClient_sendNote() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	bot := connect(h, "bot")
	noted, err := bot.SendNote(ctx, &parley.SendNoteParams{
		ConversationID: id,
		Payload:        parley.Note{Schema: "order.created.v1", Tags: []string{"order"}, Data: json.RawMessage(`{"total":42}`)},
	})
	check(err)

	explained, err := ann.ExplainTriggers(ctx, &parley.ExplainTriggersParams{ConversationID: id, Seq: noted.Seq})
	check(err)
	fmt.Println("seq", noted.Seq)
	for _, agent := range explained.Agents {
		fmt.Println(agent.Agent, "triggered:", agent.Woken)
	}
	// Output:
	// seq 2
	// bot triggered: false
}

// A live subscriber receives deltas, which are parts of a message that its author is still writing.
func ExampleClient_sendDelta() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	for n, err := range connect(h, "bot").Subscribe(ctx, &parley.SubscribeParams{ConversationID: id}) {
		check(err)
		switch {
		case n.CaughtUp != nil: // from here on the subscription is live
			check(ann.SendDelta(ctx, &parley.SendDeltaParams{ConversationID: id, Turn: 1, Index: 0, Text: "Hel"}))
			check(ann.SendDelta(ctx, &parley.SendDeltaParams{ConversationID: id, Turn: 1, Index: 1, Text: "lo"}))
			send(ann, id, "Hello", parley.FinalityConversation)
		case n.Delta != nil:
			fmt.Println("delta", n.Delta.Index, n.Delta.Text)
		case n.Event != nil && n.Event.Type == parley.TypeMessage:
			fmt.Println("message", string(n.Event.Payload))
		}
		if n.Event != nil && n.Event.Closes() {
			break
		}
	}
	// Output:
	// delta 0 Hel
	// delta 1 lo
	// message {"text":"Hello"}
}

// A fork starts with the events of another conversation up to a seq. Here it tries another answer.
func ExampleClient_forkConversation() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	send(ann, id, "Pick a color.", parley.FinalityTurn) // seq 2
	send(connect(h, "bot"), id, "Red.", parley.FinalityTurn)

	fork, err := ann.ForkConversation(ctx, &parley.ForkConversationParams{ConversationID: id, Seq: 2})
	check(err)
	send(connect(h, "bot"), fork.ConversationID, "Blue.", parley.FinalityTurn)
	updates, err := ann.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: fork.ConversationID})
	check(err)
	for _, event := range updates.Messages {
		fmt.Println(event.Seq, string(event.Payload))
	}
	// Output:
	// 2 {"text":"Pick a color."}
	// 4 {"text":"Blue."}
}

// Tail returns the log in pages. The events contain all state, so that a program can replay them.
func ExampleClient_tail() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	send(ann, id, "Hello", parley.FinalityTurn)
	send(connect(h, "bot"), id, "Good day", parley.FinalityConversation)

	turns := map[string]int{}
	for since := int64(0); ; {
		page, err := ann.Tail(ctx, &parley.TailParams{ConversationID: id, SinceSeq: since, Limit: 2})
		check(err)
		for _, event := range page.Events {
			if event.Type == parley.TypeMessage && event.Finality.Final() {
				turns[event.From]++
			}
		}
		if since = page.NextSeq; since >= page.LatestSeq {
			break
		}
	}
	fmt.Println(turns)
	// Output:
	// map[ann:1 bot:1]
}

// A policy of rules decides which participant is next. The rules are expressions in CEL.
func ExamplePolicy() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	nurse := connect(h, "nurse")
	s, err := nurse.CreateConversation(ctx, &parley.CreateConversationParams{
		Participants: []parley.Participant{
			{ID: "nurse", Kind: parley.KindPeer}, {ID: "desk", Kind: parley.KindPeer}, {ID: "doctor", Kind: parley.KindPeer},
		},
		Policy: &parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{
			{When: `last.text.contains("urgent")`, Next: "doctor"},
			{When: `true`, Next: "desk"},
		}},
	})
	check(err)
	send(nurse, s.ConversationID, "This is urgent.", parley.FinalityTurn)
	g, err := nurse.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: s.ConversationID})
	check(err)
	fmt.Println(g.Guidance.Kind, g.Guidance.Speaker)
	// Output:
	// wait doctor
}

// Guidance reports whether a participant may speak. Explain has the guidance of all participants.
func ExampleClient_explain() {
	h, closeHub := openHub()
	defer closeHub()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	explained, err := ann.Explain(context.Background(), &parley.ExplainParams{ConversationID: id})
	check(err)
	for _, g := range explained.Guidance {
		fmt.Println(g.ParticipantID, g.Guidance.Kind)
	}
	// Output:
	// ann may_speak
	// bot wait
}

// An agent asks before it acts. A human with the scope approve answers.
func ExampleTurn_Approve() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	stop := runAgent(h, "cashier", func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		approval, err := turn.Approve(ctx, &parley.RequestApprovalParams{
			Key: "refund-7", Title: "Refund order 7?", Details: json.RawMessage(`{"amount":120}`),
		})
		if err != nil {
			return "", err
		}
		text := "The refund was not approved."
		if approval.Status == parley.ApprovalApproved {
			text = "Order 7 is refunded."
		}
		_, err = turn.Post(ctx, parley.Message{Text: text}, parley.FinalityTurn)
		return parley.TurnPosted, err
	})
	defer stop()

	ann := connect(h, "ann", parley.ScopeRead, parley.ScopeWrite, parley.ScopeCreate, parley.ScopeApprove)
	id := create(ann, "cashier")
	send(ann, id, "Please refund order 7.", parley.FinalityTurn)
	for event, err := range ann.Events(ctx, id, 0) {
		check(err)
		switch event.Type {
		case parley.TypeSystem:
			s, err := event.System()
			check(err)
			if s.Kind == parley.KindApprovalRequested {
				fmt.Println(s.Approval.Title)
				_, err := ann.ResolveApproval(ctx, &parley.ResolveApprovalParams{
					ApprovalID: s.Approval.ApprovalID, Decision: parley.DecisionApproved,
				})
				check(err)
			}
		case parley.TypeMessage:
			fmt.Println(event.From, string(event.Payload))
		}
		if event.From == "cashier" && event.Finality.Final() {
			break
		}
	}
	// Output:
	// ann {"text":"Please refund order 7."}
	// Refund order 7?
	// cashier {"text":"Order 7 is refunded."}
}

// An agent uses another agent. The session starts it with a prompt and returns its result.
func ExampleTurn_StartSession() {
	h, closeHub := openHub()
	defer closeHub()
	stopTranslator := runAgent(h, "translator", func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		_, err := turn.Complete(ctx, parley.Message{Text: "Guten Tag"}, parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	})
	defer stopTranslator()
	remove, err := h.RegisterAgent(parley.AgentInfo{Name: "translator", Type: parley.AgentTypeAgent})
	check(err)
	defer remove()
	stop := runAgent(h, "bot", func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		session, err := turn.StartSession(ctx, &parley.StartSessionParams{
			AgentName: "translator", Prompt: "Translate to German: Good day",
		})
		if err != nil {
			return "", err
		}
		text := fmt.Sprintf("The translator %s: %s", session.Status, *session.Result.ResultText)
		_, err = turn.Post(ctx, parley.Message{Text: text}, parley.FinalityTurn)
		return parley.TurnPosted, err
	})
	defer stop()

	ann := connect(h, "ann")
	id := create(ann, "bot")
	send(ann, id, "What is good day in German?", parley.FinalityTurn)
	updates, err := ann.GetUpdates(context.Background(), &parley.GetUpdatesParams{
		ConversationID: id, SinceSeq: 2, Until: parley.UntilMyTurn, TimeoutMs: parley.MaxWaitMs,
	})
	check(err)
	for _, event := range updates.Messages {
		fmt.Println(string(event.Payload))
	}
	// Output:
	// {"text":"The translator completed: Guten Tag"}
}

// An agent adds a file to its message. A reader fetches the file by its hash.
func ExampleTurn_Attach() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	stop := runAgent(h, "reporter", func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		file, err := turn.Attach(ctx, "report.csv", "text/csv", []byte("day,sales\nmonday,7\n"))
		if err != nil {
			return "", err
		}
		_, err = turn.Post(ctx, parley.Message{Text: "Done.", Attachments: []parley.Attachment{file}}, parley.FinalityTurn)
		return parley.TurnPosted, err
	})
	defer stop()

	ann := connect(h, "ann")
	id := create(ann, "reporter")
	send(ann, id, "Please send the report.", parley.FinalityTurn)
	updates, err := ann.GetUpdates(ctx, &parley.GetUpdatesParams{
		ConversationID: id, SinceSeq: 2, Until: parley.UntilMyTurn, TimeoutMs: parley.MaxWaitMs,
	})
	check(err)
	m, err := updates.Messages[0].Message()
	check(err)
	content, err := io.ReadAll(parley.ReadAttachment(ctx, ann, id, m.Attachments[0].SHA256))
	check(err)
	fmt.Printf("%s\n%s", m.Attachments[0].Name, content)
	// Output:
	// report.csv
	// day,sales
	// monday,7
}

// A refusal has a sentinel and, if the turn is the reason, the guidance of the caller.
func ExampleError() {
	h, closeHub := openHub()
	defer closeHub()
	ann := connect(h, "ann")
	id := create(ann, "bot")
	_, err := connect(h, "bot").SendMessage(context.Background(), &parley.SendMessageParams{
		ConversationID: id, Payload: json.RawMessage(`{"text":"me first"}`), Finality: parley.FinalityTurn,
	})
	var refusal *parley.Error
	if errors.Is(err, parley.ErrNotYourTurn) && errors.As(err, &refusal) {
		fmt.Println("wait for", refusal.Guidance.Speaker)
	}
	// Output:
	// wait for ann
}

// A write with the same key is done once. A caller repeats it if the outcome is unknown.
func ExampleClient_sendMessage() {
	h, closeHub := openHub()
	defer closeHub()
	ctx := context.Background()
	ann := connect(h, "ann")
	params := &parley.SendMessageParams{
		ConversationID: create(ann, "bot"), Payload: json.RawMessage(`{"text":"hello"}`),
		Finality: parley.FinalityTurn, ClientRequestID: "order-7",
	}
	first, err := ann.SendMessage(ctx, params)
	check(err)
	second, err := ann.SendMessage(ctx, params)
	check(err)
	fmt.Println(first.Seq == second.Seq, second.Duplicate)
	// Output:
	// true true
}

// ParseSubscriptions reports all errors with their paths.
func ExampleParseSubscriptions() {
	s, _ := parley.ParseSubscriptions(json.RawMessage(`{"selectors":[
		{"schema_name":"order.created.v1","any_tags":["order"]},
		{"schema_name":"customer.v1","role":"context","fetch":"latest"}]}`))
	for _, selector := range s.Selectors {
		fmt.Println(selector.Trigger(), selector.ContextKey())
	}
	_, faults := parley.ParseSubscriptions(json.RawMessage(`{"selectors":[{"role":"listener"}]}`))
	for _, f := range faults {
		fmt.Println(f.Path, f.Message)
	}
	// Output:
	// true order_created
	// false customer
	// $.selectors[0].role expected trigger or context
}

// ParseAgentConfig reads the configuration of an LLM agent, and reports all errors with their paths.
func ExampleParseAgentConfig() {
	config, _ := parley.ParseAgentConfig(json.RawMessage(`{"model":"openai:gpt-4o","allow_parallel_subagents":true}`))
	fmt.Println(config.Model, config.Subagents())
	_, faults := parley.ParseAgentConfig(json.RawMessage(`{"model":"openai:gpt-4o","max_steps":1000}`))
	for _, f := range faults {
		fmt.Println(f.Path, f.Message)
	}
	// Output:
	// openai:gpt-4o 3
	// $.max_steps expected 1 to 100
}
