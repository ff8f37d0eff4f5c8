package wire

// The envelopes that a hub writes. What is appended behind a head is JSON, and then a closing brace.

// replyHead begins every reply of a hub, and, up to its id, a request.
var replyHead = []byte(`{"jsonrpc":"2.0","id":`)

// AppendResultHead begins the reply to a call that succeeded; its result is to follow.
func AppendResultHead(b []byte, id string) []byte {
	b = append(b, replyHead...)
	b = append(b, id...)
	return append(b, `,"result":`...)
}

// AppendErrorHead begins the reply to a call that was refused; its error is to follow. Without id it is null.
func AppendErrorHead(b []byte, id string) []byte {
	if id == "" {
		id = "null"
	}
	b = append(b, replyHead...)
	b = append(b, id...)
	return append(b, `,"error":`...)
}

// AppendNotificationHead begins a notification; its params are to follow. The method needs no escape.
func AppendNotificationHead(b []byte, method string) []byte {
	b = append(b, `{"jsonrpc":"2.0","method":"`...)
	b = append(b, method...)
	return append(b, `","params":`...)
}
