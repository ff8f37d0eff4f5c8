package priorauth

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/parleyhub/parley"
)

// CriteriaAgent is the name of the deterministic agent that compares evidence with a policy. See
// CriteriaBlueprint.
const CriteriaAgent = "criteria-check"

// CriteriaRequest are its parameters.
type CriteriaRequest struct {
	Procedure   string     `json:"procedure"`
	RequestedOn Day        `json:"requested_on"`
	Evidence    []Evidence `json:"evidence"`
}

// CriteriaTable is its result: the status of each criterion, or the waiver that replaces them.
type CriteriaTable struct {
	Procedure string  `json:"procedure"`
	Checks    []Check `json:"checks"`
}

// criteriaBlueprint is the agent without its command.
const criteriaBlueprint = `{
  "name": "criteria-check",
  "description": "Checks evidence from a chart against the criteria of a health plan's policy and reports the status of each.",
  "params_via": "stdin",
  "timeout": "30s",
  "idempotent": true,
  "parameters_schema": {
    "type": "object",
    "required": ["procedure", "requested_on", "evidence"],
    "additionalProperties": false,
    "properties": {
      "procedure": {"type": "string", "minLength": 1, "description": "a code of the policy"},
      "requested_on": {"type": "string", "format": "date"},
      "evidence": {
        "type": "array",
        "items": {
          "type": "object",
          "required": ["id", "kind", "code", "date"],
          "properties": {
            "id": {"type": "string"},
            "kind": {"enum": ["finding", "therapy", "measure"]},
            "code": {"type": "string"},
            "from": {"type": "string", "format": "date"},
            "date": {"type": "string", "format": "date"},
            "value": {"type": "number"}
          }
        }
      }
    }
  },
  "output_schema": {
    "type": "object",
    "required": ["procedure", "checks"],
    "properties": {
      "procedure": {"type": "string"},
      "checks": {
        "type": "array",
        "minItems": 1,
        "items": {
          "type": "object",
          "required": ["criterion", "status", "because"],
          "properties": {
            "criterion": {"type": "string"},
            "status": {"enum": ["met", "unmet", "missing"]},
            "because": {"type": "string"},
            "evidence": {"type": "string"}
          }
        }
      }
    }
  }
}`

// CriteriaBlueprint returns a blueprint (JSON) of the agent, for a command that calls RunCriteria.
func CriteriaBlueprint(argv ...string) ([]byte, error) {
	var b map[string]any
	if err := json.Unmarshal([]byte(criteriaBlueprint), &b); err != nil {
		return nil, err
	}
	b["argv"] = argv
	return json.MarshalIndent(b, "", "  ")
}

// RunCriteria is the work of the agent's command: parameters from stdin, the result to stdout, a
// line of progress to stderr.
func RunCriteria(policy *Policy, stdin io.Reader, stdout, stderr io.Writer) error {
	var q CriteriaRequest
	if err := json.NewDecoder(stdin).Decode(&q); err != nil {
		return fmt.Errorf("the parameters: %w", err)
	}
	proc := policy.Procedures[q.Procedure]
	if proc == nil {
		return fmt.Errorf("procedure %s is not in the policy of %s", q.Procedure, policy.Payer)
	}
	fmt.Fprintf(stderr, "%s against the policy of %s on %s\n", entries(len(q.Evidence)), policy.Payer,
		strings.ToLower(proc.Name))
	return json.NewEncoder(stdout).Encode(CriteriaTable{Procedure: q.Procedure,
		Checks: proc.checks(q.Evidence, q.RequestedOn)})
}

// checker judges what a dossier has by the criteria of a procedure.
type checker func(proc *Procedure, d *dossier) ([]Check, error)

// own judges in the payer itself.
func own(proc *Procedure, d *dossier) ([]Check, error) {
	return proc.checks(d.evidence, d.request.RequestedOn), nil
}

// ask has an agent judge, in a session of the turn's conversation.
func ask(ctx context.Context, turn *parley.Turn, agent string) checker {
	return func(_ *Procedure, d *dossier) ([]Check, error) {
		q := CriteriaRequest{Procedure: d.request.Procedure, RequestedOn: d.request.RequestedOn, Evidence: d.evidence}
		if q.Evidence == nil {
			q.Evidence = []Evidence{} // the schema wants a list
		}
		parameters, err := json.Marshal(q)
		if err != nil {
			return nil, err
		}
		s, err := turn.StartSession(ctx, &parley.StartSessionParams{AgentName: agent, Parameters: parameters})
		for err == nil && s.TimedOut {
			s, err = turn.Client.GetSession(ctx, &parley.GetSessionParams{SessionID: s.SessionID, TimeoutMs: parley.MaxWaitMs})
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("ask %s: %w", agent, err)
		case s.Status != parley.SessionCompleted:
			return nil, fmt.Errorf("ask %s: session %s is %s: %s", agent, s.SessionID, s.Status, why(s))
		}
		var table CriteriaTable
		if err := json.Unmarshal(s.Result.ResultData, &table); err != nil {
			return nil, fmt.Errorf("the result of %s: %w", agent, err)
		}
		return table.Checks, nil
	}
}

// why says why a session has brought nothing.
func why(s *parley.Session) string {
	if s.Result != nil && s.Result.Error != "" {
		return s.Result.Error
	}
	return s.Reason
}
