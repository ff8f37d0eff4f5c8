package serve

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// syncProcs are processors beyond those of the machine. The committer is nearly always inside a
// system call that waits for the disk, and Go takes the processor from such a goroutine late. With
// few processors the others are idle meanwhile.
const syncProcs = 2

// The garbage that a hub may leave uncollected. It keeps little and discards much, so a collection
// at twice the live heap, Go's default, runs many times a second under load. At five times it takes
// little time. With a large heap, five times would waste memory.
const (
	// mostGarbage is garbage in hundredths of the live heap, where that is small.
	mostGarbage = 400
	// leastGarbage is that where the live heap is large: Go's default.
	leastGarbage = 100
	// enoughGarbage is as many bytes as save time; more than that is left uncollected only for
	// leastGarbage.
	enoughGarbage = 64 << 20
)

// tuneRuntime configures Go's runtime for a hub, except for the values that the user has set.
func tuneRuntime() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		collectInTime()
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + syncProcs)
	}
}

// collectInTime sets the amount of garbage after each collection, until the process ends.
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

// garbageFor returns the garbage for a number of bytes in use, in percent of them.
func garbageFor(inUse uint64) int {
	percent := math.Round(100 * enoughGarbage / float64(max(inUse, 1)))
	return int(min(max(percent, leastGarbage), mostGarbage))
}

// heapInUse is what the collector's percentage is of: what the last collection has found in use,
// stacks and globals.
func heapInUse() (bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"},
		{Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		bytes += s.Value.Uint64()
	}
	return bytes
}
