package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// syncProcs are processors beyond the machine's. The committer is nearly always inside a system call that waits for the disk, and Go takes the
// processor away from such a goroutine late; with few processors the others stand idle meanwhile.
const syncProcs = 2

// What a hub may leave uncollected. It keeps little and throws much away, so collecting at twice the live heap, Go's default, is done many times a second under load, and at five times
// takes little time. With much in memory, five times would be what somebody misses.
const (
	// mostGarbage is garbage in hundredths of the live heap, where that is small.
	mostGarbage = 400
	// leastGarbage is that where the live heap is large: Go's default.
	leastGarbage = 100
	// enoughGarbage is as many bytes as save time; more than that is left uncollected only for leastGarbage.
	enoughGarbage = 64 << 20
)

// tuneRuntime sets Go's runtime for a hub, but for what the user has set.
func tuneRuntime() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		collectInTime()
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + syncProcs)
	}
}

// collectInTime sets how much garbage is left, after each collection anew, until the process ends.
func collectInTime() {
	debug.SetGCPercent(mostGarbage)
	type sentinel struct{ _ *byte } // with a pointer, so that it is collected on its own
	var watch func(struct{})
	watch = func(struct{}) {
		debug.SetGCPercent(garbageFor(liveBytes()))
		runtime.AddCleanup(&sentinel{}, watch, struct{}{})
	}
	runtime.AddCleanup(&sentinel{}, watch, struct{}{})
}

// garbageFor gives the garbage for a live heap, in hundredths of it.
func garbageFor(live uint64) int {
	percent := math.Round(100 * enoughGarbage / float64(max(live, 1)))
	return int(min(max(percent, leastGarbage), mostGarbage))
}

// liveBytes is what the last collection has found in use.
func liveBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
