package parley

import "strings"

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Problem is an error over plain HTTP, as RFC 9457 says. What ErrorData has stands beside the rest.
type Problem struct {
	// Type is "urn:parley:error:" and the reason.
	Type string `json:"type"`
	// Title is the reason in words; it is the same for all of a type.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail is one sentence for a person.
	Detail string `json:"detail"`
	Code   int    `json:"code"`
	ErrorData
}

// ToProblem gives the wire form of any error as an answer with an HTTP status.
func ToProblem(err error, status int) Problem {
	w := ToWire(err)
	return Problem{
		Type: "urn:parley:error:" + w.Data.Reason, Title: strings.ReplaceAll(w.Data.Reason, "_", " "),
		Status: status, Detail: w.Message, Code: w.Code, ErrorData: w.Data,
	}
}

// FromProblem gives back an error for which errors.Is finds the sentinel.
func FromProblem(p Problem) error {
	return FromWire(WireError{Code: p.Code, Message: p.Detail, Data: p.ErrorData})
}
