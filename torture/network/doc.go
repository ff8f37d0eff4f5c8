// Package network attacks the readers of a hub and the network: readers that stop or read a byte
// per second, connections that are cut at any byte, peers that disappear without a FIN, and a
// restart under thousands of clients.
//
// Each reader must receive every event of the log, once and in order, over any number of
// connections. A reader that reads nothing uses bounded memory and delays no one. The hub notices
// in time that a peer disappeared.
//
// The hub is a separate process. So are the readers that must be stopped or must be many: they are
// the program of the test in another role.
package network
