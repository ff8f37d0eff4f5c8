package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// passedOn are the variables that every program needs to find its tools, its language and its place for files.
var passedOn = []string{"PATH", "HOME", "TZ", "LANG", "TMPDIR"}

// reserved are the variables that are set for each turn.
var reserved = []string{"PARLEY_URL", "PARLEY_TOKEN", "PARLEY_AGENT", "PARLEY_CONVERSATION", "PARLEY_TURN"}

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

// program gives the path of the program.
func (a *Agent) program() (string, error) {
	if len(a.Argv) == 0 || a.Argv[0] == "" {
		return "", fmt.Errorf("no program is named")
	}
	name := a.Argv[0]
	if a.Dir != "" && filepath.Base(name) != name && !filepath.IsAbs(name) {
		name = filepath.Join(a.Dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}
