// Package conformance tests a hub with clients that share no code with Parley and know it only from
// protocol.md. Each needs a separate program. If it is missing, the test is skipped with a message.
// With CI=true, the test fails.
package conformance
