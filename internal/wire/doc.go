// Package wire wraps the wire libraries of Parley: no other package imports coder/websocket and
// sourcegraph/jsonrpc2.
//
// # Guarantees
//
//   - A frame has one meaning. Text that is not UTF-8, not JSON, nested too deeply, or has a duplicate
//     member is refused, so that no two parsers can understand it differently ([ReadRequest],
//     [Decode]). [ScanRequest] returns the same result faster, or none.
//   - Bytes that remain JSON (payloads, ids) are returned unchanged.
//   - Every read has a limit for its size, and every write has a limit for its time.
//
// The server side is [Accept] and [Conn]. The client side is [DialStream], [Stream], and [Peer] for
// calls.
package wire
