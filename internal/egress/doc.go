// Package egress creates the HTTP clients with which a hub calls addresses that users supply:
// webhooks, agent cards, remote agents.
//
// # Guarantees
//
//   - A client connects only to public addresses and to the ranges of [Options].AllowPrivate. It
//     checks the dialed address after name resolution. A name with several or changing addresses
//     cannot bypass the check.
//   - A redirect is an error. Clients ignore proxies of the environment, keep no cookies, and do
//     not decompress responses.
//   - The header, the body and the time of a response are limited. TLS is 1.2 or newer, and
//     certificates are verified.
//   - Errors never quote the response, and never the path or query of the URL, which may be
//     secret: see [Reason].
//
// # Ports
//
// Below 1024 only the ports 80 and 443 are allowed. Services on other low ports, such as mail, read
// lines and could accept a forged body as commands. Any port from 1024 is allowed, because agents
// and webhooks use all of them.
package egress
