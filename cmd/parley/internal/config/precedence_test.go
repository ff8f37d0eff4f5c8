package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

// place is a kind of place of a setting.
type place int

const (
	byFile place = iota
	byEnv
	byFlag
)

// values returns three valid values of a setting, one for each place, all different from the
// default.
func values(s config.Setting) [3]string {
	var c config.Config
	switch s.Value(&c).(type) {
	case bool:
		return [3]string{"false", "true", "false"}
	case int, float64:
		return [3]string{"11", "12", "13"}
	}
	switch s.Name {
	case "listen", "metricsListen":
		return [3]string{"127.0.0.1:11", "127.0.0.1:12", "127.0.0.1:13"}
	case "oidc.issuer", "allowOrigins", "publicUrl", "embeddings", "otlpEndpoint":
		return [3]string{"https://a", "https://b", "https://c"}
	case "trustedProxies", "a2aAllowPrivate":
		return [3]string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}
	case "mcpToolsets":
		return [3]string{"agents", "conversations", "agents"}
	case "mcpMaxWait":
		return [3]string{"1s", "2s", "3s"}
	case "logLevel":
		return [3]string{"debug", "warn", "error"}
	case "journal":
		return [3]string{"nats://a", "nats://b", "tls://c"}
	case "replayMode":
		return [3]string{"record", "play", "auto"}
	case "logFormat":
		return [3]string{"json", "text", "json"}
	}
	return [3]string{"a", "b", "c"}
}

// load sets a setting at the given places.
func load(t *testing.T, s config.Setting, by ...place) *config.Loaded {
	t.Helper()
	v := values(s)
	var src config.Sources
	for _, p := range by {
		switch p {
		case byFile:
			src.File = filepath.Join(t.TempDir(), "parley.yaml")
			if err := os.WriteFile(src.File, []byte(asYAML(s, v[byFile])), 0o600); err != nil {
				t.Fatal(err)
			}
		case byEnv:
			src.Env = func(name string) (string, bool) { return v[byEnv], name == s.Env }
		case byFlag:
			set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
			src.Flags = config.AddFlags(set)
			if err := set.Parse([]string{"--" + s.Flag + "=" + v[byFlag]}); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, err := config.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func asYAML(s config.Setting, value string) string {
	if _, list := s.Value(&config.Config{}).([]string); list {
		value = "['" + value + "']"
	}
	if group, name, ok := strings.Cut(s.Name, "."); ok {
		return fmt.Sprintf("%s: {%s: %s}\n", group, name, value)
	}
	return fmt.Sprintf("%s: %s\n", s.Name, value)
}

// For every setting and every set of places, the place with the highest precedence counts and is
// its origin.
func TestPrecedence(t *testing.T) {
	where := map[place]config.Where{byFile: config.FromFile, byEnv: config.FromEnv, byFlag: config.FromFlag}
	for _, s := range config.Settings {
		for bits := range 1 << 3 {
			var by []place
			for _, p := range []place{byFlag, byEnv, byFile} {
				if bits&(1<<p) != 0 {
					by = append(by, p)
				}
			}
			l := load(t, s, by...)
			want, from := s.Value(&mustLoad(t).Config), config.FromDefault
			if len(by) > 0 {
				want, from = s.Value(&load(t, s, by[0]).Config), where[by[0]]
			}
			if got := s.Value(&l.Config); !cmp.Equal(got, want) || l.Origin(s.Name).Where != from {
				t.Errorf("%s by %v: %v from %s, expected %v from %s", s.Name, by, got, l.Origin(s.Name), want, from)
			}
		}
	}
}

func mustLoad(t *testing.T) *config.Loaded {
	t.Helper()
	l, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A value of a single place is set, so that the test of precedence compares real values.
func TestGivenIsTheValue(t *testing.T) {
	for _, s := range config.Settings {
		for _, p := range []place{byFile, byEnv, byFlag} {
			got := s.Value(&load(t, s, p).Config)
			if list, ok := got.([]string); ok {
				got = strings.Join(list, ",")
			}
			if fmt.Sprint(got) != values(s)[p] {
				t.Errorf("%s: %v, expected %s", s.Name, got, values(s)[p])
			}
		}
	}
}

// A variable has commas between items. A flag is repeated for each item, or has commas, too.
func TestLists(t *testing.T) {
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags := config.AddFlags(set)
	if err := set.Parse([]string{"--allow-origin", "https://a", "--allow-origin=https://b", "--workspaces=lab,ward",
		"--workspaces=home"}); err != nil {
		t.Fatal(err)
	}
	l, err := config.Load(config.Sources{Flags: flags, Env: func(name string) (string, bool) {
		return "a.example.com, b.example.com", name == "PARLEY_ALLOW_HOSTS"
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Concat(l.AllowHosts, l.AllowOrigins, l.Workspaces); !cmp.Equal(got, []string{"a.example.com",
		"b.example.com", "https://a", "https://b", "lab", "ward", "home"}) {
		t.Errorf("%q", got)
	}
}

// Values with lower precedence are checked, too. All faults are reported together, without values
// except names of workspaces.
func TestFaultsOfAllPlaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte("maxPending: canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags := config.AddFlags(set)
	if err := set.Parse([]string{"--max-pending=7", "--limits-streams=canary", "--allow-host=",
		"--workspaces=lab,-x"}); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(config.Sources{File: file, Flags: flags, Env: func(name string) (string, bool) {
		text, ok := map[string]string{"PARLEY_MAX_PENDING": "canary", "PARLEY_TLS_CLIENT_CA": "",
			"PARLEY_ALLOW_ORIGINS": "https://a,"}[name]
		return text, ok
	}})
	faults, _ := err.(config.Faults)
	var got []string
	for _, f := range faults {
		got = append(got, strings.TrimPrefix(f.String(), filepath.Dir(file)+"/"))
	}
	want := []string{
		"parley.yaml:1:13: maxPending: expected an integer from 1 to 100000",
		"PARLEY_ALLOW_ORIGINS: expected an origin such as https://chat.example.com",
		"PARLEY_TLS_CLIENT_CA: expected a path",
		"PARLEY_MAX_PENDING: expected an integer from 1 to 100000",
		"--allow-host: expected a host, perhaps with a port, such as hub.example.com",
		`--workspaces: "-x": expected the name of a workspace, such as clinic`,
		"--limits-streams: expected an integer from 1 to 1000000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
