package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// fanChild is a Fan in a separate process. One process cannot open more than about ten thousand
// sockets, and the CPU time of the readers is measured separately.
type fanChild struct {
	*Child
}

// fanStart is the first line on the standard input of a fanChild.
type fanStart struct {
	URL     string     `json:"url"`
	Token   string     `json:"token,omitempty"`
	PID     int        `json:"pid"` // of the server
	Options FanOptions `json:"options"`
}

// fanOrder is each line after it: a burst, or paced events where there is a pause.
type fanOrder struct {
	Events int           `json:"events"`
	Pause  time.Duration `json:"pause,omitempty"`
	Bare   Order         `json:"bare"` // for a bare server, except the number
}

// fanAnswer is what a fanChild says to each line.
type fanAnswer struct {
	Rate       Rate   `json:"rate"`
	FrameBytes int    `json:"frameBytes"`
	Error      string `json:"error,omitempty"`
}

// startFan starts a Fan and waits until all have subscribed.
func startFan(ctx context.Context, t Target, o FanOptions) (*fanChild, error) {
	c, err := newChild(ctx, "", nil, "bench-fan")
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	f := &fanChild{c}
	if _, err := f.tell(ctx, fanStart{URL: t.URL, Token: t.Token, PID: t.PID, Options: o}); err != nil {
		f.Stop()
		return nil, err
	}
	return f, nil
}

// ask sends an order and waits until it is done.
func (f *fanChild) ask(ctx context.Context, o fanOrder) (fanAnswer, error) { return f.tell(ctx, o) }

func (f *fanChild) tell(ctx context.Context, line any) (answer fanAnswer, err error) {
	if err := json.NewEncoder(f.stdin).Encode(line); err != nil {
		return answer, err
	}
	if err := f.hear(&answer); err != nil {
		return answer, errors.Join(err, ctx.Err())
	}
	if answer.Error != "" {
		err = errors.New(answer.Error)
	}
	return answer, err
}

// Stop ends the child by closing its standard input.
func (f *fanChild) Stop() {
	f.stdin.Close()
	f.Child.Stop()
}

// RunFan is the other end of a Fan in a separate process. It reads orders from in and writes the
// answers to out. It returns at the end of in.
func RunFan(ctx context.Context, in io.Reader, out func(any) error) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	var start fanStart
	if err := lines.Decode(&start); err != nil {
		return err
	}
	f, err := NewFan(ctx, Target{URL: start.URL, Token: start.Token, PID: start.PID}, start.Options)
	if err != nil {
		return out(fanAnswer{Error: err.Error()})
	}
	defer f.Close()
	if err := out(fanAnswer{}); err != nil {
		return err
	}
	for {
		var o fanOrder
		if err := lines.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		answer := fanAnswer{}
		f.options.Bare = o.Bare
		if o.Pause > 0 {
			answer.Rate, err = f.Paced(ctx, o.Events, o.Pause)
		} else {
			answer.Rate, err = f.Burst(ctx, o.Events)
		}
		if err != nil {
			answer.Error = fmt.Sprint(err)
		}
		answer.FrameBytes = f.FrameBytes()
		if err := out(answer); err != nil {
			return err
		}
	}
}
