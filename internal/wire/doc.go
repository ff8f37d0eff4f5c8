// Package wire is where Parley meets its wire libraries: it is the only importer of coder/websocket and
// sourcegraph/jsonrpc2.
//
// # Guarantees
//
//   - A frame means one thing only: text that is no UTF-8, no JSON, nests too deep, or names a member twice is refused,
//     so that no two readers can understand it differently ([ReadRequest], [Decode]; [ScanRequest] says the same sooner, or nothing).
//   - Bytes that stay JSON (payloads, ids) come out exactly as they came in.
//   - Nothing is read without a bound on its size, and nothing is written without a bound on the time it takes.
//
// The server side is [Accept] and [Conn]; the client side is [DialStream], [Stream], and
// [Peer] for calls.
package wire
