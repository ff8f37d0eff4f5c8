// Package vector finds similar texts. It turns texts into vectors, stores the vectors and compares
// them.
//
// # Guarantees
//
//   - A [Store] returns only the vector that was put for an embedder and a text. It never returns a
//     record that is changed, incomplete or foreign.
//   - A Store can be deleted at any time. Its vectors are then computed again by the [Embedder].
//   - A Store identifies texts by their SHA-256. It checks no rights: the caller passes the texts
//     that are searched.
//   - [Lexical] and [Nearest] return the same results on every machine.
package vector
