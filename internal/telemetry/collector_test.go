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

	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/telemetry"
)

// hangs is the key of the collector that never answers.
const hangs = "hangs"

// collectors are misbehaving collectors with the expected log lines.
var collectors = map[string]struct {
	serve func(w http.ResponseWriter, r *http.Request)
	said  string
}{
	hangs: {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, ""},
	"dies": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("half of"))
		panic(http.ErrAbortHandler)
	}, "the export to OpenTelemetry failed"},
	"refuses": {func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprint("no ", r.URL.Path, r.Header), http.StatusUnauthorized)
	}, "the export to OpenTelemetry failed"},
	"fails": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"the export to OpenTelemetry failed"},
	"floods": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.CopyN(w, zeros{}, 32<<20) },
		"the export to OpenTelemetry failed"},
	"takes some": {func(w http.ResponseWriter, _ *http.Request) {
		partial := &collectortrace.ExportTracePartialSuccess{RejectedSpans: 3, ErrorMessage: "too many"}
		b, _ := proto.Marshal(&collectortrace.ExportTraceServiceResponse{PartialSuccess: partial})
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

// Whatever a collector does, spans end, Shutdown returns no error, and the log has at most two
// lines without secrets.
func TestBadCollectors(t *testing.T) {
	for name, c := range collectors {
		t.Run(name, func(t *testing.T) {
			alone(t)
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20canary-1,x-key=canary-2")
			t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "64")
			t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "16")
			asked, first := make(chan struct{}), sync.Once{}
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				first.Do(func() { close(asked) })
				c.serve(w, r)
			}))
			t.Cleanup(func() {
				s.CloseClientConnections()
				s.Close()
			})
			var log lockedBuffer // OpenTelemetry may still write after Shutdown
			tm := open(t, nil, telemetry.Options{Endpoint: s.URL + "/canary-3",
				Logger: slog.New(slog.NewTextHandler(&log, nil))})
			for range 2000 {
				_, span := parley.StartSpan(tm.Trace(t.Context()), parley.SpanStart{Name: "many"})
				span.End()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == hangs {
				go func() { <-asked; cancel() }()
			}
			if err := tm.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			text := log.String()
			if !strings.Contains(text, c.said) || strings.Contains(text, "canary") || strings.Count(text, "\n") > 2 ||
				len(text) > 2000 {
				t.Errorf("the log is %s", text)
			}
		})
	}
}
