package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// disk is what a directory lies on.
type disk struct {
	// kind is the name of the file system, such as ext4; empty when it is not known.
	kind string
	// free is how many bytes a user may still write.
	free uint64
	// remote: it is another machine's. fleeting: it does not outlive this machine or container.
	remote, fleeting bool
}

const (
	// openFiles is what a hub with tens of thousands of sockets needs.
	openFiles = 65536
	// spaceLow and spaceOut are bytes of free space: the log grows by whole pages, and its index is
	// written beside it.
	spaceLow = 1 << 30
	spaceOut = 64 << 20
)

// machine looks at what a hub on this machine would run with.
func (d *doctor) machine(f doctorFlags) {
	dir, err := journals.DataDirectory(f.data)
	if err != nil {
		d.skip("data", err.Error())
	}
	c := d.config(config.Sources{File: config.FileName(f.config), Env: os.LookupEnv, DataDir: dir})
	if f.data == "" {
		dir = c.Data
	}
	if dir != "" {
		d.data(dir)
	}
	d.certificate(c)
	d.listening(c)
	d.limits()
}

// config loads and checks the configuration. One that cannot be loaded is as if there were none.
func (d *doctor) config(from config.Sources) *config.Loaded {
	c, err := config.Load(from)
	if err != nil {
		d.faults(err)
		return &config.Loaded{Config: config.Config{Data: from.DataDir}}
	}
	if err := c.Check(false); err != nil {
		d.faults(err)
		return c
	}
	for _, f := range c.Warnings() {
		d.warn("config", f.String(), "")
	}
	switch {
	case from.File != "":
		d.ok("config", from.File+" is good")
	case len(c.Origins()) > 0:
		d.ok("config", "no file is named; what the environment sets is good")
	default:
		d.skip("config", "no file is named, and the environment sets nothing")
	}
	return c
}

// faults prints everything that is wrong with a configuration.
func (d *doctor) faults(err error) {
	var faults config.Faults
	if !errors.As(err, &faults) {
		d.fail("config", err.Error(), "--config and "+config.EnvFile+" name a file")
	}
	for _, f := range faults {
		d.fail("config", f.String(), "see docs/reference/configuration.md")
	}
}

// data looks at the directory of a log.
func (d *doctor) data(dir string) {
	exists, inUse, err := bolt.Look(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !exists:
		d.skip("data", "there is no log in "+dir)
		return
	case errors.Is(err, fs.ErrPermission):
		d.skip("data", "this user may not read "+dir)
		return
	case errors.Is(err, journal.ErrFormat):
		d.fail("data", err.Error(), "run the version of parley that wrote it")
		return
	case err != nil:
		d.fail("data", err.Error(), "--data names the directory of a hub's log")
		return
	case inUse:
		d.ok("data", "a hub has the log in "+dir+" open")
	default:
		d.ok("data", "the log in "+dir+" is closed")
	}
	d.owner(dir)
	d.disk(dir)
}

// owner checks that the data are for one user only.
func (d *doctor) owner(dir string) {
	info, err := os.Stat(dir)
	if err != nil {
		d.fail("owner", err.Error(), "")
		return
	}
	user, known := certs.OwnerOf(info)
	switch mode := info.Mode().Perm(); {
	case known && mode&0o077 != 0:
		d.warn("owner", fmt.Sprintf("%s has mode %04o: others may look into it", dir, mode), "chmod 700 "+dir)
	case known && user != os.Geteuid() && os.Geteuid() != 0:
		d.fail("owner", fmt.Sprintf("%s belongs to user %d, and this is user %d", dir, user, os.Geteuid()),
			"run the hub and its tools as one user")
	default:
		d.ok("owner", "no other user may look into "+dir)
	}
}

// disk checks where the data lie: on a disk of this machine, with room.
func (d *doctor) disk(dir string) {
	disk, err := diskOf(dir)
	if err != nil {
		d.skip("disk", err.Error())
		return
	}
	free := fmt.Sprintf("%s has %s free", dir, sizeText(disk.free))
	switch {
	case disk.free < spaceOut:
		d.fail("disk", free, "make room: the hub refuses writes with storage_full")
	case disk.remote:
		d.warn("disk", dir+" is on "+disk.kind+", where locks and syncs may not hold",
			"put the log on a disk of this machine")
	case disk.fleeting:
		d.warn("disk", dir+" is on "+disk.kind+", which is gone with the machine or the container",
			"put the log on a disk or a volume")
	case disk.free < spaceLow:
		d.warn("disk", free, "make room before it is full")
	default:
		d.ok("disk", free)
	}
}

func sizeText(bytes uint64) string {
	const units = "KMGT"
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/(1<<10), 0
	for value >= 1<<10 && unit < len(units)-1 {
		value /= 1 << 10
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}

// certificate checks the hub's own.
func (d *doctor) certificate(c *config.Loaded) {
	files := certs.Files{Cert: c.TLS.Cert, Key: c.TLS.Key, ClientCA: c.TLS.ClientCA}
	if files == (certs.Files{}) {
		d.skip("certificate", "none is configured")
		return
	}
	contents, err := files.Read()
	if err != nil {
		d.fail("certificate", err.Error(), "")
		return
	}
	loaded, err := certs.LoadServer(files, contents)
	if err != nil {
		d.fail("certificate", err.Error(), "")
		return
	}
	leaf := loaded.Certificates[0].Leaf
	now := time.Now()
	if err := certs.CheckValidity(leaf, now); err != nil {
		found, advice := files.Cert+" "+err.Error(), "put a new pair there: the hub finds it by itself"
		if now.After(leaf.NotAfter) || now.Before(leaf.NotBefore) {
			d.fail("certificate", found, advice)
		} else {
			d.warn("certificate", found, advice)
		}
		return
	}
	for _, host := range c.Hosts() {
		name := hostOf(host)
		if err := leaf.VerifyHostname(name); err != nil {
			d.warn("certificate", fmt.Sprintf("%s is not for %s, which allowHosts has", files.Cert, name), "its names are "+
				strings.Join(certs.HostNames(leaf), ", "))
			return
		}
	}
	d.ok("certificate",
		fmt.Sprintf("%s is for %s, until %s", files.Cert, strings.Join(certs.HostNames(leaf), ", "),
			leaf.NotAfter.UTC().Format(time.DateOnly)))
}

// listening looks for what should not be together with a hub that others reach.
func (d *doctor) listening(c *config.Loaded) {
	host := "127.0.0.1"
	if c.Listen != "" {
		host = hostOf(c.Listening())
	}
	public := !cli.IsLoopback(host)
	switch {
	case public && os.Getenv(cli.EnvDevToken) != "":
		d.fail("listen", cli.EnvDevToken+" is set for a hub that others reach", "unset it: it is for --dev")
	case public && c.TLS.Cert == "":
		d.warn("listen", host+" is reached by others, without TLS",
			"set tls.cert and tls.key, or let only a TLS proxy reach it")
	case public:
		d.ok("listen", host+", with TLS")
	default:
		d.ok("listen", host+": this machine only")
	}
}

// limits looks at what the system allows a process.
func (d *doctor) limits() {
	most, ok := maxOpenFiles()
	switch {
	case !ok:
		d.skip("files", "the limit of open files is unknown on this system")
	case most < openFiles:
		d.warn("files", fmt.Sprintf("a process may have %d files open, and every socket is one", most),
			fmt.Sprintf("LimitNOFILE=%d in the unit, or ulimit -n", openFiles))
	default:
		d.ok("files", fmt.Sprintf("a process may have %d files open", most))
	}
}

// hostOf is a host without its port and brackets.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return strings.Trim(host, "[]")
}
