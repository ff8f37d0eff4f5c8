// Package sse writes and reads text/event-stream as the HTML standard says (section 9.2, server-sent events).
//
// What Append writes Reader gives back byte for byte, as long as the data has no carriage return. A Reader holds no more of a message
// than it was told to, whatever it is sent.
package sse
