package wire

// The envelopes of frames of the hub. The caller appends JSON and a closing brace to a head.

// replyHead begins every reply of a hub, and a request up to its id.
var replyHead = []byte(`{"jsonrpc":"2.0","id":`)

// AppendResultHead begins the reply to a successful call. The result follows.
func AppendResultHead(b []byte, id string) []byte {
	b = append(b, replyHead...)
	b = append(b, id...)
	return append(b, `,"result":`...)
}

// AppendErrorHead begins the reply to a refused call. The error follows. Without an id, the id is
// null.
func AppendErrorHead(b []byte, id string) []byte {
	if id == "" {
		id = "null"
	}
	b = append(b, replyHead...)
	b = append(b, id...)
	return append(b, `,"error":`...)
}

// AppendNotificationHead begins a notification. The params follow. The method must need no escapes.
func AppendNotificationHead(b []byte, method string) []byte {
	b = append(b, `{"jsonrpc":"2.0","method":"`...)
	b = append(b, method...)
	return append(b, `","params":`...)
}
