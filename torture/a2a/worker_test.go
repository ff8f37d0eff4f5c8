package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
)

// worker starts short tasks, one after another, in any dialect. It repeats each message until it is
// answered. It is a separate participant.
type worker struct {
	id, base string
	full     <-chan struct{} // closed when no more are to be begun

	tasks map[string]string // the messageId of each
	lost  int               // requests without an answer
}

func (k *worker) run(ctx context.Context) error {
	k.tasks = map[string]string{}
	for n := 0; ; n++ {
		select {
		case <-k.full:
			return nil
		default:
		}
		message := fmt.Sprintf("%s-%d", k.id, n)
		task, err := k.begin(ctx, dialects[rand.IntN(len(dialects))], message)
		if err != nil {
			return fmt.Errorf("%s: %w", message, err)
		}
		k.tasks[message] = task
	}
}

// begin begins a task and reads it to its end: by a stream or by waiting for the answer.
func (k *worker) begin(ctx context.Context, d *dialect, message string) (task string, err error) {
	if rand.IntN(2) == 0 {
		r := &reader{dialect: d, base: k.base, agent: k.id, message: message, text: "tell 2"}
		err := r.run(ctx)
		k.lost += r.asked + r.cuts
		if err == nil && !r.status.completed() {
			err = wrongf("%s has ended as %s: %s", r.task, r.status.State, r.status.text())
		}
		return r.task, err
	}
	for {
		task, err := k.send(ctx, d, message)
		if err == nil {
			return task, nil
		}
		if f, is := err.(*fault); is && !f.passes() {
			return "", f
		}
		k.lost++
		if pause(ctx, retryPause) != nil {
			return "", err
		}
	}
}

func (k *worker) send(ctx context.Context, d *dialect, message string) (task string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	a, err := d.do(ctx, k.base, &ask{op: opSend, message: message, text: "tell 2", token: hubproc.Token, agent: k.id})
	if err != nil {
		return "", err
	}
	raw, f := d.result(a.status, a.body)
	if f != nil {
		return "", f
	}
	v, err := d.read(raw)
	if err != nil || v.Task == nil || !v.Task.Status.completed() {
		return "", &fault{http: a.status, text: fmt.Sprintf("not completed: %.500s", raw)}
	}
	return v.Task.ID, nil
}

// worker holds what a worker began against what there is: a task for each message, which is said
// once, and no other.
func (j *judge) worker(k *worker) {
	j.t.Helper()
	j.lost += k.lost
	there := map[string]bool{}
	for page := ""; ; {
		a, err := dialects[0].do(j.t.Context(), j.world.base(), &ask{op: opList, page: page, token: hubproc.Token, agent: k.id})
		if err != nil {
			j.t.Fatal(err)
		}
		raw, f := dialects[0].result(a.status, a.body)
		if f != nil {
			j.t.Fatal(f)
		}
		var list struct {
			Tasks []struct {
				ID string `json:"id"`
			} `json:"tasks"`
			Next string `json:"nextPageToken"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			j.t.Fatal(err)
		}
		for _, x := range list.Tasks {
			if there[x.ID] {
				j.broken("%s is listed twice", x.ID)
			}
			there[x.ID] = true
		}
		if page = list.Next; page == "" {
			break
		}
	}
	for message, task := range k.tasks {
		j.tasks++
		if !there[task] {
			j.broken("%s of message %s is not listed", task, message)
		}
		delete(there, task)
		said := 0
		for _, e := range j.events(task) {
			if e.Type == parley.TypeMessage && e.From == k.id {
				said++
			}
		}
		if said != 1 {
			j.broken("message %s was said %d times", message, said)
		}
	}
	for task := range there {
		j.broken("task %s of %s was begun by no message that was answered", task, k.id)
	}
}
