package executors_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// world is a real hub in a bubble.
type world struct {
	*testing.T
	journal *memory.Journal
	hub     *hub.Hub
	admin   parley.Client
}

// inWorld runs a test in a bubble, in which time passes only when all goroutines wait.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, journal: memory.New()}
		w.start()
		t.Cleanup(func() {
			if err := w.hub.Close(); err != nil {
				t.Error(err)
			}
			journaltest.CheckInvariants(t, w.journal)
			if err := w.journal.Close(); err != nil {
				t.Error(err)
			}
		})
		test(w)
	})
}

func (w *world) start() {
	w.Helper()
	var err error
	if w.hub, err = hub.Open(w.journal, &hub.Options{RootToken: "root"}); err != nil {
		w.Fatal(err)
	}
	w.admin = w.client("admin", parley.ScopeAdmin)
}

// restart kills the process of the hub with everything in it, and starts it again.
func (w *world) restart(inside ...*running) {
	w.Helper()
	next := w.journal.Crash()
	_ = w.hub.Close()
	for _, r := range inside {
		if <-r.ended; !errors.Is(r.err, parley.ErrUnavailable) {
			w.Errorf("Run ended with the hub, and with %v", r.err)
		}
	}
	w.journal = next
	w.start()
}

func (w *world) client(id string, scopes ...parley.Scope) parley.Client {
	if len(scopes) == 0 {
		scopes = parley.DefaultScopes
	}
	c := w.hub.Client(w.hub.LocalPrincipal(id, scopes...))
	w.Cleanup(func() { _ = c.Close() })
	return c
}

// agents returns the seats of agents.
func agents(ids ...string) *parley.CreateConversationParams {
	p := &parley.CreateConversationParams{}
	for _, id := range ids {
		p.Participants = append(p.Participants, parley.Participant{ID: id, Kind: parley.KindAgent})
	}
	return p
}

// limited is agents with limits.
func limited(l parley.Limits, ids ...string) *parley.CreateConversationParams {
	p := agents(ids...)
	p.Limits = &l
	return p
}

func (w *world) create(p *parley.CreateConversationParams) string {
	w.Helper()
	s, err := w.admin.CreateConversation(w.Context(), p)
	if err != nil {
		w.Fatal(err)
	}
	return s.ConversationID
}

// running is a call of Run in progress.
type running struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// run runs an agent with a client. It is stopped with the test.
func (w *world) run(c parley.Client, agent parley.Agent, o *executors.Options) *running {
	return w.begin(func(ctx context.Context) error { return executors.Run(ctx, c, agent, o) })
}

func (w *world) begin(run func(ctx context.Context) error) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = run(ctx)
	}()
	w.Cleanup(func() { _ = r.stop() })
	return r
}

// stop stops it and returns its error.
func (r *running) stop() error {
	r.cancel()
	<-r.ended
	return r.err
}

// stopped checks that it drains without an error.
func (w *world) stopped(all ...*running) {
	w.Helper()
	for _, r := range all {
		if err := r.stop(); err != nil {
			w.Errorf("Run ended with %v", err)
		}
	}
}

