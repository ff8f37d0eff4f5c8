package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Journal is a log on NATS servers that several hubs share.
type Journal struct {
	// Servers are URLs with one host each.
	Servers []string
	// Stream is the name of the stream, and Replicas the number of servers with each message. Empty
	// and 0 mean the default of the journal.
	Stream   string
	Replicas int
	// Monitors are the monitoring URLs of the servers. Vouch means that the operator confirms their
	// configuration instead.
	Monitors []string
	Vouch    bool
	// Credentials, CA, Cert and Key are files.
	Credentials, CA, Cert, Key string
}

// TLS reports whether the servers are reached over TLS.
func (j *Journal) TLS() bool { return strings.HasPrefix(j.Servers[0], "tls://") }

// Where returns the servers and the stream, without secrets.
func (j *Journal) Where() string {
	where := strings.Join(j.Servers, ",")
	if j.Stream != "" {
		where += "?stream=" + j.Stream
	}
	return where
}

var journalURL = rule{
	expected: "the address of NATS servers such as nats://host:4222,host:4222?stream=parley&replicas=3",
	pattern:  regexp.MustCompile(`^(nats|tls)://[!-~]+$`),
	precise:  func(text string) error { _, err := ParseJournal(text); return err },
}

var (
	streamName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	monitorURL = regexp.MustCompile(`^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$`)
	natsHost   = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)
)

const (
	maxServers  = 32
	natsPort    = "4222"
	inPassword  = "a password goes into PARLEY_NATS_PASSWORD, never into an address; or name a file with credentials="
	journalKeys = "expected stream, replicas, monitor, vouch, credentials, ca, cert and key"
)

// ParseJournal reads the address of a log on NATS servers:
//
//	nats://[user@]host[:port][,host[:port]...]?stream=NAME&replicas=N&monitor=URL[,URL...]
//	    &vouch=true&credentials=FILE&ca=FILE&cert=FILE&key=FILE
//
// Errors never quote the address, which could contain a secret.
func ParseJournal(text string) (*Journal, error) {
	address, query, _ := strings.Cut(text, "?")
	scheme, hosts, ok := strings.Cut(address, "://")
	if !ok || scheme != "nats" && scheme != "tls" {
		return nil, errors.New("expected nats:// or tls:// and the names of servers")
	}
	j := &Journal{}
	if err := j.servers(scheme, hosts); err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("what follows the ? cannot be read: expected name=value&name=value")
	}
	for name, given := range values {
		if len(given) > 1 {
			return nil, errors.New("something is there twice behind the ?")
		}
		if err := j.set(name, given[0]); err != nil {
			return nil, err
		}
	}
	switch {
	case (j.Cert == "") != (j.Key == ""):
		return nil, errors.New("cert and key go together")
	case !j.TLS() && (j.CA != "" || j.Cert != ""):
		return nil, errors.New("ca, cert and key are for addresses that begin with tls://")
	case j.Vouch && len(j.Monitors) > 0:
		return nil, errors.New("set monitor or vouch, not both")
	}
	return j, nil
}

// servers parses the part between :// and ?.
func (j *Journal) servers(scheme, hosts string) error {
	user, list, named := strings.Cut(hosts, "@")
	if !named {
		user, list = "", hosts
	}
	if strings.ContainsAny(user, ":") || strings.Contains(list, "@") {
		return errors.New(inPassword)
	}
	all := strings.Split(list, ",")
	if len(all) > maxServers {
		return fmt.Errorf("%d servers, expected at most %d", len(all), maxServers)
	}
	for i, host := range all {
		switch {
		case host == "":
			return fmt.Errorf("server %d of %d is empty: expected names with one comma between two", i+1, len(all))
		case !natsHost.MatchString(host):
			return fmt.Errorf("server %d of %d: expected HOST or HOST:PORT", i+1, len(all))
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), natsPort)
		}
		u := url.URL{Scheme: scheme, Host: host}
		if user != "" {
			u.User = url.User(user)
		}
		if slices.Contains(j.Servers, u.String()) {
			return fmt.Errorf("server %d of %d is there twice", i+1, len(all))
		}
		j.Servers = append(j.Servers, u.String())
	}
	return nil
}

// set sets one value of the query.
func (j *Journal) set(name, value string) (err error) {
	switch name {
	case "stream":
		if !streamName.MatchString(value) {
			return errors.New("stream: expected 1 to 64 of A-Z a-z 0-9 _ -")
		}
		j.Stream = value
	case "replicas":
		if j.Replicas, err = strconv.Atoi(value); err != nil || j.Replicas < 1 || j.Replicas > 5 || j.Replicas%2 == 0 {
			return errors.New("replicas: expected 1, 3 or 5")
		}
	case "monitor":
		j.Monitors = strings.Split(value, ",")
		if slices.ContainsFunc(j.Monitors, func(m string) bool { return !monitorURL.MatchString(m) }) {
			return errors.New("monitor: expected addresses such as http://host:8222 with commas between")
		}
	case "vouch":
		if value != "true" && value != "false" {
			return errors.New("vouch: expected true or false")
		}
		j.Vouch = value == "true"
	case "credentials", "ca", "cert", "key":
		if value == "" || path.text(value) != nil {
			return fmt.Errorf("%s: expected a path", name)
		}
		*map[string]*string{"credentials": &j.Credentials, "ca": &j.CA, "cert": &j.Cert, "key": &j.Key}[name] = value
	default:
		return errors.New("there is something unknown behind the ?: " + journalKeys)
	}
	return nil
}
