package conversation

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

func newListCommand(a *cli.App) *cobra.Command {
	var q parley.ListConversationsParams
	var watch bool
	c := NewListCommand(a, "list the conversations that the token sees, oldest first",
		func(ctx context.Context, client parley.Client, status parley.Status) error {
			q.Status = status
			if watch {
				w := &listWatch{app: a, client: client, params: q}
				return w.run(ctx)
			}
			return printList(ctx, a, client, q)
		})
	c.Long = `list prints a row for each conversation. The column FLOOR has the participant that may speak, for
how long, and what blocks the turn: no executor, approval or attempts used up. With -o json each
line is a conversation. With --watch it continues with a row for each change, until you stop it.`
	c.Flags().StringVar(&q.Workspace, "workspace", "", "list conversations of this workspace, which the token must grant")
	c.Flags().StringVar(&q.Participant, "participant", "", "list conversations with this participant")
	c.Flags().StringVar(&q.Text, "text", "", "list conversations whose id or title contains this text, in any case")
	c.Flags().BoolVar(&q.Newest, "newest", false, "list the newest first")
	c.Flags().BoolVar(&watch, "watch", false, "continue with each change")
	return c
}

// NewListCommand is a command that lists conversations of some kind.
func NewListCommand(a *cli.App, short string,
	list func(context.Context, parley.Client, parley.Status) error) *cobra.Command {
	var as, status string
	c := &cobra.Command{Use: "list", Short: short, Args: cobra.NoArgs}
	cli.AddAsFlag(c, &as)
	c.Flags().StringVar(&status, "status", "", "active or closed (default: both)")
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		client, err := a.Dial(ctx, as)
		if err != nil {
			return err
		}
		defer client.Close()
		return list(ctx, client, parley.Status(status))
	})
}

// printList prints all rows.
func printList(ctx context.Context, a *cli.App, client parley.Client, q parley.ListConversationsParams) error {
	return newListTable(a).addAll(ctx, client, q)
}

// listHead is the row of column names.
var listHead = []string{"ID", "STATUS", "TURN", "SEQ", "UPDATED", "PARTICIPANTS", "FLOOR", "TITLE"}

// listTable prints conversations: as rows with a head, or as JSON.
type listTable struct {
	app *cli.App
	w   *tabwriter.Writer
	now time.Time
	// widths are those of the columns, in runes.
	widths [8]int
}

func newListTable(a *cli.App) *listTable {
	t := &listTable{app: a, now: time.Now()}
	to := io.Writer(a.Out)
	if a.Format == cli.FormatJSON {
		to = io.Discard
	}
	t.w = tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	t.writeCells(listHead)
	return t
}

// addAll prints all rows.
func (t *listTable) addAll(ctx context.Context, client parley.Client, q parley.ListConversationsParams) error {
	for s, err := range t.app.ListConversations(ctx, client, q) {
		if err != nil {
			return err
		}
		if err := t.addRow(&s); err != nil {
			return err
		}
	}
	return t.flush()
}

func (t *listTable) writeCells(row []string) {
	t.widen(row)
	fmt.Fprintln(t.w, strings.Join(row, "\t"))
}

func (t *listTable) widen(row []string) {
	for i, cell := range row {
		t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
	}
}

// formatLine returns a row below a printed table, aligned to its columns as far as it fits.
func (t *listTable) formatLine(s *parley.ConversationSummary, now time.Time) string {
	row := listRow(t.app, s, now)
	t.widen(row)
	var b strings.Builder
	for i, cell := range row[:len(row)-1] {
		fmt.Fprintf(&b, "%-*s", t.widths[i]+2, cell)
	}
	return b.String() + row[len(row)-1]
}

func (t *listTable) addRow(s *parley.ConversationSummary) error {
	if t.app.Format == cli.FormatJSON {
		return t.app.Out.JSON(s)
	}
	t.writeCells(listRow(t.app, s, t.now))
	return nil
}

func (t *listTable) flush() error { return t.w.Flush() }

// listRow is what a row says of a conversation.
func listRow(a *cli.App, s *parley.ConversationSummary, now time.Time) []string {
	state := string(s.Status)
	if s.Status == parley.StatusClosed {
		state = view.OutcomeText(s.Outcome)
	}
	return []string{
		cli.Clean(s.ConversationID), cli.Clean(state), fmt.Sprint(s.Turn), fmt.Sprint(s.LatestSeq), s.UpdatedAt.String(),
		cli.Clean(strings.Join(s.Participants, " ")),
		floorText(s.Floor, now), cli.Clean(s.Title),
	}
}

// stuckTexts say what a turn waits for.
var stuckTexts = map[parley.StuckReason]string{
	parley.StuckNoExecutor: "no executor", parley.StuckApproval: "approval", parley.StuckAttempts: "attempts used up",
}

// floorText returns the speaker, the time since the turn began, and what blocks the turn, such as
// "clinic, 12s, no executor".
func floorText(f *parley.Floor, now time.Time) string {
	if f == nil {
		return "-"
	}
	who := f.Speaker
	if who == "" {
		who = "anyone"
	}
	parts := []string{cli.Clean(who), max(now.Sub(f.Since.Time()), 0).Truncate(time.Second).String()}
	if f.Stuck != "" {
		text, known := stuckTexts[f.Stuck]
		if !known {
			text = cli.Clean(string(f.Stuck)) // of a newer hub
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// SessionPrefix begins the ids of sessions.
const SessionPrefix = "ses_"
