package telemetry_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/telemetry"
)

// hangs is the collector that does not come to an end.
const hangs = "hangs"

// collectors are those that do not do as they should, and what is said of them.
var collectors = map[string]struct {
	serve func(w http.ResponseWriter, r *http.Request)
	said  string
}{
	hangs: {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ""},
	"dies": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half of"))
		panic(http.ErrAbortHandler)
	}, "OpenTelemetry cannot be told"},
	"refuses": {func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprint("no ", r.URL.Path, r.Header), http.StatusUnauthorized)
	}, "OpenTelemetry cannot be told"},
	"fails":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "OpenTelemetry cannot be told"},
	"floods": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, 32<<20) }, "OpenTelemetry cannot be told"},
	"takes some": {func(w http.ResponseWriter, _ *http.Request) {
		b, _ := proto.Marshal(&collectortrace.ExportTraceServiceResponse{PartialSuccess: &collectortrace.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too many"}})
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(b)
	}, "too many"},
}

// lockedBuffer is a buffer for several writers.
type lockedBuffer struct {
	mu  sync.Mutex // guards the field below
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// TestBadCollectors: whatever a collector does, who ends a span does not wait, the end comes in its time, and the log has a line or two with no secret in them.
func TestBadCollectors(t *testing.T) {
	for name, c := range collectors {
		t.Run(name, func(t *testing.T) {
			alone(t)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary-1,x-key=canary-2")
			t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "16")
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				c.serve(w, r)
			}))
			t.Cleanup(func() {
				s.CloseClientConnections()
				s.Close()
			})
			var log lockedBuffer // OpenTelemetry may still have a word to say when it was shut down
			tm := open(t, nil, telemetry.Options{Endpoint: s.URL + "/canary-3", Logger: slog.New(slog.NewTextHandler(&log, nil))})
			var slowest time.Duration
			for range 2000 {
				begin := time.Now()
				_, span := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "many"})
				span.End()
				slowest = max(slowest, time.Since(begin))
			}
			if slowest > 5*time.Second {
				t.Errorf("a span took %s", slowest)
			}
			patience, most := time.Minute, telemetry.LastWords+20*time.Second // a moment for each
			if name == hangs {
				patience, most = 500*time.Millisecond, telemetry.LastWords // which it would take by itself
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			begin := time.Now()
			if err := tm.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took >= most {
				t.Errorf("the end took %s", took)
			}
			text := log.String()
			if !strings.Contains(text, c.said) || strings.Contains(text, "canary") || strings.Count(text, "\n") > 2 || len(text) > 2000 {
				t.Errorf("the log is %s", text)
			}
		})
	}
}

// TestShutdownHasABound of its own, when nobody gives it one.
func TestShutdownHasABound(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the last words")
	}
	alone(t)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	tm := open(t, nil, telemetry.Options{Endpoint: s.URL, Logger: slog.New(slog.DiscardHandler)})
	_, span := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "lost"})
	span.End()
	begin := time.Now()
	shut(t, tm)
	if took := time.Since(begin); took > telemetry.LastWords+20*time.Second {
		t.Errorf("the end took %s", took)
	}
}
