package rpc

import (
	"context"
	"net/http"
	"slices"

	"github.com/parleyhub/parley"
)

// ReplaceMethod makes a method do something else until restore is called: a handler that panics cannot be had otherwise.
func ReplaceMethod(name string, serve func()) (restore func()) {
	before := handlers[name]
	h := before
	h.serve = func(context.Context, *call) { serve() }
	handlers[name] = h
	return func() { handlers[name] = before }
}

// Sockets counts the sockets of a server.
func Sockets(s *Server) int { return len(s.all()) }

// Routes names everything that a server serves: "VERB /path", in order.
func Routes(s *Server) []string {
	var out []string
	for path, served := range s.paths() {
		for verb := range served {
			out = append(out, verb+" "+path)
		}
	}
	slices.Sort(out)
	return out
}

// NewRoute makes the route of a method, as at start.
func NewRoute(m parley.Method) { newRoute(m) }

// ProblemHeader are the headers of a problem.
func ProblemHeader(err error) http.Header { return problemOf(err).header }

// Feeds counts the SSE streams of a server.
func Feeds(s *Server) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.feeds)
}

// Posts counts the requests over HTTP that are under way, without streams.
func Posts(s *Server) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.posts)
}
