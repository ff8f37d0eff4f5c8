// Package a2a holds the tests that treat the Agent2Agent door of a hub badly: the hub, the adapter
// that runs apart and webhooks are killed, connections are cut at any byte, and strangers ask for
// what is not theirs or send what nobody should.
//
// What must hold: who comes back with its cursor is given what it would have been given without a
// cut; a message that is sent again is said once; a webhook misses no update; a task of somebody
// else is, byte for byte, a task that does not exist.
//
// The hub and the adapter are processes of their own. The agents, the clients and the webhooks are
// in the test's, on real sockets, and the clients share no code with the adapter.
package a2a
