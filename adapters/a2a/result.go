package a2a

import (
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// resultParts returns the parts of the artifact for the result of a session: its text, its other
// members as one object, and the file of a long text. It returns nil if the result has only an
// error.
func resultParts(r *parley.SessionResult) a2a.ContentParts {
	var all a2a.ContentParts
	if r.ResultText != nil && *r.ResultText != "" {
		all = append(all, a2a.NewTextPart(*r.ResultText))
	}
	if p := resultData(r); p != nil {
		all = append(all, p)
	}
	if a := r.Attachment; a != nil {
		all = append(all, &a2a.Part{Content: a2a.URL(filePlaceholder + a.SHA256), Filename: a.Name, MediaType: a.MediaType})
	}
	return all
}

// resultData returns the other members of a result, with the keys of SessionResult.
func resultData(r *parley.SessionResult) *a2a.Part {
	about := map[string]any{"result_type": string(r.ResultType)}
	if v, err := decode(r.ResultData); err == nil {
		about["result_data"] = v
	}
	if r.ExitCode != nil {
		about["exit_code"] = *r.ExitCode
	}
	if r.Error != "" {
		about["error"] = r.Error
	}
	if len(r.ValidationErrors) > 0 {
		about["validation_errors"] = r.ValidationErrors
	}
	if len(about) == 1 && (r.ResultText == nil || *r.ResultText == "") && r.Attachment == nil {
		return nil
	}
	return a2a.NewDataPart(about)
}

// resultMessage returns the text of status.message for a result.
func resultMessage(m *parley.Message, e *parley.Event) a2a.ContentParts {
	text := m.Text
	switch {
	case m.Result.Error != "":
		text = m.Result.Error
	case text == "" && m.Result.ResultText != nil:
		text = *m.Result.ResultText
	}
	if text == "" {
		text = fmt.Sprintf("The session ended: %s.", outcomeOf(e))
	}
	return a2a.ContentParts{a2a.NewTextPart(text)}
}
