// Package oidc takes the tokens of an OpenID Connect issuer: JSON Web Tokens that are signed with an asymmetric algorithm by a key that the
// issuer publishes.
//
// # Guarantees
//
//   - Keys come from the address that the issuer's configuration names, and from nowhere else: nothing that a token says is ever fetched.
//   - A token has the issuer and the audience of the options, an expiry, and a subject; its type, if it has one, is JWT or at+jwt; its scopes can be
//     read, and admin is none of them unless that is allowed. Which of these was wrong is told to nobody.
//   - The issuer is asked when the first token comes, and may be down until then. While it is not known whether a token is good, the answer is
//     parley.ErrUnavailable.
//   - Whatever tokens come, the issuer is asked for its keys at most once in 10 s. A key that it no longer publishes is taken for 15 minutes at most,
//     while the issuer answers.
package oidc
