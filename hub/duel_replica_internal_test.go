package hub

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// replica is one executor of the agent a, with its habits.
type replica struct {
	*duel
	name   string
	habits []act
	pull   bool // it looks for turns by itself, too
	// orderly replicas work on one turn of a conversation at a time. Then a call without a claim is
	// under the one of its connection.
	orderly bool
	random  *rand.Rand
	move    chan struct{} // one slot: it shall go to the other hub

	mu      sync.Mutex // guards the fields below
	line    *route
	holding map[string]bool // the claims that it continues
	life    int             // how often its process was started
	jobs    int
	busy    map[string]bool // conversations that it works on
}

func newReplica(d *duel, i int) *replica {
	r := &replica{duel: d, name: fmt.Sprintf("r%d", i), random: d.duelRandom(i), move: make(chan struct{}, 1),
		holding: make(map[string]bool), busy: make(map[string]bool)}
	if i == 0 {
		r.habits = []act{good}
		return r
	}
	r.pull, r.orderly = r.random.IntN(4) == 0, r.random.IntN(2) == 0
	bad := pick(r.random, badActs...)
	r.habits = pick(r.random, []act{bad}, []act{good, bad}, []act{good, bad, pick(r.random, badActs...)}, badActs)
	return r
}

func (d *duel) duelRandom(i int) *rand.Rand { return d.random("replica", i) }

// isGood reports whether it is the one that never does wrong.
func (r *replica) isGood() bool { return r.name == "r0" }

// run lives until the duel is over.
func (r *replica) run() {
	var before *node
	for {
		l := r.connect(before)
		if l == nil {
			return
		}
		from := time.Now()
		goesOn := r.serve(l)
		if r.isGood() {
			r.duel.mu.Lock()
			r.steady = append(r.steady, interval{from, time.Now()})
			r.duel.mu.Unlock()
		}
		if !goesOn {
			return
		}
		before = l.node
	}
}

// connect registers at a hub, rather another one than before.
func (r *replica) connect(before *node) *route {
	for !r.isOver() {
		n := r.node(r.random, before)
		if n == nil || n.isDead() {
			r.pause(20 * time.Millisecond)
			continue
		}
		l := &route{node: n, notes: make(chan parley.ExecutorNotification, 10_000), replaced: make(chan struct{})}
		l.conn = n.hub.Connect(func(note parley.ExecutorNotification) { r.noted(l, note) }, func() { close(l.replaced) })
		l.p = n.hub.LocalPrincipal("a").On(l.conn)
		if r.register(l) == nil {
			r.mu.Lock()
			r.line = l
			r.mu.Unlock()
			return l
		}
		l.conn.Close()
		r.pause(between(r.random, 10*time.Millisecond, 100*time.Millisecond))
	}
	return nil
}

// noted is called by a hub with a notification.
func (r *replica) noted(l *route, note parley.ExecutorNotification) {
	if q := note.RequestTurn; q != nil {
		r.duel.mu.Lock()
		turn := placeOf(q.ConversationID, q.Turn)
		r.offers[turn] = append(r.offers[turn], time.Now())
		r.duel.mu.Unlock()
	}
	l.notes <- note
}

// register registers the claims that the replica continues, and checks the answer.
func (r *replica) register(l *route) error {
	r.mu.Lock()
	names := maps.Clone(r.holding)
	r.mu.Unlock()
	r.duel.mu.Lock()
	i := len(r.registrations)
	r.registrations = append(r.registrations, registering{executor: r.name, names: names, began: time.Now()})
	r.duel.mu.Unlock()
	result, err := ask(l.node, func(done func(parley.RegisterExecutorResult, error)) {
		l.node.hub.RegisterExecutor(l.p, &parley.RegisterExecutorParams{
			ExecutorID: r.name, Agents: []string{"a"}, Mode: parley.ModePush, GraceMs: r.graceMs, Holding: slices.Sorted(maps.Keys(names)),
		}, done)
	})
	if err != nil {
		return err
	}
	r.duel.mu.Lock()
	defer r.duel.mu.Unlock()
	r.registrations[i].end = time.Now()
	r.registrations[i].goesOn = result.Holding
	return nil
}

// serve takes offers until it has to reconnect (true) or the duel is over.
func (r *replica) serve(l *route) bool {
	for {
		select {
		case note := <-l.notes:
			r.hear(note)
		case <-l.node.dead:
			return true
		case <-l.replaced:
			l.conn.Close()
			return true
		case <-r.move:
			r.leave(l)
			return true
		case <-time.After(between(r.random, 100*time.Millisecond, 2*time.Second)):
			if !r.stir(l) {
				return true
			}
		case <-r.over:
			l.conn.Close()
			return false
		}
	}
}

func (r *replica) hear(note parley.ExecutorNotification) {
	if e := note.ClaimEnded; e != nil {
		r.letGo(e.ClaimID)
	}
	if q := note.RequestTurn; q != nil {
		r.begin(job{conversation: q.ConversationID, turn: q.Turn, claim: q.ClaimID}, (*job).answer)
	}
}

// begin works on a job beside everything else.
func (r *replica) begin(j job, do func(*job)) {
	r.mu.Lock()
	if r.orderly && r.busy[j.conversation] {
		r.mu.Unlock()
		return
	}
	r.busy[j.conversation] = true
	r.jobs++
	j.replica, j.life = r, r.life
	j.random = r.duel.random("job of "+r.name, r.jobs)
	j.name = fmt.Sprintf("%s.%d", r.name, r.jobs)
	r.mu.Unlock()
	r.parties.Go(func() {
		do(&j)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy[j.conversation] = false
	})
}

// leave goes from a hub: with a word, or half: then the hub finds out later.
func (r *replica) leave(l *route) {
	if r.random.IntN(2) == 0 {
		l.conn.Close()
		return
	}
	late := between(r.random, 0, time.Second)
	r.parties.Go(func() {
		r.pause(late)
		l.conn.Close()
	})
}

// stir makes a random call. It returns false when the replica reconnects.
func (r *replica) stir(l *route) bool {
	if r.isGood() {
		return true
	}
	switch r.random.IntN(24) {
	case 0: // once more
		return r.register(l) == nil
	case 1: // goes to another hub
		r.leave(l)
		return false
	case 2: // the process is killed and started again
		r.mu.Lock()
		r.life++
		r.holding = make(map[string]bool)
		r.mu.Unlock()
		r.leave(l)
		return false
	}
	if r.pull {
		r.look(l)
	}
	return true
}

// look claims a turn without an offer.
func (r *replica) look(l *route) {
	for i := range r.conversations {
		id := conversationOf(i)
		got, err := l.node.hub.GetGuidance(r.t.Context(), l.p, &parley.GetGuidanceParams{ConversationID: id})
		if err != nil || got.Guidance.Kind != parley.MaySpeak || got.Guidance.Claim != nil {
			continue
		}
		r.begin(job{conversation: id, turn: got.Guidance.Turn}, pick(r.random, (*job).pullClaim, (*job).pullProgress, (*job).pullFinal))
	}
}

// hold records a claim that the replica continues.
func (r *replica) hold(claim string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holding[claim] = true
}

func (r *replica) letGo(claim string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.holding, claim)
}

// current returns the connection.
func (r *replica) current() *route {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.line
}
