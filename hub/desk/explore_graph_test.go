package desk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// scenario is a small world and what may go wrong in it.
type scenario struct {
	name   string
	reps   []kind
	hubs   int
	peer   parley.ParticipantKind
	turns  int64 // the number of ended turns after which it ends
	limits parley.Limits
	silent bool // b says nothing
	// deferred: others may act between a hub's decision to end something and its writing that.
	deferred bool
	long     bool // it takes long

	crashes, drops, deaths, lates, repeats int8
}

// without selects the rules that the explorer breaks. Decide and Desk do not keep these rules,
// their callers do. Package torture/plants breaks the rules of Decide and Desk.
type without struct {
	reading  bool // a hub decides before it reads what the other hub wrote
	recheck  bool // a hub writes a decision on a newer head than the one that it decided on
	restart  bool // a hub that starts ends the claims of the log
	grace    bool // a hub that sees an old connection end starts the grace period of its executor's claims
	turnless bool // an answer without a claim does not name its turn
}

// explorer goes through all states of a scenario, breadth first, so that what it finds has the shortest trace.
type explorer struct {
	scenario
	without
	limit  int // of states
	buffer []byte

	ids   map[[16]byte]int32
	nodes []node
}

// node is a state that was met.
type node struct {
	parent int32
	name   string
	can    uint64 // actions that may happen, but faults
	edges  []edge
	final  bool
}

type edge struct {
	to    int32
	label uint8
}

// found is the result of an exploration.
type found struct {
	states, moves int
	capped        bool
	bad           string
	trace         []string
}

func (f found) String() string {
	return fmt.Sprintf("%s\n\t%s", f.bad, strings.Join(f.trace, "\n\t"))
}

func (x *explorer) start() *world {
	limits := x.limits
	w := &world{
		head: &snapshot{state: fold.State{ID: "cnv"}, keys: idempotency.Keys{}}, reps: make([]replica, len(x.reps)),
		crashes: x.crashes, drops: x.drops, deaths: x.deaths, lates: x.lates, repeats: x.repeats,
	}
	w.facts.holder, w.races = -1, x.deferred
	d := fold.Decide(w.head.state, w.head.keys, fold.Command{
		Do: &fold.Create{Params: &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: agent, Kind: parley.KindAgent}, {ID: "b", Kind: x.peer}}, Limits: &limits,
		}},
		From: "maker", Now: now,
	})
	w.head = w.head.with(&d)
	w.hubs = make([]memory, max(1, x.hubs))
	for i := range w.reps {
		w.reps[i] = replica{kind: x.reps[i]}
	}
	for h := range w.hubs {
		w.hubs[h] = memory{holder: -1}
		for i := range w.reps {
			w.reps[i].hub = int8(i % len(w.hubs))
		}
	}
	for h := range w.hubs {
		x.saw(w, h, -1)
	}
	return w
}

func (x *explorer) explore() found {
	x.ids = make(map[[16]byte]int32)
	queue := []*world{x.start()}
	x.nodes = []node{{parent: -1}}
	x.ids[x.key(queue[0])] = 0
	moves := 0
	for at := int32(0); int(at) < len(x.nodes); at++ {
		w := queue[at]
		queue[at] = nil
		if x.nodes[at].final = x.finished(w); x.nodes[at].final {
			continue
		}
		for _, m := range x.moves(w) {
			moves++
			if !m.fault {
				x.nodes[at].can |= 1 << m.label
			}
			n := w.clone()
			m.do(n)
			n.own = slices.DeleteFunc(n.own, n.stale)
			if n.bad != "" {
				return found{states: len(x.nodes), moves: moves, bad: n.bad, trace: append(x.trace(at), m.name)}
			}
			key := x.key(n)
			to, known := x.ids[key]
			if !known {
				if len(x.nodes) >= x.limit {
					return found{states: len(x.nodes), moves: moves, capped: true}
				}
				to = int32(len(x.nodes))
				x.ids[key] = to
				x.nodes = append(x.nodes, node{parent: at, name: m.name})
				queue = append(queue, n)
			}
			if !m.fault {
				x.nodes[at].edges = append(x.nodes[at].edges, edge{to, m.label})
			}
		}
	}
	f := found{states: len(x.nodes), moves: moves}
	f.bad, f.trace = x.forever()
	return f
}

func (x *explorer) trace(at int32) []string {
	var names []string
	for ; at > 0; at = x.nodes[at].parent {
		names = append([]string{x.nodes[at].name}, names...)
	}
	return names
}

// forever finds states in which nothing more happens before the end, and those that may be gone round for ever though everything that can happen all the
// time does happen. Faults, of which there are few, make no circle.
func (x *explorer) forever() (string, []string) {
	for _, circle := range x.components() {
		if x.nodes[circle[0]].final {
			continue
		}
		inside := make(map[int32]bool, len(circle))
		for _, at := range circle {
			inside[at] = true
		}
		always, happens := ^uint64(0), uint64(0)
		var names []string
		for _, at := range circle {
			always &= x.nodes[at].can
			for _, e := range x.nodes[at].edges {
				if inside[e.to] {
					happens |= 1 << e.label
				}
			}
			if len(names) < 20 {
				names = append(names, fmt.Sprintf("round state %d: %s", at, x.nodes[at].name))
			}
		}
		switch stuck := len(circle) == 1 && happens == 0; {
		case stuck && x.nodes[circle[0]].can == 0:
			return "nobody may act and no time runs", x.trace(circle[0])
		case !stuck && always&^happens == 0:
			first := circle[0]
			for _, at := range circle {
				first = min(first, at)
			}
			return fmt.Sprintf("the turn need never end: %d states go round", len(circle)), append(x.trace(first), names...)
		}
	}
	return "", nil
}

// components are the strongly connected components of the states, by Tarjan, without recursion.
func (x *explorer) components() [][]int32 {
	type frame struct {
		at   int32
		next int
	}
	index := make([]int32, len(x.nodes))
	low := make([]int32, len(x.nodes))
	on := make([]bool, len(x.nodes))
	var (
		stack  []int32
		all    [][]int32
		number int32
	)
	for root := range x.nodes {
		if index[root] != 0 {
			continue
		}
		calls := []frame{{at: int32(root)}}
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			if f.next == 0 {
				number++
				index[f.at], low[f.at], on[f.at] = number, number, true
				stack = append(stack, f.at)
			}
			if edges := x.nodes[f.at].edges; f.next < len(edges) {
				to := edges[f.next].to
				f.next++
				switch {
				case index[to] == 0:
					calls = append(calls, frame{at: to})
				case on[to]:
					low[f.at] = min(low[f.at], index[to])
				}
				continue
			}
			at := f.at
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				above := calls[len(calls)-1].at
				low[above] = min(low[above], low[at])
			}
			if low[at] != index[at] {
				continue
			}
			var c []int32
			for {
				top := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				on[top] = false
				c = append(c, top)
				if top == at {
					break
				}
			}
			all = append(all, c)
		}
	}
	return all
}
