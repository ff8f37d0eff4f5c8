//go:build devcluster

package main

func init() {
	taggedCommands = append(taggedCommands, (*app).devClusterCommand)
}
