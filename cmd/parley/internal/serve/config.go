package serve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/files"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
)

// NewConfigCommand returns the command config.
func NewConfigCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{Use: "config", Short: "check and show the configuration of a " +
		"hub"}, configShowCommand(a),
		configCheckCommand(a))
}

// hubFlags are the flags of serve and of what looks at its settings.
type hubFlags struct {
	dev   bool
	file  string
	flags *config.Flags
	given func(flag string) bool
}

func settingFlags(c *cobra.Command) *hubFlags {
	f := &hubFlags{given: c.Flags().Changed}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&f.file, "config", "", "file of settings, in YAML (default: $"+config.EnvFile+")")
	c.Flags().BoolVar(&f.dev, "dev", false, "for development: loopback only, with an admin token")
	f.flags = config.AddFlags(c.Flags())
	return f
}

// load reads the settings from wherever they are given.
func (f *hubFlags) load() (*config.Loaded, error) {
	if f.file == "" && f.given("config") {
		return nil, errors.New("--config is empty: set a value or leave it out")
	}
	// without a default a directory must be named, which is found out when it is opened
	dir, _ := journals.DataDirectory("")
	return config.Load(config.Sources{File: config.FileName(f.file), Env: os.LookupEnv, Flags: f.flags, DataDir: dir})
}

// checkSettings reads the settings and looks whether a hub could run with them, as far as that can
// be known without starting one. It changes nothing. The error is config.Faults, unless the file
// cannot be read.
func checkSettings(f *hubFlags) (c *config.Loaded, warnings config.Faults, err error) {
	if c, err = f.load(); err != nil {
		return nil, nil, err
	}
	if err := c.Check(f.dev); err != nil {
		return nil, nil, err
	}
	served, left := checkServed(c)
	if faults := slices.Concat(checkTLSFiles(c), checkWritten(c, f.dev), served, checkCards(c),
		checkSources(c)); len(faults) > 0 {
		return nil, nil, faults
	}
	return c, append(c.Warnings(), left...), nil
}

// checkTLSFiles returns the faults of certificates and keys. A hub warns of an expired certificate
// when it starts.
func checkTLSFiles(c *config.Loaded) config.Faults {
	if c.TLS.Cert == "" {
		return nil
	}
	files := filesOf(c)
	contents, err := files.Read()
	if err == nil {
		_, err = certs.LoadServer(files, contents)
	}
	if err == nil {
		return nil
	}
	what := err.Error()
	if hint := exit.HintOf(err); hint != "" {
		what += "; " + hint
	}
	return config.Faults{c.Fault("tls.cert", what)}
}

// checkWritten returns the faults of files that cannot be written, because their directory is
// missing or they are something else, such as a pipe, or that must not be written, because they
// would be among the files of the log.
func checkWritten(c *config.Loaded, dev bool) (faults config.Faults) {
	logged := c.Data != "" && (!dev || c.Given("data"))
	for _, file := range []struct{ setting, path string }{{"auditLog", c.AuditLog}, {"readyFile", c.ReadyFile}} {
		if file.path == "" {
			continue
		}
		switch _, err := os.Stat(filepath.Dir(file.path)); {
		case logged && files.IsBelow(file.path, c.Data):
			faults = append(faults, c.Fault(file.setting, "it lies in the directory of data, which is the log's alone"))
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, c.Fault(file.setting, "there is no directory "+filepath.Dir(file.path)))
		case files.IsIrregular(file.path):
			faults = append(faults, c.Fault(file.setting, file.path+" is no regular file"))
		}
	}
	return faults
}

// explainConfig returns the error of an invalid configuration, which is one of usage. It prints
// several faults on separate lines.
func explainConfig(a *cli.App, err error) error {
	var faults config.Faults
	if errors.As(err, &faults) && len(faults) > 1 && a.Format != cli.FormatJSON {
		for _, f := range faults {
			a.Err.Line(cli.Clean(f.String()))
		}
		err = errors.New(cli.Count(int64(len(faults)), "fault") + " in the configuration")
	}
	return exit.WithHint(exit.Usage(err), "'parley help serve' lists the settings, 'parley config check' looks at them")
}
