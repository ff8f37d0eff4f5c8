package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/agent"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// startMoment is how long the call that starts a session may wait for its end: short, so that the
// id is known early, and enough for a quick command.
const startMoment = 50 * time.Millisecond

type startFlags struct {
	as, file, prompt, mode, parent, resume, key string
	params, demands                             []string
	wait, noWait                                bool
	waitFlags
}

// NewStartCommand returns the command start.
func NewStartCommand(a *cli.App) *cobra.Command {
	var f startFlags
	c := &cobra.Command{
		Use:   "start AGENT",
		Short: "start a session of an agent and print its result",
		Long: `start begins a session of an agent and, by default, waits for its end, however long that takes. The
result goes to stdout: the JSON of the agent, else its text; with -o json the session. 'parley
agents' lists the agents, 'parley agent show AGENT' shows the parameters of one.

  parley start csv-profile --param path=data.csv --param columns=name --param columns=age
  parley start report --params report.json --param limit=20 --follow
  parley start researcher --prompt "Which of these are due?"

The agent's parameters_schema decides how a VALUE of --param is read: a text unchanged, a number,
true, false, a list and an object as JSON. Repeat the flag for the items of a list. NAME:=JSON is
JSON whatever the schema says, NAME=@FILE the content of a file (@- is stdin). A value of --param
wins over --params.

Other modes than sync print the id of the session and do not wait, unless --wait or --follow is set.
async_callback posts the end as a message to the conversation of --parent. A session continues
without a waiting command: 'parley session wait ID' waits for it again, 'parley session stop ID'
ends it.

Repeating a start with the same --key and the same arguments is safe: it starts one session. The exit code
is 0 if the session is completed; see 'parley help exit-codes'.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringArrayVar(&f.params, "param", nil, "NAME=VALUE, NAME:=JSON or NAME=@FILE; may be repeated")
	c.Flags().StringVar(&f.file, "params", "", "FILE with all parameters as one JSON object, or - for stdin")
	c.Flags().StringVar(&f.prompt, "prompt", "", "value of the parameter prompt")
	c.Flags().StringVar(&f.mode, "mode", "",
		"how the end is learned of: sync, async_poll or async_callback (default: sync)")
	c.Flags().StringVar(&f.parent, "parent", "",
		"conversation that starts it: start and end are posted there, and its close stops the session")
	c.Flags().StringArrayVar(&f.demands, "demand", nil,
		"NAME=VALUE, a label that the agent's runner must have; may be repeated")
	c.Flags().StringVar(&f.resume, "resume", "", "session that asks for input and gets this message")
	c.Flags().StringVar(&f.key, "key", "", "idempotency key (clientRequestId)")
	c.Flags().BoolVar(&f.wait, "wait", false, "wait for the end in other modes too")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "print the id without waiting; sets the mode to async_poll")
	f.waitFlags.addTo(c)
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		return start(ctx, a, &f, args[0], c.Flags().Changed)
	})
}

func start(ctx context.Context, a *cli.App, f *startFlags, agent string, given func(flag string) bool) error {
	p, params, err := newStartParams(a, f, agent, given)
	if err != nil {
		return err
	}
	n := &cli.ConnectionNotices{}
	client, err := a.DialNotifying(ctx, f.as, n)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(params) > 0 {
		if p.Parameters, err = readTyped(ctx, a, client, p, params); err != nil {
			return err
		}
	}
	s, err := cli.Call(ctx, a, client.StartSession, p)
	if err != nil {
		return explainStartError(a, err, agent, p.ParentConversationID)
	}
	if f.noWait || p.Mode != parley.ModeSync && p.Resume == "" && !f.wait && !f.follow {
		return printStarted(a, s)
	}
	return waitForResult(ctx, a, client, s, &f.waitFlags, n)
}

// newStartParams returns the call as far as it is known without the agent's schema, and the
// parameters that need the schema.
func newStartParams(a *cli.App, f *startFlags, name string, given func(flag string) bool) (*parley.StartSessionParams,
	[]agent.Parameter, error) {
	if err := f.check(given); err != nil {
		return nil, nil, err
	}
	p := &parley.StartSessionParams{
		AgentName: name, Prompt: f.prompt, Mode: parley.SessionMode(f.mode), ParentConversationID: f.parent, Resume: f.resume,
		ClientRequestID: f.key,
		TimeoutMs:       startMoment.Milliseconds(),
	}
	switch {
	case f.resume != "": // the session has its mode
	case f.noWait:
		p.Mode = parley.ModeAsyncPoll
	case p.Mode == "":
		p.Mode = parley.ModeSync
	}
	var err error
	if p.Demands, err = cli.ParseLabels("--demand", f.demands); err != nil {
		return nil, nil, err
	}
	if given("params") {
		if p.Parameters, err = agent.ReadParameters(a, f.file); err != nil {
			return nil, nil, err
		}
	}
	params := make([]agent.Parameter, len(f.params))
	for i, text := range f.params {
		if params[i], err = agent.ParseParameter(a, text); err != nil {
			return nil, nil, err
		}
	}
	return p, params, nil
}

// check refuses flags that do not go together.
func (f *startFlags) check(given func(flag string) bool) error {
	switch {
	case given("prompt") && (given("params") || given("param")):
		return exit.Usagef("--prompt is a parameter: leave --param and --params out, or use --param prompt=TEXT")
	case given("prompt") && f.prompt == "":
		return exit.Usagef("--prompt is empty: say something")
	case !parley.SessionMode(f.mode).Valid():
		return exit.Usagef("--mode %s: expected sync, async_poll or async_callback", cli.Clean(f.mode))
	case f.noWait && (f.wait || f.follow || given("max-wait")):
		return exit.Usagef("--no-wait, and --wait, --follow or --max-wait: choose one")
	case f.noWait && f.mode == string(parley.ModeSync):
		return exit.Usagef("--no-wait and --mode sync: choose one")
	case f.mode == string(parley.ModeAsyncCallback) && f.parent == "":
		return exit.Usagef("--mode async_callback needs --parent, the conversation that is notified of the end")
	case f.resume != "" && (f.mode != "" || f.parent != "" || len(f.demands) > 0):
		return exit.Usagef("--resume goes without --mode, --parent and --demand: the session has its own")
	}
	return f.waitFlags.check(given)
}

// readTyped reads the values of params by the agent's schema.
func readTyped(ctx context.Context, a *cli.App, client parley.Client, p *parley.StartSessionParams,
	params []agent.Parameter) (json.RawMessage, error) {
	info, err := agent.Find(ctx, a, client, p.AgentName)
	if err != nil {
		return nil, err
	}
	return agent.AssembleParameters(p.Parameters, params, info.ParametersSchema)
}

// explainStartError says what to do about a refusal of startSession.
func explainStartError(a *cli.App, err error, agent, parent string) error {
	var refused *parley.Error
	switch {
	case errors.Is(err, parley.ErrParameters) && errors.As(err, &refused) && refused.Validation != nil:
		if a.Format != cli.FormatJSON {
			printFaults(a, refused.Validation.ValidationErrors)
		}
		return exit.WithHint(err, "'parley agent show "+agent+"' says what it takes")
	case errors.Is(err, parley.ErrNotFound) && parent != "":
		return exit.WithHint(err, "'parley agents' lists the agents, 'parley conversation list' what may be a parent")
	case errors.Is(err, parley.ErrNotFound):
		return exit.WithHint(err, "'parley agents' lists the agents")
	case errors.Is(err, parley.ErrOutcomeUnknown):
		return exit.WithHint(err,
			"repeat it with the same --key if it had one: it is started once; 'parley session list' shows what was")
	}
	return err
}

// printFaults prints what is wrong with parameters or a result.
func printFaults(a *cli.App, faults []parley.ValidationError) {
	width := 0
	for _, f := range faults {
		width = max(width, len(cli.Clean(f.Path)))
	}
	for _, f := range faults {
		a.Err.Linef("  %-*s  %s", min(width, 40), cli.Clean(f.Path), cli.Clean(f.Message))
	}
}

func printStarted(a *cli.App, s *parley.Session) error {
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(s)
	}
	a.Out.Line(cli.Clean(s.SessionID))
	return nil
}
