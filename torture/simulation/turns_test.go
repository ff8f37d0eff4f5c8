package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// drive is the human of a round: it speaks when it may, and now and then cancels a turn that takes
// too long.
func (w *world) drive(c parley.Client, conversation string) {
	r := w.random("driver " + conversation)
	seq := int64(0)
	for count := 1; w.pause(between(r, 0, w.plan.pace)); {
		begin := w.stamps.Add(1)
		ctx, cancel := context.WithTimeout(w.bounded, 20*time.Second)
		u, err := c.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: conversation, SinceSeq: seq,
			Until: parley.UntilMyTurn, TimeoutMs: 4000, Limit: 50})
		cancel()
		if err != nil {
			continue
		}
		w.hears(conversation, begin, u.LatestSeq)
		w.guided(told{conversation: conversation, who: "d", how: "getUpdates", seq: u.LatestSeq, guidance: u.Guidance})
		seq = u.NextSeq
		if u.Guidance.Kind == parley.MaySpeak {
			w.speak(c, saying{conversation: conversation, from: "d", text: fmt.Sprintf("d.%s.%d", conversation, count)},
				parley.FinalityTurn, u.Guidance.Turn)
			count++
		} else if u.TimedOut && r.IntN(2) == 0 {
			_, err := c.CancelTurn(w.bounded, &parley.CancelTurnParams{ConversationID: conversation, Turn: u.Guidance.Turn})
			w.note("d cancels turn %d of %s: %v", u.Guidance.Turn, conversation, err)
		}
	}
}

// speak says something in a turn, under the claim that s names.
func (w *world) speak(c parley.Client, s saying, f parley.Finality, turn int64) error {
	s.key = "key." + s.text
	q := words{saying: s, finality: f}.params().(*parley.SendMessageParams)
	q.Turn, q.ClaimID = turn, s.claim
	if s.from == "d" && policyOf(s.conversation) == parley.PolicyAddressed && turn%2 == 1 { // else no one is named
		q.TurnHint = &parley.TurnHint{Next: "a"}
	}
	ctx, cancel := context.WithTimeout(w.bounded, 5*time.Second)
	defer cancel()
	answered := w.says(s)
	r, err := c.SendMessage(ctx, q)
	answered(sent(r, err))
	return err
}

// executor runs the agent a: it takes turns that it is offered, and some that it finds.
type executor struct {
	*world
	name string
	c    parley.Client
	jobs sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	random  *rand.Rand
	holding map[string]bool
	count   int
}

func (w *world) executor(name string, c parley.Client) *executor {
	return &executor{world: w, name: name, c: c, random: w.random(name), holding: make(map[string]bool)}
}

func (x *executor) run() {
	ctx, cancel := context.WithCancel(x.bounded)
	defer cancel()
	x.jobs.Go(func() {
		<-x.ended
		cancel()
	})
	for i := range rounds {
		x.jobs.Go(func() { x.look(roundOf(i)) })
	}
	p := &parley.RegisterExecutorParams{ExecutorID: x.name, Agents: []string{"a"}, Mode: parley.ModePush, Capacity: 4,
		GraceMs: 500}
	for n, err := range x.c.RegisterExecutor(ctx, p, x.held) {
		if err != nil && !x.isOver() {
			x.problem(noPromise, "%s is no executor any more: %v", x.name, err)
		}
		if o := n.RequestTurn; o != nil && !x.isOver() {
			x.jobs.Go(func() { x.take(o.ConversationID, o.ClaimID, o.Turn) })
		}
	}
	x.jobs.Wait()
}

// draw returns the next number of what it draws from.
func (x *executor) draw(n int) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.random.IntN(n)
}

func (x *executor) held() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var ids []string
	for id := range x.holding {
		ids = append(ids, id)
	}
	return ids
}

func (x *executor) hold(id string, holds bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if delete(x.holding, id); holds {
		x.holding[id] = true
	}
}

// look finds a turn by itself now and then.
func (x *executor) look(conversation string) {
	for x.pause(time.Duration(x.draw(2000)) * time.Millisecond) {
		begin := x.stamps.Add(1)
		ctx, cancel := context.WithTimeout(x.bounded, 5*time.Second)
		g, err := x.c.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: conversation})
		cancel()
		if err != nil {
			continue
		}
		x.hears(conversation, begin, g.LatestSeq)
		x.guided(told{conversation: conversation, who: "a", how: "getGuidance", seq: g.LatestSeq, guidance: g.Guidance})
		if g.Guidance.Kind == parley.MaySpeak && g.Guidance.Claim == nil {
			x.take(conversation, "", g.Guidance.Turn)
		}
	}
}

// take takes a turn, and does something with it.
func (x *executor) take(conversation, id string, turn int64) {
	x.pause(time.Duration(x.draw(30)) * time.Millisecond)
	q := &parley.ClaimTurnParams{ConversationID: conversation, ClaimID: id}
	if id == "" {
		q.Turn = turn
	} else {
		x.hold(id, true)
	}
	ctx, cancel := context.WithTimeout(x.bounded, 5*time.Second)
	r, err := x.c.ClaimTurn(ctx, q)
	cancel()
	x.note("%s claims turn %d of %s: %v", x.name, turn, conversation, err)
	if err != nil {
		x.hold(id, false)
		return
	}
	x.history.mu.Lock()
	x.claims = append(x.claims, claiming{conversation, r.ClaimID, r.Turn})
	x.history.mu.Unlock()
	x.hold(r.ClaimID, true)
	x.work(conversation, r.ClaimID, r.Turn)
	x.hold(r.ClaimID, false)
}

// work is what an agent makes of a turn.
func (x *executor) work(conversation, claim string, turn int64) {
	for range x.draw(3) {
		if x.say(conversation, claim, turn, parley.FinalityNone) != nil {
			break
		}
		x.pause(time.Duration(x.draw(50)) * time.Millisecond)
	}
	release := func(o parley.ReleaseOutcome) {
		ctx, cancel := context.WithTimeout(x.bounded, 5*time.Second)
		defer cancel()
		err := x.c.ReleaseClaim(ctx, &parley.ReleaseClaimParams{ConversationID: conversation, ClaimID: claim, Outcome: o})
		x.note("%s releases turn %d of %s, %s: %v", x.name, turn, conversation, o, err)
	}
	switch x.draw(10) {
	case 0:
		release(parley.ReleaseYield)
	case 1:
		release(parley.ReleaseDecline)
	case 2:
		release(parley.ReleaseSilent)
	case 3: // it hangs, and speaks when its claim is over
		x.pause(x.plan.turns + 50*time.Millisecond)
		_ = x.say(conversation, claim, turn, parley.FinalityTurn)
	case 4:
		x.pause(x.plan.turns * 2 / 3)
		ctx, cancel := context.WithTimeout(x.bounded, 5*time.Second)
		_, err := x.c.RenewClaim(ctx, &parley.RenewClaimParams{ConversationID: conversation, ClaimID: claim})
		cancel()
		x.note("%s renews turn %d of %s: %v", x.name, turn, conversation, err)
		fallthrough
	default:
		_ = x.say(conversation, claim, turn, parley.FinalityTurn)
	}
}

func (x *executor) say(conversation, claim string, turn int64, f parley.Finality) error {
	x.mu.Lock()
	x.count++
	text := fmt.Sprintf("%s.%s.%d", x.name, conversation, x.count)
	x.mu.Unlock()
	return x.speak(x.c, saying{conversation: conversation, from: "a", text: text, claim: claim}, f, turn)
}
