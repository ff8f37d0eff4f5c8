package cli

import (
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// release describes the source that 'make build' has built: a version, or a version, a commit and
// its date with spaces between them. Other builds have none.
var release string

// SetRelease sets the release. It must be called before the version is read.
func SetRelease(text string) { release = text }

// semver is a version by semver.org, without the v that Go puts before it.
var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)` +
	`(-(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?` +
	`(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// shortCommit is how many digits of the commit a version has.
const shortCommit = 7

// Build describes the source of a program.
type Build struct {
	// Version is a semantic version without a v before it.
	Version string
	// Commit is the full hash, and Date the time of the commit.
	// Both are empty for a build outside of a repository.
	Commit string
	Date   time.Time
}

// ThisBuild describes the source of this program.
var ThisBuild = sync.OnceValue(func() Build {
	info, _ := debug.ReadBuildInfo() // nil if the program has none
	return buildOf(release, info)
})

// Version returns the semantic version of this program.
func Version() string { return ThisBuild().Version }

// buildOf returns the description of a program with this release and this build info.
// The build info may be nil. The version is the first of these that is one:
//
//   - that of the release
//   - the version that Go records: 0.1.0 for 'go install ...@v0.1.0', or a pseudo-version
//   - 0.0.0-dev, with the commit if Go records it, and with .dirty if files were changed
func buildOf(release string, info *debug.BuildInfo) Build {
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

// recordedBuild returns what Go records, and ".dirty" if files were changed. The build info may be
// nil.
func recordedBuild(info *debug.BuildInfo) (b Build, dirty string) {
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
