package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// passedOn are the variables that every program needs to find its tools, its language and its place for files.
var passedOn = []string{"PATH", "HOME", "TZ", "LANG", "TMPDIR"}

// reserved are the variables that are set for each turn.
var reserved = []string{"PARLEY_URL", "PARLEY_TOKEN", "PARLEY_AGENT", "PARLEY_CONVERSATION", "PARLEY_TURN", traceparent}

func isReserved(name string) bool {
	return slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) }) // some systems do not tell them apart
}

// inherited gives what the program gets from this process.
func inherited() []string {
	var env []string
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func checkDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no directory", dir)
	}
	return err
}
