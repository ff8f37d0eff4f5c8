package main

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Peaks is what a simulation of a peak found.
type Peaks struct {
	Seconds     int
	Mean        float64 // events of a log in a second
	P999, Most  float64 // of all logs and seconds
	Fullest     float64 // conversations of the fullest log, as a multiple of the mean
	OverSeconds int     // seconds of a log with more than it carries
}

// simulate assigns conversations to logs by hash, lets each speak at random at the rate of the
// peak, and counts the events of each log in each second.
func simulate(f *Figures, p *Plan, seconds int, seed uint64) Peaks {
	r := rand.New(rand.NewPCG(seed, seed))
	in := make([]int, p.Logs)
	for i := range f.Load.Conversations {
		h := fnv.New64a()
		h.Write([]byte("conversation-" + strconv.Itoa(i)))
		in[h.Sum64()%uint64(p.Logs)]++
	}
	each := f.Load.PeakToMean / f.Load.SecondsBetweenEvents // of a conversation, in a second
	out := Peaks{Seconds: seconds, Mean: p.Peak / float64(p.Logs),
		Fullest: float64(slices.Max(in)) * float64(p.Logs) / float64(f.Load.Conversations)}
	var all []float64
	for _, conversations := range in {
		for range seconds {
			n := poisson(r, float64(conversations)*each)
			if n > p.LogCarries/f.Machines.UseAtMost {
				out.OverSeconds++
			}
			all = append(all, n)
		}
	}
	slices.Sort(all)
	out.P999, out.Most = all[int(math.Ceil(float64(len(all))*0.999))-1], all[len(all)-1]
	return out
}

// poisson returns a random number of occurrences with the given mean.
func poisson(r *rand.Rand, mean float64) float64 {
	if mean > 100 { // as good as normal
		return max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64()))
	}
	n, left := 0.0, math.Exp(-mean)
	for p := r.Float64(); p > left; p *= r.Float64() {
		n++
	}
	return n
}
