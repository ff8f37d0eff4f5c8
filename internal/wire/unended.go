package wire

import (
	"io"
	"net/http"
)

// unexpected turns io.EOF into io.ErrUnexpectedEOF. A WebSocket ends with a close frame. Within a
// frame, coder/websocket takes io.EOF for the end of the message, and would return a partial
// message as a whole one.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// unended returns a client whose upgraded connections report a missing close frame as an error. nil
// means http.DefaultClient.
func unended(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	client := *c
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = unendedTransport{client.Transport}
	return &client
}

type unendedTransport struct{ http.RoundTripper }

// RoundTrip performs the handshake.
func (t unendedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		return resp, err
	}
	if conn, ok := resp.Body.(io.ReadWriteCloser); ok {
		resp.Body = unendedConn{conn}
	}
	return resp, nil
}

type unendedConn struct{ io.ReadWriteCloser }

// Read never returns io.EOF.
func (c unendedConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	return n, unexpected(err)
}
