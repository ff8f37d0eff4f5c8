package torture

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/torture/duel"
	"github.com/parleyhub/parley/torture/ledger"
)

// exported returns all conversations of a hub that ended.
func exported(t *testing.T, dir string) map[string][]parley.Event {
	t.Helper()
	return ledger.Export(t, program, filepath.Join(dir, "data"))
}

// presence records when a replica was registered with a running hub, so that a turn could be
// offered to it.
type presence struct {
	spans    [][2]int64 // in ns
	hubKills []int64
}

// presenceOf plays what befell the processes.
func presenceOf(moments []moment) *presence {
	moments = slices.Clone(moments)
	slices.SortStableFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	p := &presence{}
	known, still := map[string]bool{}, map[string]bool{}
	since := int64(0)
	for _, m := range moments {
		switch m.blow {
		case registered:
			known[m.replica] = true
		case stopped:
			still[m.replica] = true
		case continued:
			delete(still, m.replica)
		case killed:
			delete(known, m.replica)
		case hubKilled:
			clear(known)
			p.hubKills = append(p.hubKills, m.at)
		}
		there := false
		for id := range known {
			there = there || !still[id]
		}
		switch {
		case there && since == 0:
			since = m.at
		case !there && since != 0:
			p.spans, since = append(p.spans, [2]int64{since, m.at}), 0
		}
	}
	if since != 0 {
		p.spans = append(p.spans, [2]int64{since, time.Now().UnixNano()})
	}
	return p
}

// sum is for how long a replica was there.
func (p *presence) sum() (d time.Duration) {
	for _, s := range p.spans {
		d += time.Duration(s[1] - s[0])
	}
	return d
}

// waited returns the part of a lapse in which a replica was available. The time before the last
// start of the hub does not count, because the pause after a failure starts again with the hub.
func (p *presence) waited(l duel.Lapse) time.Duration {
	from, to := l.Ended*1e6, l.Claimed*1e6
	for _, at := range p.hubKills {
		if at > from && at < to {
			from = at
		}
	}
	var sum int64
	for _, s := range p.spans {
		sum += max(0, min(to, s[1])-max(from, s[0]))
	}
	return time.Duration(sum)
}

// backoffOf is the longest pause of a hub after a number of failed attempts.
func backoffOf(attempts int) time.Duration {
	return min(250*time.Millisecond<<min(max(attempts-1, 0), 10), 5*time.Second)
}
