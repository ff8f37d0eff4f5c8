package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/record"
)

// point is a place in a turn at which someone is killed.
type point string

// The points, in the order of the turn: the model is asked, wants a tool, is asked, wants one that
// needs an approval, is asked, and answers.
const (
	modelAsked       point = "the model is asked"
	answerUnwritten  point = "the model has answered, and that is not written"
	answerWritten    point = "the answer is written"
	startUnwritten   point = "a tool is to run, and that is not written"
	startWritten     point = "that a tool runs is written, and it does not yet"
	toolRan          point = "the tool has run"
	resultWritten    point = "what came of it is written"
	approvalAsked    point = "an approval is asked for"
	approvalAnswered point = "it is answered, and that is not read"
	approvedRan      point = "the tool that needed it has run"
	finalUnwritten   point = "the final message is not written"
	finalWritten     point = "the final message is written"
)

var points = []point{
	modelAsked, answerUnwritten, answerWritten, startUnwritten, startWritten, toolRan, resultWritten,
	approvalAsked, approvalAnswered, approvedRan, finalUnwritten, finalWritten,
}

// Whom a fuse kills.
const (
	victimSelf = "agent"
	victimHub  = "hub"
)

// fuse blows once, at its point: of the process, and of those that come after it.
type fuse struct {
	at     point
	victim string
	burnt  string // a file that is there when it has blown
	in     *bufio.Reader
	out    io.Writer

	once sync.Once
}

// blow kills this process, or has the hub killed and started again and continues.
func (f *fuse) blow(p point) {
	if p != f.at {
		return
	}
	f.once.Do(func() {
		mark, err := os.OpenFile(f.burnt, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return // it has blown
		}
		mark.Close()
		if f.victim == victimSelf {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		fmt.Fprintln(f.out, p)
		_, _ = f.in.ReadString('\n')
	})
}

// fusedClient has the points of what an agent writes.
type fusedClient struct {
	parley.Client
	fuse *fuse
}

func (c *fusedClient) SendTrace(ctx context.Context, p *parley.SendTraceParams) (*parley.SendResult, error) {
	var t parley.Trace
	if err := json.Unmarshal(p.Payload, &t); err != nil {
		return nil, err
	}
	before, after := tracePoints(t)
	c.fuse.blow(before)
	r, err := c.Client.SendTrace(ctx, p)
	if err == nil {
		c.fuse.blow(after)
	}
	return r, err
}

// tracePoints are those before and after a trace; empty for none.
func tracePoints(t parley.Trace) (before, after point) {
	switch t.Kind {
	case record.KindStep:
		return answerUnwritten, answerWritten
	case record.KindToolStarted:
		return startUnwritten, startWritten
	case record.KindToolResult:
		var r record.ToolEnded
		if json.Unmarshal(t.Data, &r) == nil && r.Tool == gated {
			return approvedRan, ""
		}
		return toolRan, resultWritten
	}
	return "", ""
}

func (c *fusedClient) RequestApproval(ctx context.Context, p *parley.RequestApprovalParams) (*parley.Approval, error) {
	a, err := c.Client.RequestApproval(ctx, p)
	if err == nil {
		c.fuse.blow(approvalAsked)
	}
	return a, err
}

func (c *fusedClient) GetApproval(ctx context.Context, p *parley.GetApprovalParams) (*parley.Approval, error) {
	a, err := c.Client.GetApproval(ctx, p)
	if err == nil && a.Status.Resolved() {
		c.fuse.blow(approvalAnswered)
	}
	return a, err
}

func (c *fusedClient) SendMessage(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	c.fuse.blow(finalUnwritten)
	r, err := c.Client.SendMessage(ctx, p)
	if err == nil {
		c.fuse.blow(finalWritten)
	}
	return r, err
}
