//go:build linux

package blueprint_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/process"
)

// TestMain runs the tests, or one of the commands of the tests: "program NAME ARGS...".
func TestMain(m *testing.M) {
	process.Supervise()
	if len(os.Args) > 2 && os.Args[1] == "program" {
		programs[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// seen is the environment of the program "report".
type seen struct {
	Args  []string `json:"args"`
	Env   []string `json:"env"`
	Stdin string   `json:"stdin"`
	Dir   string   `json:"dir"`
}

// programs are the commands. Blueprints pass their arguments before the flags.
var programs = map[string]func(args []string){
	// report prints its environment.
	"report": func(args []string) {
		s := seen{Args: args, Env: os.Environ()}
		stdin, err := io.ReadAll(os.Stdin)
		s.Stdin = string(stdin)
		if err == nil {
			s.Dir, err = os.Getwd()
		}
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(s)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	},
	// say writes the parameter text to stdout and err to stderr, and ends with code.
	"say": func(args []string) {
		f := flags(args)
		fmt.Fprint(os.Stderr, f["err"])
		fmt.Fprint(os.Stdout, f["text"])
		code, _ := strconv.Atoi(f["code"])
		os.Exit(code)
	},
	// repeat writes the parameter text count times, between two other texts.
	"repeat": func(args []string) {
		f := flags(args)
		count, _ := strconv.Atoi(f["count"])
		w := bufio.NewWriter(os.Stdout)
		fmt.Fprint(w, f["first"])
		for range count {
			fmt.Fprint(w, f["text"])
		}
		fmt.Fprint(w, f["last"])
		w.Flush()
	},
	// raw writes bytes that are not text.
	"raw": func(args []string) {
		count, _ := strconv.Atoi(flags(args)["count"])
		os.Stdout.Write([]byte(strings.Repeat("a\xff", count)))
	},
	// spill writes without end.
	"spill": func([]string) {
		for {
			if _, err := os.Stdout.WriteString("spilling\n"); err != nil {
				return
			}
		}
	},
	// stubborn ignores SIGTERM. It prints its pid, and starts a process that leaves the session.
	"stubborn": func(args []string) {
		signal.Ignore(syscall.SIGTERM)
		if len(args) == 0 || args[0] != "child" {
			self, _ := os.Executable()
			attr := &os.ProcAttr{Files: []*os.File{nil, os.Stdout, nil}, Sys: &syscall.SysProcAttr{Setsid: true}}
			if _, err := os.StartProcess(self, []string{self, "program", "stubborn", "child"}, attr); err != nil {
				os.Exit(1)
			}
		}
		fmt.Println(os.Getpid())
		time.Sleep(time.Hour)
	},
	// wait writes its pid into a file, and ends on request.
	"wait": func(args []string) {
		if err := os.WriteFile(flags(args)["file"], []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			os.Exit(1)
		}
		time.Sleep(time.Hour)
	},
	// count adds a line to a file at each start.
	"count": func(args []string) {
		f, err := os.OpenFile(flags(args)["file"], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(f, os.Getpid())
		time.Sleep(time.Hour)
	},
	// suicide ends by a signal.
	"suicide": func([]string) {
		fmt.Println("before")
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	},
	// tell writes lines to stderr until the file of its stdin exists.
	"tell": func(args []string) {
		fmt.Fprint(os.Stderr, "10%\r20%\r30%\nhalf")
		for {
			if _, err := os.Stat(flags(args)["file"]); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Fprint(os.Stderr, " way\nlast word")
	},
	// hold is a runner that has a directory.
	"hold": func(args []string) {
		id, _, err := blueprint.RunnerID(args[0])
		if err != nil {
			os.Exit(1)
		}
		fmt.Print(id)
		time.Sleep(time.Hour)
	},
	// start is a command that calls an agent.
	"start": startProgram,
}

// flags parses --key=value.
func flags(args []string) map[string]string {
	all := map[string]string{}
	for _, a := range args {
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		all[name] = value
	}
	return all
}