// closed waits until a conversation is closed.
func (w *world) closed(id string) *parley.Snapshot {
	w.Helper()
	w.await(id, func(*parley.Event) bool { return false })
	s, err := w.admin.GetConversation(w.Context(),
		&parley.GetConversationParams{ConversationID: id, Limit: parley.MaxPage})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// await waits for a matching event, or the end of the conversation.
func (w *world) await(id string, wanted func(*parley.Event) bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
	defer cancel()
	for e, err := range w.admin.Events(ctx, id, 0) {
		if err != nil {
			w.Fatalf("%v, after\n%s", err, strings.Join(w.log(id), "\n"))
		}
		if wanted(&e) {
			return
		}
	}
}

// kind matches system events.
func kind(k string) func(*parley.Event) bool {
	return func(e *parley.Event) bool { return e.Type == parley.TypeSystem && systemOf(e).Kind == k }
}

func systemOf(e *parley.Event) parley.System {
	s, err := e.System()
	if err != nil {
		panic(err)
	}
	return s
}

// log formats a log without values that differ between runs.
func (w *world) log(id string) (lines []string) {
	w.Helper()
	for since := int64(1); ; {
		page, err := w.admin.Tail(w.Context(), &parley.TailParams{ConversationID: id, SinceSeq: since})
		if err != nil {
			w.Fatal(err)
		}
		for i := range page.Events {
			lines = append(lines, line(&page.Events[i]))
		}
		if since = page.NextSeq; since >= page.LatestSeq {
			return lines
		}
	}
}

func line(e *parley.Event) string {
	switch e.Type {
	case parley.TypeMessage:
		m, err := e.Message()
		if err != nil {
			panic(err)
		}
		return fmt.Sprintf("%d %s %s: %s", e.Turn, e.From, e.Finality, m.Text)
	case parley.TypeTrace:
		return fmt.Sprintf("%d %s trace %s", e.Turn, e.From, e.Payload)
	}
	s := systemOf(e)
	switch s.Kind {
	case parley.KindTurnClaimed:
		return fmt.Sprintf("%d %s claimed, attempt %d", s.Turn, s.AgentID, s.Attempt)
	case parley.KindClaimEnded:
		return strings.TrimSpace(fmt.Sprintf("%d ended %s %s", s.Turn, s.Reason, s.Detail))
	case parley.KindTurnEnded:
		return fmt.Sprintf("%d %s %s", s.Turn, s.AgentID, s.Reason)
	}
	return s.Kind
}

// expect compares a log.
func (w *world) expect(id string, want ...string) {
	w.Helper()
	if got := w.log(id); !slices.Equal(got, want) {
		w.Errorf("the log is\n%s\nexpected\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// count counts the lines of a log that contain a text.
func (w *world) count(id, text string) (n int) {
	w.Helper()
	for _, l := range w.log(id) {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

// texts returns the messages that are not withdrawn.
func (w *world) texts(id string) (texts []string) {
	w.Helper()
	turn := parley.Turn{ConversationID: id, Client: w.admin}
	events, err := turn.Messages(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for i := range events {
		m, err := events[i].Message()
		if err != nil {
			w.Fatal(err)
		}
		texts = append(texts, m.Text)
	}
	return texts
}

// say posts a text.
func say(ctx context.Context, turn *parley.Turn, f parley.Finality, text string) error {
	_, err := turn.Post(ctx, parley.Message{Text: text}, f)
	return err
}

// talk posts the number of the turn, and ends the conversation in the last turn; 0 means never.
func talk(last int64) parley.AgentFunc {
	return func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		text := fmt.Sprint(turn.AgentID, " ", turn.Number)
		if turn.Number == last {
			_, err := turn.Complete(ctx, parley.Message{Text: text},
				parley.Outcome{Status: parley.OutcomeCompleted, Reason: "done"})
			return parley.TurnComplete, err
		}
		return parley.TurnPosted, say(ctx, turn, parley.FinalityTurn, text)
	}
}

// script is an agent with a different action for each call. After the last one it closes the
// conversation.
func script(steps ...parley.AgentFunc) parley.AgentFunc {
	var mu sync.Mutex
	calls := 0
	return func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		mu.Lock()
		n := calls
		calls++
		mu.Unlock()
		if n < len(steps) {
			return steps[n](ctx, turn)
		}
		_, err := turn.Complete(ctx, parley.Message{Text: "done"}, parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	}
}

// broken is a client with replacements for some calls.
type broken struct {
	parley.Client
	renew   func(p *parley.RenewClaimParams) (*parley.RenewClaimResult, error)
	send    func(p *parley.SendMessageParams) (*parley.SendResult, error)
	release func(p *parley.ReleaseClaimParams) error
	claim   func(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error)
	again   <-chan []string                    // the registration is repeated with these claims
	tell    <-chan parley.ExecutorNotification // additional notifications
	now     func(ctx context.Context) (time.Time, error)
	present func(ctx context.Context, p *parley.RegisterBlueprintsParams) (*parley.RegisterBlueprintsResult, error)
}

func (b *broken) RegisterExecutor(
	ctx context.Context, p *parley.RegisterExecutorParams, holding func() []string,
) iter.Seq2[parley.ExecutorNotification, error] {
	all := b.Client.RegisterExecutor(ctx, p, holding)
	if b.again == nil && b.tell == nil {
		return all
	}
	return func(yield func(parley.ExecutorNotification, error) bool) {
		told := make(chan parley.ExecutorNotification)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			defer close(told)
			for n, err := range all {
				if err != nil {
					return
				}
				select {
				case told <- n:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case n, ok := <-told:
				if !ok || !yield(n, nil) {
					return
				}
			case stand := <-b.again:
				holding()
				if !yield(parley.ExecutorNotification{Registered: &parley.RegisterExecutorResult{Holding: stand}}, nil) {
					return
				}
			case n := <-b.tell:
				if !yield(n, nil) {
					return
				}
			case <-ctx.Done():
				yield(parley.ExecutorNotification{}, ctx.Err())
				return
			}
		}
	}
}

func (b *broken) RenewClaim(ctx context.Context, p *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
	if b.renew != nil {
		return b.renew(p)
	}
	return b.Client.RenewClaim(ctx, p)
}

func (b *broken) SendMessage(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	if b.send != nil {
		return b.send(p)
	}
	return b.Client.SendMessage(ctx, p)
}

func (b *broken) ReleaseClaim(ctx context.Context, p *parley.ReleaseClaimParams) error {
	if b.release != nil {
		return b.release(p)
	}
	return b.Client.ReleaseClaim(ctx, p)
}

func (b *broken) ClaimTurn(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
	if b.claim != nil {
		return b.claim(ctx, p)
	}
	return b.Client.ClaimTurn(ctx, p)
}

func (b *broken) Now(ctx context.Context) (time.Time, error) {
	if b.now != nil {
		return b.now(ctx)
	}
	return b.Client.Now(ctx)
}

func (b *broken) RegisterBlueprints(ctx context.Context, p *parley.RegisterBlueprintsParams) (
	*parley.RegisterBlueprintsResult, error) {
	if b.present != nil {
		return b.present(ctx, p)
	}
	return b.Client.RegisterBlueprints(ctx, p)
}
