package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/executors/a2a"
	"github.com/parleyhub/parley/internal/egress"
)

type probeFlags struct {
	peer    peerFlags
	message string
	noSend  bool
	wait    time.Duration
}

func newProbeCommand(a *cli.App) *cobra.Command {
	var f probeFlags
	c := &cobra.Command{
		Use:   "probe URL",
		Short: "show the card of a remote agent, and test it",
		Long: `probe fetches the card at URL, or at the well-known paths below it, as a client of version
1.0 and as one of version 0.3. It prints the content of the card, and sends a message over each
supported interface (JSON-RPC and HTTP+JSON of 1.0 and 0.3). It cancels a task that stays open.

` + peerHelp + `

The exit code is 0 if every interface answered, 1 if one did not or none is supported, 3 without a
card, 4 if credentials are wrong or missing, and 6 if no agent answers. Needs no hub.`,
		Args: cobra.ExactArgs(1),
	}
	f.peer.addTo(c)
	c.Flags().StringVar(&f.message, "message", "hello", "text of the message")
	c.Flags().BoolVar(&f.noSend, "no-send", false, "show the card without sending a message")
	c.Flags().DurationVar(&f.wait, "wait", 30*time.Second, "time limit of an answer")
	return a.SetRun(c, func(ctx context.Context, args []string) error { return probe(ctx, a, &f, args[0]) })
}

// report is all that was found out about a remote agent.
type report struct {
	URL         string            `json:"url"`
	Cards       []cardReport      `json:"cards"`
	Name        string            `json:"name,omitempty"`
	Description string            `json:"description,omitempty"`
	Version     string            `json:"version,omitempty"`
	Streaming   bool              `json:"streaming"`
	Push        bool              `json:"pushNotifications"`
	Extended    bool              `json:"extendedAgentCard"`
	Extensions  []string          `json:"extensions,omitempty"`
	Auth        []string          `json:"auth,omitempty"`
	InputModes  []string          `json:"inputModes,omitempty"`
	OutputModes []string          `json:"outputModes,omitempty"`
	Skills      []skillReport     `json:"skills"`
	Interfaces  []interfaceReport `json:"interfaces"`
}

// cardReport is what was found when the card was asked for as a version does.
type cardReport struct {
	Asked string `json:"asked"`
	URL   string `json:"url,omitempty"`
	Shape string `json:"shape,omitempty"`
	Error string `json:"error,omitempty"`
}

type skillReport struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

// interfaceReport is an interface of the card, and the answer that came by it.
type interfaceReport struct {
	URL     string `json:"url"`
	Binding string `json:"binding"`
	Version string `json:"version"`
	// Result is ok, failed, or skipped: it is not spoken here, or nothing was to be sent.
	Result string `json:"result"`
	State  string `json:"state,omitempty"`
	Answer string `json:"answer,omitempty"`
	TaskID string `json:"taskId,omitempty"`
	Events int    `json:"events,omitempty"`
	TookMs int64  `json:"tookMs,omitempty"`
	Error  string `json:"error,omitempty"`
}

// maxText bounds what is shown of one text of a stranger.
const maxText = 500

func probe(ctx context.Context, a *cli.App, f *probeFlags, address string) error {
	o, err := f.peer.options(address)
	if err != nil {
		return err
	}
	if f.message == "" || f.wait <= 0 {
		return exit.Usagef("--message and --wait: expected a text, and more than 0")
	}
	o.MaxWait = f.wait
	agent, err := a2a.New(o)
	if err != nil {
		return exit.Usage(err)
	}
	p := &report{URL: address, Skills: []skillReport{}}
	cards, err := p.fetch(ctx, o)
	if err != nil {
		return explainError(err)
	}
	p.describe(cards[0])
	failed := p.tryInterfaces(ctx, f, agent, o, cards)
	if err := printProbe(a, p); err != nil {
		return err
	}
	if failed == nil &&
		!slices.ContainsFunc(p.Interfaces, func(i interfaceReport) bool { return i.Result == "ok" || f.noSend }) {
		failed = a2a.ErrNoInterface
	}
	return explainError(failed)
}

// fetch asks for the card as clients of both versions do. It fails when neither gets one.
func (p *report) fetch(ctx context.Context, o *a2a.Options) ([]*proto.AgentCard, error) {
	var cards []*proto.AgentCard
	var failed error
	for _, version := range []string{"1.0", ""} {
		c := cardReport{Asked: cmp.Or(version, "0.3")}
		found, err := a2a.FetchCard(ctx, o, version)
		if err != nil {
			failed = cmp.Or(failed, err)
			c.Error = errorText(err)
		} else {
			cards = append(cards, found.Card)
			c.URL, c.Shape = found.URL, found.Shape
		}
		p.Cards = append(p.Cards, c)
	}
	if len(cards) == 0 {
		return nil, failed
	}
	return cards, nil
}

// errorText is an error in few words.
func errorText(err error) string {
	if errors.Is(err, egress.ErrRefused) {
		return egress.Reason(err).Error()
	}
	return err.Error()
}

