package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

type approvalsArgs struct {
	ApprovalID     string `json:"approval_id,omitempty" jsonschema:"only this one, with all that it is about; not together with the others but offset"`
	Status         string `json:"status,omitempty" jsonschema:"those that stand so"`
	ConversationID string `json:"conversation_id,omitempty" jsonschema:"only those of this conversation"`
	Cursor         string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
	Offset         int    `json:"offset,omitempty" jsonschema:"with approval_id: characters of the JSON text of what it is about to skip, for the rest of one that was cut"`
}

func refineApprovals(a *arguments) {
	a.length(0, maxApprovalID, "approval_id")
	a.length(0, 64, "conversation_id")
	a.length(0, 1024, "cursor")
	a.since("offset")
	var all []string
	for _, s := range parley.ApprovalStatuses {
		all = append(all, string(s))
	}
	a.oneOf("status", all...)
}

const (
	// maxApprovalID bounds an id of an approval: one of a conversation, a dot and a number.
	maxApprovalID = 64 + 1 + 20
	// approvalsAtOnce is how many are asked for: each may be large, and few fit into a result.
	approvalsAtOnce = 10
	// leastAbout is what each is given to say what it is about, however many there are.
	leastAbout = 500
)

type approvalList struct {
	Approvals  []approvalView `json:"approvals"`
	NextCursor string         `json:"next_cursor,omitempty" jsonschema:"there is another page"`
	Next       string         `json:"next" jsonschema:"the call to make next"`
}

// approvalView is an approval as a model reads it.
type approvalView struct {
	ApprovalID     string `json:"approval_id"`
	ConversationID string `json:"conversation_id"`
	AskedBy        string `json:"asked_by" jsonschema:"the agent that asks"`
	Turn           int64  `json:"turn" jsonschema:"the turn of that agent, which waits"`
	Title          string `json:"title" jsonschema:"what it asks for, in its words"`
	Status         string `json:"status" jsonschema:"pending; approved, rejected, timed_out and canceled are ends"`
	MayAnswer      bool   `json:"may_answer" jsonschema:"answer_approval is for you"`
	ExpiresAt      string `json:"expires_at" jsonschema:"when it times out, which approves nothing"`
	Details        any    `json:"details,omitempty" jsonschema:"what it is about"`
	AnswerSchema   any    `json:"answer_schema,omitempty" jsonschema:"JSON Schema of the answer that may come with an approval; without it none may"`
	AnsweredBy     string `json:"answered_by,omitempty"`
	Comment        string `json:"comment,omitempty"`
	Answer         any    `json:"answer,omitempty"`
	AboutText      string `json:"about_text,omitempty" jsonschema:"a piece of the JSON text of an object with details, answer_schema and answer, where they are too long"`
	CutChars       int    `json:"cut_chars,omitempty" jsonschema:"characters of that text that are left out"`
	NextOffset     int    `json:"next_offset,omitempty" jsonschema:"the offset at which the rest begins"`
	Rest           string `json:"rest,omitempty" jsonschema:"the call that gives what is left out"`

	offset int
}

// about is all of an approval that may be long.
type about struct {
	Details      json.RawMessage `json:"details,omitempty"`
	AnswerSchema json.RawMessage `json:"answer_schema,omitempty"`
	Answer       json.RawMessage `json:"answer,omitempty"`
}

func listApprovals(ctx context.Context, c *call, in *approvalsArgs) (*approvalList, error) {
	h := hints{approval: in.ApprovalID, approvals: true}
	if in.ApprovalID != "" {
		return c.oneApproval(ctx, in, h)
	}
	if in.Offset > 0 {
		return nil, explained(parley.Refuse(parley.ErrValidationFailed, "offset is given without approval_id", "the approval that is read"), h)
	}
	r, err := c.client.ListApprovals(ctx, &parley.ListApprovalsParams{
		Status: parley.ApprovalStatus(in.Status), ConversationID: in.ConversationID, Cursor: in.Cursor, Limit: approvalsAtOnce,
	})
	if err != nil {
		return nil, explained(err, h)
	}
	l := &approvalList{Approvals: []approvalView{}, NextCursor: r.NextCursor}
	room := MaxChars
	for i := range r.Approvals {
		v := viewApproval(&r.Approvals[i])
		room -= v.size()
		l.Approvals = append(l.Approvals, v)
	}
	for i := range r.Approvals {
		room -= l.Approvals[i].tell(&r.Approvals[i], 0, min(room/(len(r.Approvals)-i), maxTextChars))
	}
	l.Next = l.next(in)
	return l, nil
}

