// Compare does the same work against Parley, NATS JetStream, Redis streams and PostgreSQL, or
// against several hubs and the NATS servers that keep their log, all on this machine and in turns,
// and prints how they compare. README.md says what is compared and how each is set.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: go run . append | fanout | replay | all | hubs [flags]

The same work against Parley (built from the tree), NATS JetStream, Redis streams and PostgreSQL, in turns, each durable before it
acknowledges; or, with hubs, against hubs that have one log on NATS servers, and these servers by themselves. README.md says more.
`

// Connections that are usual.
const (
	usualConns = "1,64,256,64x16"
	hubsConns  = "256"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == serveNATS {
		exit(runNATS(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := command(ctx, os.Args[1:])
	stop()
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// command runs what the arguments ask for.
func command(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.Usage = func() { fmt.Fprint(f.Output(), usage, "\n"); f.PrintDefaults() }
	var o Options
	servers := f.String("servers", strings.Join(names, ","), "which take part")
	conns := f.String("conns", "",
		"append, hubs: connections, and after an x what is in flight on each (default "+usualConns+"; of hubs "+hubsConns+")")
	hubs := f.String("hubs", "1,2,3", "hubs: hubs that have one log")
	keepers := f.String("keepers", "1,3", "hubs: NATS servers that keep it, each of them all of it")
	subscribers := f.String("subscribers", "100,1000,10000", "fanout: subscribers of one conversation, subject or channel")
	output := f.String("o", "text", "text or json")
	f.IntVar(&o.Rounds, "rounds", 3, "how often each has its turn")
	f.DurationVar(&o.Slice, "slice", time.Second, "how long a turn is measured")
	f.IntVar(&o.Size, "size", 500, "bytes of text")
	f.IntVar(&o.Conversations, "conversations", 1000,
		"append, hubs: conversations, streams or subjects that the appends are spread over")
	f.IntVar(&o.Deliveries, "deliveries", 200_000, "fanout: deliveries of one burst")
	f.IntVar(&o.Events, "events", 100_000, "replay: events that are read")
	f.StringVar(&o.Dir, "dir", "", "where all data is put for the run (default: the directory for temporary files)")
	f.StringVar(&o.Parley, "parley", "", "the parley program (default: it is built from the tree)")
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		f.Usage()
		return errors.New("what shall be compared?")
	}
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%s: unexpected", f.Arg(0))
	}
	switch {
	case *conns != "":
	case args[0] == hubsName:
		*conns = hubsConns
	default:
		*conns = usualConns
	}
	var err1, err2, err3, err4 error
	o.Servers = strings.Split(*servers, ",")
	o.Shapes, err1 = parseShapes(*conns)
	o.Subscribers, err2 = parseNumbers(*subscribers)
	o.Hubs, err3 = parseNumbers(*hubs)
	o.Keepers, err4 = parseNumbers(*keepers)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	return compareAndPrint(ctx, o, args[0], *output)
}

func compareAndPrint(ctx context.Context, o Options, name, output string) error {
	known := []string{"all", hubsName}
	for _, w := range workloads {
		known = append(known, w.name)
	}
	if !slices.Contains(known, name) {
		return fmt.Errorf("%s: expected one of %s", name, strings.Join(known, ", "))
	}
	if output != "text" && output != "json" {
		return fmt.Errorf("-o %s: expected text or json", output)
	}
	r, err := compare(ctx, o, name, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	switch {
	case err != nil:
		return err
	case output == "json":
		return r.json(os.Stdout)
	}
	r.text(os.Stdout)
	return nil
}
