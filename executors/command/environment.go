package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// passedOn are the inherited variables, which programs need to find their tools, their language and
// their temporary directory.
var passedOn = []string{"PATH", "HOME", "TZ", "LANG", "TMPDIR"}

// reserved are the variables that this package sets for each turn.
var reserved = []string{"PARLEY_URL", "PARLEY_TOKEN", "PARLEY_AGENT", "PARLEY_CONVERSATION", "PARLEY_TURN", traceparent}

func isReserved(name string) bool {
	// Names of variables are not case-sensitive on all systems.
	return slices.ContainsFunc(reserved, func(r string) bool { return strings.EqualFold(r, name) })
}

// inherited returns the inherited variables of the program.
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
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}
