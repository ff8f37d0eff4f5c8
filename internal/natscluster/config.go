package natscluster

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Place has the name, the addresses and the directory of a server.
type Place struct {
	// Name is the name of the server.
	Name string
	// Client, Monitor and Route are the addresses for clients, for monitoring and for the other
	// servers: HOST:PORT.
	Client, Monitor, Route string
	// Dir is the directory of its data.
	Dir string
}

// Configuration returns the configuration file of server i of places.
func Configuration(places []Place, i int, o *Options) string {
	var opts Options
	if o != nil {
		opts = *o
	}
	p := places[i]
	text := fmt.Sprintf("server_name: %q\nlisten: %q\nhttp: %q\n", p.Name, p.Client, p.Monitor)
	sync := "sync_interval: always"
	if opts.Unsynced {
		sync = ""
	}
	text += fmt.Sprintf("jetstream { store_dir: %q, %s }\n", filepath.Join(p.Dir, "data"), sync)
	if opts.MaxPayload > 0 {
		text += fmt.Sprintf("max_payload: %d\n", opts.MaxPayload)
	}
	if opts.TLS != nil {
		text += fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\n", opts.TLS.Cert, opts.TLS.Key,
			opts.TLS.CA)
	}
	if len(places) > 1 {
		routes := make([]string, len(places))
		for i, p := range places {
			routes[i] = fmt.Sprintf("%q", "nats://"+p.Route)
		}
		text += fmt.Sprintf("cluster { name: parley, listen: %q, routes: [%s] }\n", p.Route, strings.Join(routes, ", "))
	}
	return text + fmt.Sprintf("accounts {\n  PARLEY { jetstream: enabled, users: [{user: %s, password: %s}] }\n  SYSTEM "+
		"{ users: [{user: %s, password: %s}] }\n}\nsystem_account: SYSTEM\n",
		user, password, systemUser, password)
}

// Login returns the user and the password of the account of the streams.
func Login() (name, secret string) { return user, password }
