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
	ApprovalID     string `json:"approval_id,omitempty"`
	Status         string `json:"status,omitempty" jsonschema:"list only approvals with this status"`
	ConversationID string `json:"conversation_id,omitempty" jsonschema:"list only approvals of this conversation"`
	Cursor         string `json:"cursor,omitempty" jsonschema:"next_cursor of the previous page"`
	Offset         int    `json:"offset,omitempty"`
}

func refineApprovals(a *arguments) {
	a.textLength(0, maxApprovalID, "approval_id")
	a.textLength(0, 64, "conversation_id")
	a.textLength(0, 1024, "cursor")
	a.nonNegative("offset")
	a.describe("approval_id", "read only this approval, with all its details; combine it only with offset")
	a.describe("offset", "with approval_id: characters of the JSON text of its details to skip, to read on after a cut")
	var all []string
	for _, s := range parley.ApprovalStatuses {
		all = append(all, string(s))
	}
	a.oneOf("status", all...)
}

const (
	// maxApprovalID limits an approval id: a conversation id, a dot and a number.
	maxApprovalID = 64 + 1 + 20
	// approvalsAtOnce is the page size. Approvals may be large, so few fit into a result.
	approvalsAtOnce = 10
	// leastAbout is the minimum of characters for the details of each approval.
	leastAbout = 500
)

type approvalList struct {
	Approvals  []approvalView `json:"approvals"`
	NextCursor string         `json:"next_cursor,omitempty" jsonschema:"present if there is another page"`
	Next       string         `json:"next" jsonschema:"the call to make next"`
}

// approvalView is an approval as a model reads it.
type approvalView struct {
	ApprovalID     string `json:"approval_id"`
	ConversationID string `json:"conversation_id"`
	AskedBy        string `json:"asked_by" jsonschema:"the agent that requested it"`
	Turn           int64  `json:"turn" jsonschema:"the waiting turn of that agent"`
	Title          string `json:"title" jsonschema:"the requested action, in the words of the agent"`
	Status         string `json:"status" jsonschema:"pending, approved, rejected, timed_out or canceled"`
	MayAnswer      bool   `json:"may_answer" jsonschema:"true if you may call answer_approval"`
	ExpiresAt      string `json:"expires_at" jsonschema:"when it times out without approval"`
	Details        any    `json:"details,omitempty" jsonschema:"details of the requested action"`
	AnswerSchema   any    `json:"answer_schema,omitempty"`
	AnsweredBy     string `json:"answered_by,omitempty"`
	Comment        string `json:"comment,omitempty"`
	Answer         any    `json:"answer,omitempty"`
	AboutText      string `json:"about_text,omitempty"`
	CutChars       int    `json:"cut_chars,omitempty" jsonschema:"characters of that text that are left out"`
	NextOffset     int    `json:"next_offset,omitempty" jsonschema:"offset of the rest"`
	Rest           string `json:"rest,omitempty" jsonschema:"the call that reads the rest"`

	offset int
}

// approvalParts are the parts of an approval that may be long.
type approvalParts struct {
	Details      json.RawMessage `json:"details,omitempty"`
	AnswerSchema json.RawMessage `json:"answer_schema,omitempty"`
	Answer       json.RawMessage `json:"answer,omitempty"`
}

func listApprovals(ctx context.Context, c *call, in *approvalsArgs) (*approvalList, error) {
	h := hints{approval: in.ApprovalID, approvals: true}
	if in.ApprovalID != "" {
		return c.getApproval(ctx, in, h)
	}
	if in.Offset > 0 {
		return nil, explain(parley.Refuse(parley.ErrValidationFailed, "offset without approval_id",
			"approval_id, the approval with the details"), h)
	}
	r, err := c.client.ListApprovals(ctx, &parley.ListApprovalsParams{
		Status: parley.ApprovalStatus(in.Status), ConversationID: in.ConversationID, Cursor: in.Cursor,
		Limit: approvalsAtOnce,
	})
	if err != nil {
		return nil, explain(err, h)
	}
	l := &approvalList{Approvals: []approvalView{}, NextCursor: r.NextCursor}
	room := MaxChars
	for i := range r.Approvals {
		v := viewApproval(&r.Approvals[i])
		room -= v.size()
		l.Approvals = append(l.Approvals, v)
	}
	for i := range r.Approvals {
		room -= l.Approvals[i].addParts(&r.Approvals[i], 0, min(room/(len(r.Approvals)-i), maxTextChars))
	}
	l.Next = l.nextStep(in)
	return l, nil
}

