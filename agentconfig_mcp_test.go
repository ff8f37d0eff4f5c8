package parley_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
)

// TestMCPServerForms: entries are read as the mcp.json files of other products have them.
func TestMCPServerForms(t *testing.T) {
	npx := parley.MCPServer{Command: "npx", Args: []string{"-y", "x"}}
	web := parley.MCPServer{URL: "https://a.example/mcp"}
	with := func(s parley.MCPServer, change func(*parley.MCPServer)) parley.MCPServer {
		change(&s)
		return s
	}
	for raw, want := range map[string]parley.MCPServer{
		`{"s":{"command":"npx","args":["-y","x"]}}`:                                                              npx,
		`{"s":{"command":["npx","-y","x"]}}`:                                                                     npx,
		`{"s":{"command":["npx","-y"],"args":["x"]}}`:                                                            npx,
		`{"mcpServers":{"s":{"command":"npx","args":["-y","x"]}}}`:                                               npx,
		`{"servers":{"s":{"url":"https://a.example/mcp"}},"inputs":[]}`:                                          web,
		`{"mcpServers":{},"s":{"url":"https://a.example/mcp"}}`:                                                  web,
		`{"s":{"serverUrl":"https://a.example/mcp"}}`:                                                            web,
		`{"s":{"httpUrl":"https://a.example/mcp"}}`:                                                              web,
		`{"s":{"url":"https://a.example/mcp","timeout":60,"autoApprove":["a"],"alwaysAllow":[],"enabled":true}}`: web,
		`{"s":{"url":"https://a.example/mcp","type":"streamableHttp"}}`: with(web,
			func(s *parley.MCPServer) { s.Type = "streamableHttp" }),
		`{"s":{"url":"https://a.example/mcp","transport":"sse","headers":{"A":"b","C":null}}}`: with(web,
			func(s *parley.MCPServer) { s.Type, s.Headers = "sse", map[string]string{"A": "b"} }),
		`{"s":{"type":"stdio","command":"npx","args":["-y","x"],"cwd":".","env":{"PORT":80,"ON":true,"N":null}}}`: with(npx,
			func(s *parley.MCPServer) {
				s.Type, s.Cwd, s.Env = "stdio", ".", map[string]string{"PORT": "80", "ON": "true"}
			}),
		`{"s":{"command":"npx","args":["-y","x"],"enabled":false,"envFile":"${HOME}/.env"}}`: with(npx,
			func(s *parley.MCPServer) { s.Disabled, s.EnvFile = true, "${HOME}/.env" }),
		`{"s":{"command":"npx","args":["-y","x"],"optional":true,"start_timeout":"10m"}}`: with(npx,
			func(s *parley.MCPServer) { s.Optional, s.StartTimeout = true, "10m" }),
		`{"s":{"command":"npx","args":["-y","x"],"env":{"A":"${env:B}${C:-d e}$F $(g)"}}}`: with(npx,
			func(s *parley.MCPServer) { s.Env = map[string]string{"A": "${env:B}${C:-d e}$F $(g)"} }),
	} {
		c, faults := parley.ParseAgentConfig(json.RawMessage(`{"model":"a:b","mcp_servers":` + raw + `}`))
		if len(faults) > 0 {
			t.Errorf("%s: %q", raw, faults)
			continue
		}
		if got := c.MCPServers; len(got) != 1 || !reflect.DeepEqual(got["s"], want) {
			t.Errorf("%s: %+v, expected %+v", raw, got, want)
		}
	}
	for _, row := range [][2]string{
		{`"url":"https://a","type":"stdio"`,
			`.type: expected http, streamable-http or sse for a url, but it is "stdio"`},
		{`"command":"x","type":"sse"`, `.type: expected stdio for a command, but it is "sse"`},
		{`"url":"https://a","type":"ws"`, `.type: expected stdio, http, streamable-http or sse`},
		{`"url":"https://a","cwd":"."`, `: expected args, env, env_file and cwd with command only`},
		{`"url":"https://a","serverUrl":"https://b"`, `.serverUrl: serverUrl is another name of url`},
		{`"command":"x","start_timeout":"11m"`, `.start_timeout: expected a time from 100ms to 10m`},
		{`"command":"x","start_timeout":"0"`, `.start_timeout: expected a time from 100ms to 10m`},
		{`"command":"x","startup_timeout_sec":20`,
			`.startup_timeout_sec: there is no such field: expected start_timeout`},
		{`"command":"x","excludeTools":["a"]`, `.excludeTools: there is no such field: expected tools`},
		{`"command":"x","enabled":"no"`, `.enabled: there is no such field: expected disabled`},
		{`"command":"x","optionl":true`, `.optionl: there is no such field: expected optional`},
		{`"command":"${input:c}"`,
			`.command: unknown variable "${input:c}": expected ${NAME}, ${env:NAME}`},
		{`"command":"x","args":["a","${1}"]`, `.args[1]: unknown variable "${1}"`},
		{`"command":"x","env":{"A":"a${B"}`, `.env.A: unknown variable "${B"`},
		{`"command":"x","env":{"A":"${B:-${C}}"}`, `.env.A: unknown variable "${B:-${C}"`},
		{`"command":"x","cwd":"${workspace:a}"`, `.cwd: unknown variable "${workspace:a}"`},
		{`"url":"https://a/${}"`, `.url: unknown variable "${}"`},
		{`"url":"https://a","headers":{"A":"${command:id}"}`,
			`.headers.A: unknown variable "${command:id}"`},
	} {
		entry, want := row[0], row[1]

		_, faults := parley.ParseAgentConfig(json.RawMessage(`{"model":"a:b","mcp_servers":{"s":{` + entry + `}}}`))
		if len(faults) != 1 || !strings.HasPrefix(faults[0].Path+": "+faults[0].Message, "$.mcp_servers.s"+want) {
			t.Errorf("%s: %q, expected %s", entry, faults, want)
		}
	}
}
