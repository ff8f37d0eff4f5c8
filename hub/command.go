package hub

import (
	"context"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// command decides a command of the hub's own and waits for its answer.
func (h *Hub) command(id string, cmd fold.Command) error { return h.commandOn(id, 0, cmd) }

// commandOn is command that is decided, where seq is not 0, on the state with that seq: else it fails with errPassed.
func (h *Hub) commandOn(id string, seq int64, cmd fold.Command) error {
	c, err := h.pin(id)
	if err != nil {
		return err
	}
	defer h.unpin(c)
	cmd.From = parley.HubID
	_, _, err = c.ask(context.Background(), &op{cmd: cmd, expects: seq})
	return err
}

// errUnread is wrapped by what stateOf gives for a conversation that cannot be read.
var errUnread = errors.New("the conversation cannot be read")

// stateOf gives the committed state of a conversation; its zero value for one that does not exist.
func (h *Hub) stateOf(id string) (fold.State, error) {
	c, err := h.pin(id)
	if err != nil && !errors.Is(err, errDraining) {
		err = fmt.Errorf("%w: %w", errUnread, err)
	}
	if err != nil {
		return fold.State{}, err
	}
	defer h.unpin(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.durable, nil
}
