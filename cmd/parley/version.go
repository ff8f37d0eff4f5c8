package main

import (
	"cmp"
	"context"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

// release is what 'make build' sets with -X main.release: a version, or a version, a commit and
// its date with spaces between them. Other builds have none.
var release string

// semver is a version by semver.org, without the v that Go puts before it.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?` +
	`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// shortCommit is how many digits of the commit a version has.
const shortCommit = 7

// build describes the source of a program.
type build struct {
	// Version is a semantic version without a v before it.
	Version string
	// Commit is the full hash, and Date the time of the commit.
	// Both are empty for a build outside of a repository.
	Commit string
	Date   time.Time
}

// thisBuild describes the source of this program.
var thisBuild = sync.OnceValue(func() build {
	info, _ := debug.ReadBuildInfo() // nil if the program has none
	return buildOf(release, info)
})

func version() string { return thisBuild().Version }

// buildOf returns the description of a program with this release and this build info.
// The build info may be nil. The version is the first of these that is one:
//
//   - that of the release
//   - the version that Go records: 0.1.0 for 'go install ...@v0.1.0', or a pseudo-version
//   - 0.0.0-dev, with the commit if Go records it, and with .dirty if files were changed
func buildOf(release string, info *debug.BuildInfo) build {
	b, dirty := recordedBuild(info)
	set := strings.Fields(release)
	if len(set) == 3 {
		b.Commit = set[1]
		b.Date, _ = time.Parse(time.RFC3339, set[2]) // zero when it is not a time
	}
	if len(set) > 0 {
		if v := strings.TrimPrefix(set[0], "v"); semver.MatchString(v) {
			b.Version = v
		}
	}
	switch {
	case b.Version != "":
	case b.Commit != "":
		b.Version = "0.0.0-dev+" + b.Commit[:min(len(b.Commit), shortCommit)] + dirty
	default:
		b.Version = "0.0.0-dev"
	}
	return b
}

// recordedBuild returns what Go records, and ".dirty" if files were changed. The build info may be nil.
func recordedBuild(info *debug.BuildInfo) (b build, dirty string) {
	if info == nil {
		return b, ""
	}
	if v := strings.TrimPrefix(info.Main.Version, "v"); semver.MatchString(v) {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date, _ = time.Parse(time.RFC3339, s.Value) // zero when it is not a time
		case "vcs.modified":
			if s.Value == "true" {
				dirty = ".dirty"
			}
		}
	}
	return b, dirty
}

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "print the version of the program and of the protocol",
		Long: `version prints the semantic version of the program, its commit and the date of the commit, and the
versions of the protocol and of Go.

A build of a commit that has no release tag is a development version, such as 0.1.0-dev+8526c70. It ends
with .dirty if files were changed. A build outside of a repository has no commit and no date.`,
		Args: cobra.NoArgs,
	}
	return a.does(c, func(context.Context, []string) error {
		b := thisBuild()
		if a.format == formatJSON {
			return a.out.json(versionOutput{
				Version: b.Version, Commit: b.Commit, Date: dateOf(b.Date),
				ProtocolVersion: parley.ProtocolVersion, Go: runtime.Version(),
			})
		}
		what := "protocol " + parley.ProtocolVersion + ", " + runtime.Version()
		if b.Commit != "" {
			what += ", commit " + b.Commit + ", " + cmp.Or(dateOf(b.Date), "without a date")
		}
		a.out.linef("parley %s (%s)", b.Version, what)
		return nil
	})
}

// versionOutput is what 'parley version -o json' prints.
type versionOutput struct {
	Version         string `json:"version"`
	Commit          string `json:"commit,omitempty"`
	Date            string `json:"date,omitempty"`
	ProtocolVersion string `json:"protocolVersion"`
	Go              string `json:"go"`
}

// dateOf returns a date as the protocol writes it, or "" for the zero time.
func dateOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return parley.TimestampOf(t).String()
}
