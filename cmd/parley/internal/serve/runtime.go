package serve

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
		debug.SetGCPercent(garbageFor(heapInUse()))
		runtime.AddCleanup(&sentinel{}, watch, struct{}{})
	}
	runtime.AddCleanup(&sentinel{}, watch, struct{}{})
}

// garbageFor gives the garbage for so many bytes in use, in hundredths of them.
func garbageFor(inUse uint64) int {
	percent := math.Round(100 * enoughGarbage / float64(max(inUse, 1)))
	return int(min(max(percent, leastGarbage), mostGarbage))
}

// heapInUse is what the collector's percentage is of: what the last collection has found in use, stacks and globals.
func heapInUse() (bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		bytes += s.Value.Uint64()
	}
	return bytes
}