// getApproval returns one approval with its details, from an offset.
func (c *call) getApproval(ctx context.Context, in *approvalsArgs, h hints) (*approvalList, error) {
	if in.ConversationID != "" || in.Cursor != "" {
		return nil, explain(parley.Refuse(parley.ErrValidationFailed, "approval_id excludes conversation_id and cursor",
			"approval_id alone, or with offset"), h)
	}
	a, err := c.client.GetApproval(ctx, &parley.GetApprovalParams{ApprovalID: in.ApprovalID})
	if err != nil {
		return nil, explain(err, h)
	}
	v := viewApproval(a)
	v.addParts(a, in.Offset, MaxChars)
	l := &approvalList{Approvals: []approvalView{v}}
	l.Next = l.nextStep(in)
	return l, nil
}

// nextStep advises what to do with a page.
func (l *approvalList) nextStep(in *approvalsArgs) string {
	for i := range l.Approvals {
		if v := &l.Approvals[i]; v.MayAnswer {
			return fmt.Sprintf("Next: when your user has decided, answer_approval {approval_id: %q, decision: ...}.",
				v.ApprovalID)
		}
	}
	if l.NextCursor != "" {
		return "There are more: the same call with cursor " + fmt.Sprintf("%q", l.NextCursor) + "."
	}
	if in.ApprovalID == "" && (in.Status == "" || in.Status == string(parley.ApprovalPending)) {
		return "No approval waits for your answer."
	}
	return "None of these approvals waits for your answer."
}

func viewApproval(a *parley.Approval) approvalView {
	return approvalView{
		ApprovalID: a.ApprovalID, ConversationID: a.ConversationID, AskedBy: a.AgentID, Turn: a.Turn, Title: a.Title,
		Status: string(a.Status), MayAnswer: a.MayAnswer,
		ExpiresAt: a.ExpiresAt.String(), AnsweredBy: a.By, Comment: a.Comment,
	}
}

// size returns about how many characters an approval takes without its details.
func (v *approvalView) size() int {
	return 2*utf8.RuneCountInString(v.ApprovalID) +
		utf8.RuneCountInString(v.Title+v.Comment+v.AskedBy+v.AnsweredBy+v.ConversationID) + 250
}

// addParts adds the details, the answer schema and the answer. If they are longer than chars, it
// adds a piece of their JSON text from offset instead. It returns the number of characters.
func (v *approvalView) addParts(a *parley.Approval, offset, chars int) int {
	size := utf8.RuneCount(a.Details) + utf8.RuneCount(a.AnswerSchema) + utf8.RuneCount(a.Answer)
	if v.offset = offset; offset == 0 && size <= chars {
		v.Details, v.AnswerSchema, v.Answer = valueOrNil(a.Details), valueOrNil(a.AnswerSchema), valueOrNil(a.Answer)
		return size
	}
	v.AboutText, v.CutChars = textWindow(jsonText(approvalParts{a.Details, a.AnswerSchema, a.Answer}), offset,
		max(chars, leastAbout))
	taken := utf8.RuneCountInString(v.AboutText)
	if v.CutChars > 0 {
		v.NextOffset = offset + taken
		v.Rest = fmt.Sprintf("list_approvals {approval_id: %q, offset: %d}", v.ApprovalID, v.NextOffset)
	}
	return taken
}

func (v *approvalView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s: %s requests in turn %d: %q. %s", v.ApprovalID, v.ConversationID, v.AskedBy, v.Turn, v.Title,
		v.Status)
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
			fmt.Fprintf(&b, "%s: %s\n", part.name, jsonText(part.value))
		}
	}
	if v.AboutText != "" {
		fmt.Fprintf(&b, "Details, from character %d: %s\n", v.offset, v.AboutText)
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