func (p *report) describe(c *proto.AgentCard) {
	p.Name, p.Description, p.Version = shortenText(c.Name), shortenText(c.Description), shortenText(c.Version)
	p.Streaming, p.Push, p.Extended = c.Capabilities.Streaming, c.Capabilities.PushNotifications,
		c.Capabilities.ExtendedAgentCard
	for _, e := range c.Capabilities.Extensions {
		p.Extensions = append(p.Extensions, shortenText(e.URI))
	}
	for name, scheme := range c.SecuritySchemes {
		kind := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", scheme), "a2a."), "SecurityScheme")
		p.Auth = append(p.Auth, shortenText(string(name))+" ("+kind+")")
	}
	slices.Sort(p.Auth)
	p.InputModes, p.OutputModes = c.DefaultInputModes, c.DefaultOutputModes
	for _, s := range c.Skills {
		p.Skills = append(p.Skills, skillReport{shortenText(s.ID), shortenText(s.Name), shortenText(s.Description), s.Tags})
	}
}

// tryInterfaces sends the message by each interface, and returns the first error.
func (p *report) tryInterfaces(ctx context.Context, f *probeFlags, agent *a2a.Agent, o *a2a.Options,
	cards []*proto.AgentCard) error {
	var failed error
	seen := map[string]bool{}
	for _, card := range cards {
		spoken := a2a.Spoken(card)
		for _, i := range card.SupportedInterfaces {
			key := fmt.Sprint(i.URL, i.ProtocolBinding, i.ProtocolVersion)
			if seen[key] {
				continue
			}
			seen[key] = true
			row := interfaceReport{URL: shortenText(i.URL), Binding: shortenText(string(i.ProtocolBinding)),
				Version: shortenText(string(i.ProtocolVersion)), Result: "skipped"}
			at := slices.IndexFunc(spoken, func(s *proto.AgentInterface) bool {
				return s.URL == i.URL && s.ProtocolBinding == i.ProtocolBinding &&
					strings.HasPrefix(string(i.ProtocolVersion), string(s.ProtocolVersion))
			})
			if at >= 0 && !f.noSend {
				err := row.send(ctx, f, agent, o, card, spoken[at])
				failed = cmp.Or(failed, err)
			}
			p.Interfaces = append(p.Interfaces, row)
		}
	}
	return failed
}

func (r *interfaceReport) send(ctx context.Context, f *probeFlags, agent *a2a.Agent, o *a2a.Options,
	card *proto.AgentCard, i *proto.AgentInterface) error {
	began := time.Now()
	peer, err := a2a.Dial(ctx, o, card, i)
	var reply *a2a.Reply
	if err == nil {
		reply, err = agent.Ask(ctx, peer, f.message)
	}
	r.TookMs = time.Since(began).Milliseconds()
	if err != nil {
		r.Result, r.Error = "failed", errorText(err)
		return fmt.Errorf("%s %s: %w", i.ProtocolBinding, i.ProtocolVersion, err)
	}
	r.Result, r.State, r.Answer, r.TaskID, r.Events = "ok", shortenText(string(reply.State)), shortenText(reply.Text),
		shortenText(string(reply.TaskID)), reply.Events
	return nil
}

// shortenText bounds a text of a stranger.
func shortenText(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

func printProbe(a *cli.App, p *report) error {
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(p)
	}
	row := func(name, value string) {
		if value != "" {
			a.Out.Linef("%-12s %s", name, cli.Clean(value))
		}
	}
	for _, c := range p.Cards {
		row("card", fmt.Sprintf("as %s: %s", c.Asked, cmp.Or(c.Error, c.URL+", in the shape of "+c.Shape)))
	}
	row("name", strings.TrimSpace(p.Name+" "+p.Version))
	row("description", p.Description)
	row("offers", p.capabilitiesText())
	row("auth", cmp.Or(strings.Join(p.Auth, ", "), "none is named"))
	row("takes", strings.Join(p.InputModes, ", "))
	row("gives", strings.Join(p.OutputModes, ", "))
	for _, s := range p.Skills {
		row("skill", strings.TrimSpace(fmt.Sprintf("%s: %s. %s", s.ID, s.Name, s.Description)))
	}
	for _, i := range p.Interfaces {
		style := map[string]cli.Style{"ok": cli.StyleGood, "failed": cli.StyleError, "skipped": cli.StyleDim}[i.Result]
		a.Out.Linef("%s %-10s %-5s %s%s", a.Out.Paint(style, fmt.Sprintf("%-12s", i.Result)), cli.Clean(i.Binding),
			cli.Clean(i.Version), cli.Clean(i.URL), cli.Clean(i.outcomeText()))
	}
	return nil
}

// capabilitiesText names the capabilities.
func (p *report) capabilitiesText() string {
	var all []string
	for _, c := range []struct {
		has  bool
		what string
	}{{p.Streaming, "streaming"}, {p.Push, "push notifications"}, {p.Extended, "an extended card"}} {
		if c.has {
			all = append(all, c.what)
		}
	}
	for _, e := range p.Extensions {
		all = append(all, "the extension "+e)
	}
	return cmp.Or(strings.Join(all, ", "), "neither streaming nor push notifications")
}

// outcomeText says how the round trip went.
func (i *interfaceReport) outcomeText() string {
	switch i.Result {
	case "failed":
		return ": " + i.Error
	case "ok":
		state := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(i.State, "TASK_STATE_"), "_", "-"))
		if i.TaskID == "" {
			state = "a message"
		}
		return fmt.Sprintf(": %s in %d ms, %d events: %q", state, i.TookMs, i.Events, i.Answer)
	}
	return ""
}
