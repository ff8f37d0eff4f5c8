// Package egress makes the one kind of HTTP client with which a hub calls addresses that strangers
// have named: webhooks, agent cards, remote agents.
//
// # Guarantees
//
//   - A connection is made to public addresses only, and to those of [Options].AllowPrivate. What
//     is looked at is the address that is dialed, after the name was resolved: a name that resolves
//     to another address later, or to several, changes nothing.
//   - A redirect is an error. No proxy is asked, whatever the environment says. No cookies are
//     kept, nor is a response decompressed.
//   - A response is bounded in its header, its body and its time. TLS is 1.2 or newer, and
//     certificates are verified.
//   - An error names what was wrong, never what the other side has answered, and never the URL's
//     path or query, which may hold secrets: see [Reason].
//
// # Ports
//
// Below 1024 only 80 and 443 are taken: what listens on the others speaks protocols that read
// lines, such as those of mail, and takes a body that somebody else has worded for its own. From
// 1024 on any is taken, for agents and webhooks are found on all of them.
package egress
