package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Valid and invalid addresses of a shared log. Errors contain no secrets.
func TestParseJournal(t *testing.T) {
	got, err := ParseJournal("nats://parley@a,b:4223,[::1]?stream=hub-1&replicas=3&monitor=http://a:8222,http://b:8222&credentials=/run/nats.creds")
	want := &Journal{
		Servers: []string{"nats://parley@a:4222", "nats://parley@b:4223", "nats://parley@[::1]:4222"}, Stream: "hub-1",
		Replicas: 3,
		Monitors: []string{"http://a:8222", "http://b:8222"}, Credentials: "/run/nats.creds",
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if got, err := ParseJournal("tls://a?vouch=true&ca=ca.pem&cert=c.pem&key=k.pem"); err != nil || !got.TLS() ||
		!got.Vouch || got.Key != "k.pem" {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"http://a":                             "expected nats://",
		"nats://":                              "server 1 of 1 is empty",
		"nats://a,,b":                          "server 2 of 3 is empty",
		"nats://a,a:4222":                      "server 2 of 2 is there twice",
		"nats://a b":                           "expected HOST",
		"nats://me:SECRET@a":                   "PARLEY_NATS_PASSWORD",
		"nats://me@a,nats://me:SECRET@b":       "PARLEY_NATS_PASSWORD",
		"nats://a/SECRET":                      "expected HOST",
		"nats://a?stream=a.b":                  "stream: expected",
		"nats://a?replicas=2":                  "expected 1, 3 or 5",
		"nats://a?replicas=x":                  "expected 1, 3 or 5",
		"nats://a?monitor=a:8222":              "monitor: expected",
		"nats://a?vouch=yes":                   "vouch: expected",
		"nats://a?vouch=true&monitor=http://a": "not both",
		"nats://a?token=SECRET":                "unknown behind the ?",
		"nats://a?stream=a&stream=b":           "twice",
		"nats://a?ca=x":                        "begin with tls://",
		"tls://a?cert=x":                       "cert and key go together",
		"nats://a?credentials=":                "credentials: expected a path",
	} {
		if _, err := ParseJournal(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(),
			"SECRET") {
			t.Errorf("%s: %v, expected %q", text, err, want)
		}
	}
}
