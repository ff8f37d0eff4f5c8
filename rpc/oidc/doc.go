// Package oidc verifies the tokens of an OpenID Connect issuer. They are JSON Web Tokens that are
// signed with an asymmetric algorithm by a key that the issuer publishes.
//
//	verifier, err := oidc.New(ctx, oidc.Options{Issuer: "https://login.example.com", Audience: "parley"})
//	h, err := hub.Open(journal, &hub.Options{Verifier: verifier})
//
// # Guarantees
//
//   - Keys come only from the address that the configuration of the issuer names. The verifier fetches
//     nothing that a token names.
//   - A good token has the issuer and the audience of the options, an expiry, and a subject. Its type
//     is missing, JWT or at+jwt. Its scopes can be read, and admin is ignored unless it is allowed. The
//     refusal does not say which of these is wrong.
//   - The issuer is first asked when the first token arrives, and may be down until then. While the
//     verifier cannot decide about a token, it returns parley.ErrUnavailable.
//   - For any tokens, the issuer is asked for its keys at most once in 10 s. While the issuer answers, a
//     key that it no longer publishes is valid for at most 15 minutes.
package oidc
