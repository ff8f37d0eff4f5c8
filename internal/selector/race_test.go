//go:build race

package selector_test

// slower is how much longer everything takes under the race detector.
const slower = 15
