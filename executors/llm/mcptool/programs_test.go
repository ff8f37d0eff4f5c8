package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/parleyhub/parley/executors/process"
)

// TestMain runs the tests, or one of the programs that they start.
func TestMain(m *testing.M) {
	process.Supervise()
	if len(os.Args) > 2 && os.Args[1] == "program" {
		programs[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// programs are the commands for configs.
var programs = map[string]func(args []string){
	// serve is an MCP server. Its argument is the file for its notes.
	"serve": func(args []string) {
		if err := newServer(args[0]).Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	},
	// deaf is the same, but does not end when its stdin is closed.
	"deaf": func(args []string) {
		_ = newServer(args[0]).Run(context.Background(), &mcp.StdioTransport{})
		note(args[0], "pid %d", os.Getpid())
		select {}
	},
	// silent writes nothing.
	"silent": func(args []string) {
		note(args[0], "pid %d", os.Getpid())
		select {}
	},
	// noisy is a server that writes a text to stdout before it serves, and ends its lines as on Windows.
	"noisy": func(args []string) {
		printNoise(args[0])
		_ = newServer(args[0]).Run(context.Background(), &mcp.IOTransport{Reader: os.Stdin, Writer: windowsLines{os.Stdout}})
	},
	"babble": func([]string) { fmt.Println("Listening.") },
	"fail":   func([]string) { fmt.Fprintln(os.Stderr, "no such database at", os.Getenv("DSN")); os.Exit(3) },
	"sleep":  func([]string) { time.Sleep(time.Hour) },
}

// printNoise writes the text of the test to stdout.
func printNoise(path string) {
	if b, err := os.ReadFile(path + ".noise"); err == nil {
		_, _ = os.Stdout.Write(b)
	}
}

// windowsLines writes each message with a byte order mark and a carriage return.
type windowsLines struct{ *os.File }

func (w windowsLines) Write(b []byte) (int, error) {
	_, err := w.File.WriteString("\uFEFF" + strings.TrimSuffix(string(b), "\n") + "\r\n")
	return len(b), err
}

// note appends a line to a file.
func note(path, format string, args ...any) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, format+"\n", args...)
}

// seen waits until the test marks the notes as seen.
func seen(ctx context.Context, path string) error {
	for ctx.Err() == nil {
		if _, err := os.Stat(path + ".seen"); err == nil {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return ctx.Err()
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// newServer returns the server of the tests. It lists two tools per page.
func newServer(path string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{PageSize: 2})
	schema := json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)
	add := func(name string, h mcp.ToolHandler) {
		s.AddTool(&mcp.Tool{Name: name, Description: "Does " + name + ".", InputSchema: schema}, h)
	}
	add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		note(path, "echo")
		return text(string(r.Params.Arguments)), nil
	})
	add("fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := text("it did not work")
		r.IsError = true
		return r, nil
	})
	add("structured", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "seen"}},
			StructuredContent: json.RawMessage(`{"n":1}`)}, nil
	})
	add("both", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{ "n": 1 }`}},
			StructuredContent: json.RawMessage(`{"n":1}`)}, nil
	})
	add("files", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ImageContent{MIMEType: "image/png", Data: []byte("12345")},
			&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("123")},
			&mcp.ResourceLink{URI: "file:///a", Name: "a", MIMEType: "text/plain"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b", MIMEType: "text/csv", Text: "1,2"}},
		}}, nil
	})
	add("large", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("é", 1<<20)), nil
	})
	add("traceparent", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		report, _ := r.Params.Meta["traceparent"].(string)
		return text("report " + report), nil
	})
	add("environment", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		dir, err := os.Getwd()
		return text(strings.Join(append(os.Environ(), "PWD="+dir), "\n")), err
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			p := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3,
				Message: "on it"}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return nil, err
			}
		}
		return text("done"), seen(ctx, path)
	})
	add("wait", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		note(path, "wait")
		defer note(path, "canceled")
		return text("done"), seen(ctx, path)
	})
	add("exit", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		note(path, "exit")
		os.Exit(1)
		return nil, nil
	})
	add("fork", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		cmd := exec.Command(os.Args[0], "program", "sleep", "x")
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return text(fmt.Sprint(cmd.Process.Pid)), nil
	})
	add("stderr", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "the token is", os.Getenv("TOKEN"))
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 10_000))
		return text("done"), nil
	})
	add("limited", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var q struct{ Code int64 }
		if err := json.Unmarshal(r.Params.Arguments, &q); err != nil {
			return nil, err
		}
		return nil, &jsonrpc.Error{Code: q.Code, Message: "too many calls"}
	})
	add("noise", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		printNoise(path)
		return text("done"), nil
	})
	add("broken answer", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for id := range 100 { // one of them is that of the call
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"error":"out of paper"}`+"\n", id)
		}
		return text("done"), nil
	})
	add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(&mcp.Tool{Name: "new", InputSchema: schema},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("new"), nil })
		return text("done"), nil
	})
	return s
}
