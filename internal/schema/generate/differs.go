package generate

import (
	"github.com/parleyhub/parley/internal/methods"
)

// httpDiffers describes the difference of each method that has another form over plain HTTP. A test
// of package rpc compares it with the served routes.
var httpDiffers = map[string]string{
	methods.PutAttachment: "The body is the file, in place of data, and Content-Type its mediaType; conversationId and name are query parameters. " +
		"A file may have 16 MiB.",
	methods.GetAttachment: "There is no offset and no length, but the header Range. The answer is the bytes of the file as application/octet-stream, and no result.",
	methods.Subscribe: "The answer is a text/event-stream, and no result: each event with its seq as id and the schema event as data, " +
		"each notification by its name with the schema NAME.stream as data. The header Last-Event-ID wins over sinceSeq. until=closed ends the stream with the conversation. " +
		"No socket is needed.",
	methods.WaitForChange: "It also takes include=events, and with it the limit of tail; then the answer is the schema waitForChange.events.",
}
