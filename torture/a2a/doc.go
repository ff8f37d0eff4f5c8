// Package a2a attacks the Agent2Agent server of a hub. The tests kill the hub, the separate adapter
// and webhooks, cut connections at any byte, and send unauthorized and invalid requests.
//
// A client that reconnects with its cursor must receive what it would have received without the
// cut. A repeated message is posted once. A webhook misses no update. A task of another caller
// looks, byte for byte, like a task that does not exist.
//
// The hub and the adapter are separate processes. The agents, the clients and the webhooks are in
// the process of the test, on real sockets. The clients share no code with the adapter.
package a2a
