package cli

import (
	"runtime/debug"
	"testing"
	"time"
)

func TestBuildOf(t *testing.T) {
	t.Parallel()
	const commit = "8526c70123456789012345678901234567890123"
	vcs := func(module, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: module}, Settings: []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit},
			{Key: "vcs.time", Value: "2026-11-27T18:19:20Z"}, {Key: "vcs.modified", Value: modified},
		}}
	}
	module := func(version string) *debug.BuildInfo { return &debug.BuildInfo{Main: debug.Module{Version: version}} }
	const pseudo = "v0.0.0-20261127181920-8526c7012345"
	for name, c := range map[string]struct {
		release string
		info    *debug.BuildInfo
		want    string
	}{
		"a release":                        {"0.1.0", vcs(pseudo, "false"), "0.1.0"},
		"a release with a v":               {"v0.1.0", module("(devel)"), "0.1.0"},
		"a development version":            {"0.1.0-dev+8526c70.dirty", vcs(pseudo, "true"), "0.1.0-dev+8526c70.dirty"},
		"a release without build info":     {"0.1.0", nil, "0.1.0"},
		"a release that is no version":     {"nightly", vcs("v0.1.0", "false"), "0.1.0"},
		"go build":                         {"", vcs(pseudo, "false"), pseudo[1:]},
		"go build of changed files":        {"", vcs(pseudo+"+dirty", "true"), pseudo[1:] + "+dirty"},
		"go install of a release":          {"", module("v0.1.0"), "0.1.0"},
		"no version, but a commit":         {"", vcs("(devel)", "false"), "0.0.0-dev+8526c70"},
		"no version, and a changed commit": {"", vcs("(devel)", "true"), "0.0.0-dev+8526c70.dirty"},
		"go build without a repository":    {"", module("(devel)"), "0.0.0-dev"},
		"a program without any build info": {"", nil, "0.0.0-dev"},
	} {
		t.Run(name, func(t *testing.T) {
			b := buildOf(c.release, c.info)
			if b.Version != c.want {
				t.Errorf("version %q, want %q", b.Version, c.want)
			}
			if !semver.MatchString(b.Version) {
				t.Errorf("%q is not a semantic version", b.Version)
			}
			if c.info == nil || len(c.info.Settings) == 0 {
				if b.Commit != "" || !b.Date.IsZero() {
					t.Errorf("unexpected commit %q of %v", b.Commit, b.Date)
				}
				return
			}
			if want := time.Date(2026, 11, 27, 18, 19, 20, 0, time.UTC); b.Commit != commit || !b.Date.Equal(want) {
				t.Errorf("commit %q of %v, want %q of %v", b.Commit, b.Date, commit, want)
			}
		})
	}
}

// The linker names the commit where Go does not record it, such as in a git worktree.
func TestBuildOfReleaseWithCommit(t *testing.T) {
	t.Parallel()
	b := buildOf("0.1.0-dev+8526c70 8526c7012345 2026-11-27T19:19:20+01:00", nil)
	want := time.Date(2026, 11, 27, 18, 19, 20, 0, time.UTC)
	if b.Version != "0.1.0-dev+8526c70" || b.Commit != "8526c7012345" || !b.Date.Equal(want) {
		t.Errorf("%+v", b)
	}
}

// The examples of semver.org, and what Go writes.
func TestSemver(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"0.1.0", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.0.0-x-y-z.--", "1.0.0+20130313144700",
		"1.0.0-beta+exp.sha.5114f85", "0.1.0-dev+8526c70.dirty",
	} {
		if !semver.MatchString(s) {
			t.Errorf("%q was refused", s)
		}
	}
	for _, s := range []string{
		"", "dev", "v0.1.0", "1", "1.2", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b", "(devel)", "1.2.3 ",
	} {
		if semver.MatchString(s) {
			t.Errorf("%q was taken", s)
		}
	}
}
