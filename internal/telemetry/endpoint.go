package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The environment variables that this package reads. The exporters read more.
const (
	envDisabled = "OTEL_SDK_DISABLED"
	envContent  = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
	envAll      = "OTEL_EXPORTER_OTLP_ENDPOINT"
)

// signal is traces or metrics.
type signal struct {
	path     string
	endpoint string // the variable with the endpoint of the signal, which is used unchanged
	exporter string // the variable that can disable it
	protocol string
}

var (
	traceSignal = signal{"/v1/traces", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_TRACES_EXPORTER",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"}
	metricSignal = signal{"/v1/metrics", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_METRICS_EXPORTER",
		"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"}
)

// places are the endpoints of traces and metrics; nil disables one.
type places struct{ traces, metrics *url.URL }

func (p places) none() bool { return p.traces == nil && p.metrics == nil }

// hosts returns the hosts without duplicates.
func (p places) hosts() (hosts []string) {
	for _, u := range []*url.URL{p.traces, p.metrics} {
		if u != nil && !slices.Contains(hosts, hostOf(u)) {
			hosts = append(hosts, hostOf(u))
		}
	}
	return hosts
}

func hostOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// findPlaces returns the endpoints below a setting, or, if that is empty, those of the environment.
func findPlaces(setting string) (p places, err error) {
	if off, _ := strconv.ParseBool(os.Getenv(envDisabled)); off {
		return p, nil
	}
	if p.traces, err = traceSignal.place(setting); err != nil {
		return p, err
	}
	p.metrics, err = metricSignal.place(setting)
	return p, err
}

func (s signal) place(setting string) (*url.URL, error) {
	name, text, own := "the OTLP endpoint", setting, false
	if text == "" {
		name, text, own = s.endpoint, os.Getenv(s.endpoint), true
	}
	if text == "" {
		name, text, own = envAll, os.Getenv(envAll), false
	}
	if text == "" {
		return nil, nil
	}
	enabled, err := s.enabled()
	if err != nil || !enabled {
		return nil, err
	}
	u, err := ParseEndpoint(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if !own {
		u.Path = strings.TrimSuffix(u.Path, "/") + s.path
	}
	u.Path = cmp.Or(u.Path, "/")
	return u, nil
}

// enabled reports whether the environment enables the signal. It returns an error for an
// unsupported exporter.
func (s signal) enabled() (bool, error) {
	switch exporter := os.Getenv(s.exporter); exporter {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("%s names an exporter that there is not here: expected otlp or none", s.exporter)
	}
	for _, name := range []string{s.protocol, "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := os.Getenv(name); protocol {
		case "":
			continue
		case "http/protobuf", "http/json":
			return true, nil
		default:
			return false, fmt.Errorf("%s names a protocol that is not spoken here: expected http/protobuf or http/json", name)
		}
	}
	return true, nil
}

// ParseEndpoint parses the URL of a collector. The error does not quote it, because it may contain
// a secret.
func ParseEndpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return nil, errors.New("it is no address of a collector of OpenTelemetry: expected one such as http://127.0.0.1:4318")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("it has more in it than an address: what the collector wants to be shown goes into " +
			"OTEL_EXPORTER_OTLP_HEADERS")
	}
	return u, nil
}

// requestsContent reports whether the environment requests content.
func requestsContent() bool {
	on, _ := strconv.ParseBool(os.Getenv(envContent))
	return on
}

// headers are the variables with headers for collectors.
var headers = []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
	"OTEL_EXPORTER_OTLP_METRICS_HEADERS"}

// secrets returns the secrets in headers and paths of collectors, longest first. A collector may
// repeat them in a refusal.
func (p places) secrets() (all []string) {
	add := func(s string) {
		if len(s) > 1 && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	for _, name := range headers {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			_, value, _ := strings.Cut(pair, "=")
			value = strings.TrimSpace(value)
			add(value)
			if plain, err := url.PathUnescape(value); err == nil {
				add(plain)
				_, credentials, _ := strings.Cut(plain, " ") // of Authorization
				add(credentials)
			}
		}
	}
	for s, u := range map[*signal]*url.URL{&traceSignal: p.traces, &metricSignal: p.metrics} {
		if u != nil {
			add(strings.TrimSuffix(u.Path, s.path))
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}
