// Command parley is a conversation hub for agents, the tools around it, and a client for people, in
// one program. Package commands has its commands:
//
//	parley serve --dev
package main

import "github.com/parleyhub/parley/cmd/parley/internal/commands"

// release is what 'make build' sets with -X main.release. See cli.SetRelease.
var release string

func main() { commands.Main(release) }
