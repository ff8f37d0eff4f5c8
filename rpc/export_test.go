package rpc

import (
	"context"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/schema/generate"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// ReplaceMethod replaces the handler of a method until restore is called, so that a test has one
// that panics.
func ReplaceMethod(name string, serve func()) (restore func()) {
	before := handlers[name]
	h := before
	h.Serve = func(context.Context, *calls.Call) { serve() }
	handlers[name] = h
	return func() { handlers[name] = before }
}

// ServedMethods returns the methods with the types of their params and results.
func ServedMethods() []generate.Method {
	var served []generate.Method
	for _, m := range methods.Table {
		if h, ok := handlers[m.Name]; ok {
			served = append(served, generate.Method{Method: m, Params: h.Params, Result: h.Result})
		}
	}
	return served
}

// Routes returns everything that a server serves over HTTP as "VERB /path", in order.
func Routes(s *Server) []string { return s.api.Routes() }

// CountSockets returns the number of sockets of a server.
func CountSockets(s *Server) int { return len(s.listSockets()) }

// CountStreams returns the number of SSE streams of a server, also those that are not open yet.
func CountStreams(s *Server) int {
	n := s.api.Counts()
	return int(n.Streams + n.Opening)
}

// CountRequests returns the number of requests over HTTP under way, without streams.
func CountRequests(s *Server) int { return int(s.api.Counts().Requests) }