// oneApproval gives one with what it is about, from an offset on.
func (c *call) oneApproval(ctx context.Context, in *approvalsArgs, h hints) (*approvalList, error) {
	if in.ConversationID != "" || in.Cursor != "" {
		return nil, explained(parley.Refuse(parley.ErrValidationFailed, "approval_id is given with conversation_id or cursor", "approval_id alone, or with offset"), h)
	}
	a, err := c.client.GetApproval(ctx, &parley.GetApprovalParams{ApprovalID: in.ApprovalID})
	if err != nil {
		return nil, explained(err, h)
	}
	v := viewApproval(a)
	v.tell(a, in.Offset, MaxChars)
	l := &approvalList{Approvals: []approvalView{v}}
	l.Next = l.next(in)
	return l, nil
}

// next says what to do with a page.
func (l *approvalList) next(in *approvalsArgs) string {
	for i := range l.Approvals {
		if v := &l.Approvals[i]; v.MayAnswer {
			return fmt.Sprintf("Next: when your user has decided, answer_approval {approval_id: %q, decision: ...}.", v.ApprovalID)
		}
	}
	if l.NextCursor != "" {
		return "There are more: the same call with cursor " + fmt.Sprintf("%q", l.NextCursor) + "."
	}
	if in.ApprovalID == "" && (in.Status == "" || in.Status == string(parley.ApprovalPending)) {
		return "Nothing waits for your answer."
	}
	return "Nothing to answer here."
}

func viewApproval(a *parley.Approval) approvalView {
	return approvalView{
		ApprovalID: a.ApprovalID, ConversationID: a.ConversationID, AskedBy: a.AgentID, Turn: a.Turn, Title: a.Title, Status: string(a.Status), MayAnswer: a.MayAnswer,
		ExpiresAt: a.ExpiresAt.String(), AnsweredBy: a.By, Comment: a.Comment,
	}
}

// size is about how many characters an approval takes without what it is about.
func (v *approvalView) size() int {
	return 2*utf8.RuneCountInString(v.ApprovalID) + utf8.RuneCountInString(v.Title+v.Comment+v.AskedBy+v.AnsweredBy+v.ConversationID) + 250
}

// tell adds what an approval is about, or a piece of it from an offset on, in so many characters at most, and gives how many it took.
func (v *approvalView) tell(a *parley.Approval, offset, chars int) int {
	size := utf8.RuneCount(a.Details) + utf8.RuneCount(a.AnswerSchema) + utf8.RuneCount(a.Answer)
	if v.offset = offset; offset == 0 && size <= chars {
		v.Details, v.AnswerSchema, v.Answer = given(a.Details), given(a.AnswerSchema), given(a.Answer)
		return size
	}
	v.AboutText, v.CutChars = window(encoded(about{a.Details, a.AnswerSchema, a.Answer}), offset, max(chars, leastAbout))
	taken := utf8.RuneCountInString(v.AboutText)
	if v.CutChars > 0 {
		v.NextOffset = offset + taken
		v.Rest = fmt.Sprintf("list_approvals {approval_id: %q, offset: %d}", v.ApprovalID, v.NextOffset)
	}
	return taken
}

func (v *approvalView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s: %s asks in turn %d: %q. %s", v.ApprovalID, v.ConversationID, v.AskedBy, v.Turn, v.Title, v.Status)
	switch {
	case v.MayAnswer:
		b.WriteString(", for you to answer until " + v.ExpiresAt)
	case v.Status == string(parley.ApprovalPending):
		b.WriteString(", for others to answer until " + v.ExpiresAt)
	case v.AnsweredBy != "":
		b.WriteString(" by " + v.AnsweredBy)
	}
	if v.Comment != "" {
		fmt.Fprintf(&b, ", with the comment %q", v.Comment)
	}
	b.WriteString(".\n")
	for _, part := range []struct {
		name  string
		value any
	}{{"Details", v.Details}, {"Schema of an answer", v.AnswerSchema}, {"Answer", v.Answer}} {
		if part.value != nil {
			fmt.Fprintf(&b, "%s: %s\n", part.name, encoded(part.value))
		}
	}
	if v.AboutText != "" {
		fmt.Fprintf(&b, "What it is about, from character %d on: %s\n", v.offset, v.AboutText)
	}
	if v.CutChars > 0 {
		fmt.Fprintf(&b, "%d more characters: %s\n", v.CutChars, v.Rest)
	}
	return b.String()
}

func (l *approvalList) text() string {
	var b strings.Builder
	for i := range l.Approvals {
		b.WriteString(l.Approvals[i].text())
	}
	if l.NextCursor != "" {
		fmt.Fprintf(&b, "next_cursor: %q\n", l.NextCursor)
	}
	return b.String() + l.Next
}
