// Package conformance lets strangers talk to a hub: clients that share no code with Parley and know
// it from protocol.md alone. Each needs a program of its own; where that is missing the test is
// left out, and says so, but for CI=true, where it fails.
package conformance
