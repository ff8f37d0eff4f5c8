package parley

import "strings"

// ProblemType is the media type of a Problem.
const ProblemType = "application/problem+json"

// Problem is the body of an error over plain HTTP (RFC 9457). It includes the members of ErrorData.
type Problem struct {
	// Type is "urn:parley:error:" and the reason.
	Type string `json:"type"`
	// Title is the reason in words. It is the same for all errors of a type.
	Title string `json:"title"`
	// Status is the HTTP status.
	Status int `json:"status"`
	// Detail is one sentence for a person.
	Detail string `json:"detail"`
	Code   int    `json:"code"`
	ErrorData
}

// ToProblem returns the wire form of any error in a response with an HTTP status.
func ToProblem(err error, status int) Problem {
	w := ToWire(err)
	return Problem{
		Type: "urn:parley:error:" + w.Data.Reason, Title: strings.ReplaceAll(w.Data.Reason, "_", " "),
		Status: status, Detail: w.Message, Code: w.Code, ErrorData: w.Data,
	}
}

// FromProblem returns the error of a problem. errors.Is finds its sentinel.
func FromProblem(p Problem) error {
	return FromWire(WireError{Code: p.Code, Message: p.Detail, Data: p.ErrorData})
}
