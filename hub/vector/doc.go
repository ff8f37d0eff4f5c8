// Package vector finds texts that are like another: it turns texts into vectors, keeps those, and compares them.
//
// # Guarantees
//
//   - A [Store] gives the vector that was put, for that embedder and that text, or none. What was changed on disk, torn or written by others is never given.
//   - What a Store has is derived: it may be deleted at any time, and is made again at the price of asking the [Embedder].
//   - A Store knows texts by their SHA-256 only. Whether somebody may be told of a text is not its business: who searches gives the texts to search in.
//   - [Lexical] and [Nearest] give the same on every machine.
package vector
