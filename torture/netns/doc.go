// Package netns creates network namespaces for tests: processes with their own network, whose links
// can go down and whose packets to each other can be dropped. It requires root, Linux and the
// program ip.
package netns
