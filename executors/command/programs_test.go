//go:build linux

package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/command"
	"github.com/parleyhub/parley/sdk"
)

// programs are the programs that the tests run as agents. They return the exit code.
var programs map[string]func(args []string) int

func init() {
	programs = map[string]func(args []string) int{
		"keep": keep, "lines": lines, "look": look, "flood": flood, "mutter": mutter, "hang": hang, "child": child,
		"sleep":  sleep,
		"answer": answer, "retry": retry, "byItself": byItself, "runner": runner, "deaf": deaf, "patient": patient,
	}
}

// keep copies stdin to a file, and answers.
func keep(args []string) int {
	in, err := io.ReadAll(os.Stdin)
	if err != nil || os.WriteFile(args[0], in, 0o600) != nil {
		return 1
	}
	fmt.Println(`{"text":"done"}`)
	return 0
}

// answer posts its identity and its private text.
func answer([]string) int {
	var d command.Document
	if err := json.NewDecoder(os.Stdin).Decode(&d); err != nil {
		return 1
	}
	out, _ := json.Marshal(parley.Message{Text: d.Conversation.You + " was told " + d.Conversation.Private})
	fmt.Printf("%s\n", out)
	return 0
}

// patient posts a part, waits for a file, and posts the rest.
func patient(args []string) int {
	fmt.Println(`{"progress":"begun"}`)
	for {
		if _, err := os.Stat(args[0]); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println(`{"text":"finished"}`)
	return 0
}

// lines prints its arguments, which are in Go quotes, unchanged: CODE TEXT...
func lines(args []string) int {
	io.Copy(io.Discard, os.Stdin)
	for _, a := range args[1:] {
		text, err := strconv.Unquote(`"` + a + `"`)
		if err != nil {
			return 99
		}
		os.Stdout.WriteString(text)
	}
	code, _ := strconv.Atoi(args[0])
	return code
}

// look prints its arguments, variables, files, directory and process group.
func look(args []string) int {
	var files []string
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		if to != "" && !strings.HasPrefix(to, "/proc/") && !strings.HasPrefix(to, "anon_inode:") {
			files = append(files, e.Name()+" "+to)
		}
	}
	dir, _ := os.Getwd()
	out, _ := json.Marshal(map[string]any{"data": map[string]any{
		"args": args, "env": os.Environ(), "files": files, "dir": dir, "alone": syscall.Getpgrp() == os.Getpid(),
	}})
	fmt.Printf("%s\n", out)
	return 0
}

// deaf yields without reading stdin.
func deaf([]string) int {
	fmt.Println(`{"yield":true}`)
	return 0
}

// flood prints the given number of bytes in lines of the given length, without reading stdin.
func flood(args []string) int {
	bytesLeft, _ := strconv.ParseInt(args[0], 10, 64)
	width, _ := strconv.Atoi(args[1])
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	for at := width; at > 0 && at <= len(chunk); at += width {
		chunk[at-1] = '\n'
	}
	if len(args) > 2 {
		chunk = []byte(strings.Repeat(args[2]+"\n", 1000))
	}
	for ; bytesLeft > 0; bytesLeft -= int64(len(chunk)) {
		if _, err := os.Stdout.Write(chunk); err != nil {
			return 1
		}
	}
	return 0
}

// mutter writes the given number of lines to stderr, and answers.
func mutter(args []string) int {
	n, _ := strconv.Atoi(args[0])
	for i := range n {
		fmt.Fprintf(os.Stderr, "line %d of what nobody asked for \xff\x00\n", i)
	}
	if len(args) > 1 {
		return 3
	}
	fmt.Println(`{"text":"done"}`)
	return 0
}

// hang posts a message, notes its pid in a directory, and stays: DIR [stubborn]. A stubborn program
// has a child like itself, and both ignore SIGTERM.
func hang(args []string) int {
	if len(args) > 1 {
		signal.Ignore(syscall.SIGTERM)
	}
	if len(args) == 2 {
		again(nil, "hang", args[0], "stubborn", "child")
	}
	fmt.Println(`{"progress":"at work"}`)
	fmt.Fprintln(os.Stderr, "last words")
	note(args[0]) // nothing is written after this, because no one may read it
	time.Sleep(time.Hour)
	return 0
}

// child leaves a process that keeps stdout open, answers, and ends: DIR [escape]
func child(args []string) int {
	again(&syscall.SysProcAttr{Setsid: len(args) > 1}, "sleep", args[0])
	for noted(args[0]) < 1 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(`{"text":"done"}`)
	return 0
}

func sleep(args []string) int {
	note(args[0])
	time.Sleep(time.Hour)
	return 0
}

// again starts this binary again, with the same stdout and stderr.
func again(attr *syscall.SysProcAttr, name string, args ...string) {
	cmd := exec.Command(os.Args[0], append([]string{"program", name}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
}

// note creates a file whose name is the pid.
func note(dir string) {
	if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600); err != nil {
		panic(err)
	}
}

func noted(dir string) int {
	entries, _ := os.ReadDir(dir)
	return len(entries)
}

// retry stores its input in a directory under the number of the attempt. It fails except in the
// second attempt.
func retry(args []string) int {
	in, _ := io.ReadAll(os.Stdin)
	var d command.Document
	if json.Unmarshal(in, &d) != nil || os.WriteFile(filepath.Join(args[0], strconv.Itoa(d.Attempt)), in, 0o600) != nil {
		return 1
	}
	if d.Attempt == 1 {
		fmt.Println(`{"progress":"found half of it"}`)
		fmt.Fprintln(os.Stderr, "why it fails")
		return 9
	}
	fmt.Println(`{"text":"found all of it"}`)
	return 0
}

// byItself calls the hub with the token of its turn, which it stores in a file, and prints nothing.
func byItself(args []string) int {
	token := os.Getenv("PARLEY_TOKEN")
	if os.WriteFile(args[0], []byte(token), 0o600) != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := sdk.Dial(ctx, os.Getenv("PARLEY_URL"), &sdk.Options{Token: token})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer c.Close()
	all, err := c.ListConversations(ctx, &parley.ListConversationsParams{})
	if err == nil {
		payload, _ := json.Marshal(
			parley.Message{Text: fmt.Sprintf("%s sees %d conversation", c.AgentID(), len(all.Conversations))})
		_, err = c.SendMessage(ctx, &parley.SendMessageParams{
			ConversationID: os.Getenv("PARLEY_CONVERSATION"), Payload: payload, Finality: parley.FinalityTurn,
			ClientRequestID: "by-itself",
		})
	}
	fmt.Fprintln(os.Stderr, "of no turn any more")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// runner takes the turns of bot with the program hang: URL TOKEN DIR
func runner(args []string) int {
	ctx := context.Background()
	c, err := sdk.Dial(ctx, args[0], &sdk.Options{Token: args[1]})
	if err != nil {
		return 1
	}
	a := &command.Agent{Argv: []string{os.Args[0], "program", "hang", args[2]}}
	if executors.Run(ctx, c, a, nil) != nil {
		return 2
	}
	return 0
}
