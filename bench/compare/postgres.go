package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// postgresServer is the installed PostgreSQL with a new cluster.
type postgresServer struct {
	text string

	proc    *process
	addr    string
	version string
	spread  int // conversations that inserts are spread over
	filled  int // events of postgresOne
}

const (
	postgresUser        = "postgres"
	postgresConnections = 300
	// postgresOne is the conversation of the replay.
	postgresOne = -1
	// postgresTable has one sequence for all conversations, which is the fastest that keeps an order
	// within each.
	postgresTable = "create table event (conversation int not null, seq bigserial, body text not null, primary key (conversation, seq))"
)

func (s *postgresServer) about() About {
	return About{
		Name: "postgres", Version: s.version,
		Durable: "fsync on, synchronous_commit on; one bigserial for all conversations, so seq is neither dense nor in the order of commits; fan-out by NOTIFY, which keeps nothing",
	}
}

func (s *postgresServer) process() *process { return s.proc }

func (s *postgresServer) start(ctx context.Context, dir string) error {
	bin, err := postgresBin()
	if err != nil {
		return err
	}
	as, err := postgresCredential()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if as != nil { // not as root: it refuses
		if err := os.Chown(dir, int(as.Uid), int(as.Gid)); err != nil {
			return err
		}
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", postgresUser, "-A", "trust", "-E",
		"UTF8", "--no-locale", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = dir, &syscall.SysProcAttr{Credential: as}
	if said, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, said)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	s.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.proc, err = program{path: filepath.Join(bin, "postgres"), args: postgresArgs(data, port), dir: dir, user: as,
		stop: syscall.SIGINT}.start()
	if err != nil {
		return err
	}
	return s.proc.ready(ctx, s.look)
}

// postgresArgs keeps the default durability, and raises the sizes so that no checkpoint occurs
// during the measurement.
func postgresArgs(data string, port int) []string {
	args := []string{"-D", data}
	for _, set := range []string{
		"listen_addresses=127.0.0.1", "port=" + strconv.Itoa(port), "unix_socket_directories=",
		"max_connections=" + strconv.Itoa(postgresConnections),
		"fsync=on", "synchronous_commit=on",
		"shared_buffers=1GB", "max_wal_size=16GB", "checkpoint_timeout=1h", "autovacuum=off",
	} {
		args = append(args, "-c", set)
	}
	return args
}

// postgresBin finds where initdb and postgres are; Debian does not put them into PATH.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%w: postgres is not installed (apt-get install postgresql)", errMissing)
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// postgresCredential is that of the user of the package where this process is root's.
func postgresCredential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(postgresUser)
	if err != nil {
		return nil, fmt.Errorf("%w: postgres does not run as root, and there is no user %s", errMissing, postgresUser)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// look asks how it is set, and makes the table.
func (s *postgresServer) look(ctx context.Context) error {
	l, err := dialPostgres(ctx, s.addr)
	if err != nil {
		return err
	}
	defer l.close()
	for _, setting := range []string{"fsync", "synchronous_commit"} {
		if got, err := postgresCell(l, "show "+setting); err != nil || got != "on" {
			return fmt.Errorf("%s is %q: expected on (%w)", setting, got, err)
		}
	}
	version, err := postgresCell(l, "show server_version")
	if err != nil {
		return err
	}
	s.version, _, _ = strings.Cut(version, " ")
	return postgresDo(l, postgresTable)
}

func (s *postgresServer) prepare(_ context.Context, n int) error {
	s.spread = n
	return nil
}

func (s *postgresServer) appender(ctx context.Context, _, window int) (*lane, error) {
	l, err := dialPostgres(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	if err := postgresPrepare(l, "insert into event (conversation, body) values ($1::int, $2::text) returning seq"); err != nil {
		l.close()
		return nil, err
	}
	return newLane(l, window, func(b []byte, _ int) []byte {
		conversation := binary.BigEndian.AppendUint32(nil, uint32(rand.IntN(s.spread)))
		return appendExecute(b, string(conversation), s.text)
	}), nil
}

func (s *postgresServer) appended(ctx context.Context) (int, error) {
	l, err := dialPostgres(ctx, s.addr)
	if err != nil {
		return 0, err
	}
	defer l.close()
	got, err := postgresCell(l, "select count(*) from event where conversation >= 0")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(got)
}

// mostSubscribers: each is a process, and NOTIFY wakes them one by one.
func (s *postgresServer) mostSubscribers() int { return 100 }

func (s *postgresServer) subscriber(ctx context.Context, _ int) (*line, error) {
	l, err := dialPostgres(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	if err := postgresDo(l, "listen fan"); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (s *postgresServer) publisher(ctx context.Context) (*lane, error) {
	l, err := dialPostgres(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	if err := postgresPrepare(l, "select pg_notify('fan', $1::text)"); err != nil {
		l.close()
		return nil, err
	}
	return newLane(l, publishWindow, func(b []byte, _ int) []byte { return appendExecute(b, s.text) }), nil
}

func (s *postgresServer) fill(ctx context.Context, n int) error {
	l, err := dialPostgres(ctx, s.addr)
	if err != nil {
		return err
	}
	defer l.close()
	s.filled = n
	if err := postgresDo(l, fmt.Sprintf("insert into event (conversation, body) select %d, '%s' from generate_series(1, %d)", postgresOne, s.text, n)); err != nil {
		return err
	}
	return postgresDo(l, "vacuum analyze event")
}

func (s *postgresServer) readers() []reader {
	return []reader{{
		name: "postgres ordered select",
		open: func(ctx context.Context) (*line, error) {
			l, err := dialPostgres(ctx, s.addr)
			if err != nil {
				return nil, err
			}
			return l, postgresPrepare(l, fmt.Sprintf("select seq, body from event where conversation = %d order by seq",
				postgresOne))
		},
		read: s.selectAll,
	}}
}

// selectAll reads all rows of one query.
func (s *postgresServer) selectAll(l *line) (int, error) {
	l.hear = hearPostgresRows
	defer func() { l.hear = hearPostgres }()
	if err := l.write(appendExecute(nil)); err != nil {
		return 0, err
	}
	return l.countUntilEnd()
}
