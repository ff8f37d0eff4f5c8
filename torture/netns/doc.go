// Package netns gives tests network namespaces: processes that have a network of their own, whose
// links go down and whose ways to each other are cut without a word. It needs root and the program
// ip, on Linux.
package netns
