package wire

import (
	"io"
	"net/http"
)

// unexpected makes the end of a connection an error. A WebSocket ends with a close frame, and
// coder/websocket takes io.EOF within a frame for the end of its message: half a frame would be
// read as a whole one.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// unended gives a client whose upgraded connections end with an error. nil is http.DefaultClient.
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

// RoundTrip makes the handshake.
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

// Read reads, and never gives io.EOF.
func (c unendedConn) Read(p []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(p)
	return n, unexpected(err)
}
