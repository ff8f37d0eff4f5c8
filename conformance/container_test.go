package conformance

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestContainer does what docs/deploy/Containerfile says without a container engine: it builds the
// program as the file does, puts it alone into an empty root, and runs it there as the user, with
// the environment and by the commands of the file.
func TestContainer(t *testing.T) {
	t.Parallel()
	f := parseContainerfile(t, read(t, deployed("Containerfile")))
	root := t.TempDir()
	build := f.run["go build"]
	if build == "" {
		t.Fatal("the file builds no program")
	}
	cmd := exec.Command("sh", "-c", strings.ReplaceAll(build, "/out/parley", filepath.Join(root, "parley")))
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "VERSION=v0.0.0-container")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	binary, err := elf.Open(filepath.Join(root, "parley"))
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	if libraries, err := binary.ImportedLibraries(); err != nil || len(libraries) > 0 ||
		slices.ContainsFunc(binary.Progs, interpreted) {
		t.Errorf("the program is not static: it needs %v, %v", libraries, err)
	}
	if os.Getuid() != 0 {
		leaveOut(t, "root, who may change the root of a process,")
	}

	user, group, _ := strings.Cut(f.user, ":")
	uid, gid := number(t, user), number(t, group)
	data := filepath.Join(root, f.env["PARLEY_DATA"])
	if !slices.Contains(f.volumes, f.env["PARLEY_DATA"]) {
		t.Errorf("the log is in %s, which is no volume: %v", f.env["PARLEY_DATA"], f.volumes)
	}
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func() error{
		func() error { return os.Chown(data, uid, gid) },
		func() error { return os.Chmod(root, 0o555) },
		func() error { return os.Chmod(filepath.Dir(root), 0o755) }, // other users cannot enter the directory of the test
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { os.Chmod(root, 0o755) }) // so that it can be removed
	inside := func(extra []string, args ...string) *exec.Cmd {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = "/"
		for name, value := range f.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, extra...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGKILL}
		return cmd
	}

	serve := append(slices.Clone(f.entrypoint), f.cmd...)
	out, err := inside(nil, serve...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no TLS") {
		t.Errorf("without TLS and without PARLEY_INSECURE_PUBLIC: %v\n%s", err, out)
	}
	token, err := inside(nil, "/parley", "token", "create", "--admin", "--data", "/data").Output()
	if err != nil || !strings.HasPrefix(string(token), "plt_") {
		t.Fatalf("the first token: %q, %v", token, err)
	}
	proxied := []string{"PARLEY_INSECURE_PUBLIC=true", "PARLEY_LISTEN=127.0.0.1:0"}
	hub := inside(proxied, append(serve, "-o", "json")...)
	stdout, err := hub.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	hub.Stderr = os.Stderr
	if err := hub.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(patience, func() { hub.Process.Kill() })
	defer stuck.Stop()
	defer hub.Process.Kill() // does nothing to a process that ended
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var first struct{ URL string }
	if err != nil || json.Unmarshal(line, &first) != nil {
		t.Fatalf("serve said %q, %v", line, err)
	}
	for _, probe := range [][]string{f.health, {"/parley", "doctor"}} {
		out, err := inside(append(proxied, "PARLEY_URL="+first.URL, "PARLEY_TOKEN="+strings.TrimSpace(string(token))),
			probe...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", probe, err, out)
		}
	}
	if err := hub.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := hub.Wait(); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if out, err := inside([]string{"PARLEY_URL=" + first.URL}, f.health...).CombinedOutput(); err == nil {
		t.Errorf("the health check finds a hub that has ended: %s", out)
	}
}

// interpreted says whether a program is run by another, the dynamic linker.
func interpreted(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 {
		t.Fatalf("the user is %q; expected numbers, and not root's", text)
	}
	return n
}

// containerfile is what the last stage of a Containerfile sets, and the commands that are run on
// the way.
type containerfile struct {
	run                     map[string]string // by their first words without the environment
	env                     map[string]string
	user                    string
	volumes                 []string
	entrypoint, cmd, health []string
}

func parseContainerfile(t *testing.T, text string) containerfile {
	t.Helper()
	f := containerfile{run: map[string]string{}, env: map[string]string{}}
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "FROM":
			if strings.HasPrefix(rest, "docker.io/library/golang:") &&
				!strings.Contains(runtime.Version(), strings.Fields(rest)[0][len("docker.io/library/golang:"):]) {
				t.Errorf("FROM %s, and this is %s", rest, runtime.Version())
			}
		case "RUN":
			if strings.Contains(rest, "go build") {
				f.run["go build"] = rest
			}
		case "COPY":
			checkCopied(t, rest)
		case "ENV":
			name, value, _ := strings.Cut(rest, "=")
			f.env[name] = value
		case "USER":
			f.user = rest
		case "VOLUME":
			f.volumes = append(f.volumes, strings.Fields(rest)...)
		case "ENTRYPOINT":
			f.entrypoint = words(t, rest)
		case "CMD":
			f.cmd = words(t, rest)
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(rest, " CMD ")
			f.health = words(t, command)
		case "", "#", "WORKDIR", "ARG", "EXPOSE", "STOPSIGNAL":
		default:
			t.Errorf("what is %q?", line)
		}
	}
	return f
}

// checkCopied checks that what is copied from the repository is there.
func checkCopied(t *testing.T, rest string) {
	t.Helper()
	fields := strings.Fields(rest)
	if strings.HasPrefix(fields[0], "--from=") {
		return
	}
	for _, name := range fields[:len(fields)-1] {
		if _, err := os.Stat(filepath.Join("..", name)); err != nil {
			t.Errorf("COPY %s: %v", rest, err)
		}
	}
}

// words reads the JSON form of a command.
func words(t *testing.T, text string) (list []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) == 0 {
		t.Fatalf("%q is no command in the form of a list: %v", text, err)
	}
	return list
}
