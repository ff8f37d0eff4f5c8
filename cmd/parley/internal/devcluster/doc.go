// Package devcluster has the command dev-cluster, which runs three hubs with one log on one
// machine. The command exists only in programs that are built with the tag devcluster:
//
//	go build -tags devcluster ./cmd/parley
package devcluster
