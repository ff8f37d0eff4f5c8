//go:build race

package paramschema_test

// slower is how much longer everything takes under the race detector.
const slower = 15
